// Takes the picture in the README: `npm run screenshot` after `scripts/setup`.
import { readdirSync } from "node:fs";
import path from "node:path";
import * as h from "./harness.js";

const session = readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0];
const server = await h.startTensorBoard(h.DEMO);
const browser = await h.launch(h.BROWSERS[0]);
try {
  const tab = await h.openProfile(browser, server, { query: `run=jax_mlp/${session}&tool=trace_viewer@` });
  await h.until("drawn boxes", () => tab.frame().evaluate(() => window.__timeline?.boxesDrawn > 20));
  await h.click(tab, 'input[placeholder^="Find events"]');
  await tab.page.keyboard.type("train 4");
  await h.shows(tab, "1 match");
  await tab.page.keyboard.press("Enter");
  await h.until("a selection", () => tab.frame().evaluate(() => window.__timeline.selection[0]?.name?.startsWith("train")));
  await h.pause(1500);
  await tab.page.screenshot({ path: path.join(h.ROOT, "docs", "screenshot.webp"), type: "webp", quality: 80 });
} finally {
  await browser.close();
  await server.stop();
}
