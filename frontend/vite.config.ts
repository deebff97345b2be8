// How the bundle is built: relative addresses only, hashed files under static/, nothing inline (strict CSP).
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import type { Plugin } from "vite";

const outDir = fileURLToPath(new URL("../tpu_profile_plugin/static", import.meta.url));

/** Removes the assets of the previous build; the folder itself holds a README that is not ours to delete. */
function cleanAssets(): Plugin {
  return {
    name: "clean-assets",
    apply: "build",
    buildStart() {
      rmSync(`${outDir}/static`, { recursive: true, force: true });
    },
  };
}

/** Adds the NOTICE files of the bundled packages to licenses.md: the Apache license asks for them beside its own text. */
function addNotices(): Plugin {
  return {
    name: "add-notices",
    apply: "build",
    closeBundle() {
      const file = `${outDir}/licenses.md`;
      const licenses = readFileSync(file, "utf8");
      const added = [...licenses.matchAll(/^## (\S+) - /gm)].map(([, name]) => {
        const notice = new URL(`node_modules/${name}/NOTICE`, import.meta.url);
        return existsSync(notice) ? `\n## ${name}: NOTICE\n\n${readFileSync(notice, "utf8").trim()}\n` : "";
      });
      writeFileSync(file, licenses + added.join(""));
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [cleanAssets(), addNotices()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir,
    emptyOutDir: false,
    assetsDir: "static",
    assetsInlineLimit: 0,
    target: "es2022",
    cssMinify: true,
    license: { fileName: "licenses.md" },
    chunkSizeWarningLimit: 1200,
  },
  test: {
    environment: "jsdom",
    restoreMocks: true,
    projects: [
      // Making a document takes longer than most tests. Modules are those of each file even so.
      { extends: true, test: { name: "functions", include: ["src/**/*.test.ts"], isolate: false } },
      {
        extends: true,
        test: { name: "components", include: ["src/**/*.test.tsx"], isolate: false, setupFiles: "src/base/fresh_document.ts" },
      },
    ],
  },
});
