// How the module of notebooks is built: one small ES module, which shows the script of reports in a frame.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  build: {
    outDir: fileURLToPath(new URL("../tpu_profile_plugin/static/widget", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: fileURLToPath(new URL("src/app/widget/main.ts", import.meta.url)), formats: ["es"], fileName: () => "widget.js" },
  },
});
