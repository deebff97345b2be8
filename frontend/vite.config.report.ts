// How the script of saved reports is built: the same sources as the page in one script and one style sheet, for `report.py` to put into a file.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../tpu_profile_plugin/static/report", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    cssMinify: true,
    cssCodeSplit: false,
    license: { fileName: "licenses.md" },
    chunkSizeWarningLimit: 4000,
    rolldownOptions: {
      input: fileURLToPath(new URL("src/app/report/main.tsx", import.meta.url)),
      output: { codeSplitting: false, entryFileNames: "report.js", assetFileNames: "report[extname]" },
    },
  },
});
