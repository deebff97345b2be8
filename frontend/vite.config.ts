// How the bundle is built: relative addresses only, hashed files under static/, nothing inline (strict CSP).
import { rmSync } from "node:fs";
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

export default defineConfig({
  base: "./",
  plugins: [cleanAssets()],
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
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
  },
});
