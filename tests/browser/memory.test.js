// The memory pages and the graph viewer on the demo profiles: summary, charts, links between them, URL state.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const at = await h.served({ demo: h.DEMO });

/** The run of the demo whose name begins with `name`. */
async function runOf(name) {
  const runs = await (await fetch(`${at.demo.url}data/plugin/profile/runs`)).json();
  const run = runs.find((one) => one.startsWith(name));
  assert.ok(run, `no run ${name} among ${runs}`);
  return run;
}

async function open(browser, run, tool, more = {}) {
  return h.openPage(browser, at.demo, { query: new URLSearchParams({ run: await runOf(run), tool, ...more }).toString() });
}

/** Fails if the page scrolls horizontally. */
async function fits(tab) {
  const [wide, room] = await tab.frame().evaluate(() => {
    const page = document.querySelector(".tool-page") ?? document.documentElement;
    return [page.scrollWidth, page.clientWidth];
  });
  assert.ok(wide <= room, `${wide} px in ${room} px`);
}

/** Clicks the first button or link with a text. */
async function press(tab, text) {
  const found = await h.until(`"${text}" to press`, async () => {
    for (const element of await tab.frame().$$("button, a")) if ((await element.evaluate((e) => e.textContent)).includes(text)) return element;
    return null;
  });
  await found.click();
}

h.inEveryBrowser("memory", ({ name, browser }) => {
  test("a profile without allocations says so, how to record them, and leads on", async () => {
    const tab = await open(browser(), "jax_mlp", "memory_profile");
    await h.shows(tab, "The profile has no allocations.");
    await h.shows(tab, /level of host tracing at 2 or more/);
    await h.click(tab, '[data-tool="memory_viewer"]');
    await h.until("the memory viewer", () => h.query(tab).get("tool") === "memory_viewer");
    await h.shows(tab, /needs .* of memory at its peak/);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("TensorFlow's allocations: how full, timeline, breakdown, and the trace at the peak", async () => {
    const tab = await open(browser(), "tf_input", "memory_profile");
    await h.shows(tab, /at the peak .* is in use/);
    const canvas = await h.until("a drawn timeline", () => tab.frame().$(".chart-canvas[data-drawn]"));
    const box = await canvas.boundingBox();
    await tab.page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.5);
    await tab.page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
    await h.until("what an event did", () => tab.frame().$eval(".chart-tip", (tip) => /Allocation size/.test(tip.textContent)));
    await tab.page.mouse.down();
    await tab.page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.5, { steps: 4 });
    await tab.page.mouse.up();
    await h.until("the zoom in the address", () => h.query(tab).get("range"));
    await tab.page.mouse.click(box.x + box.width * 0.5, box.y + box.height * 0.5, { button: "right" });
    await h.until("the whole again", () => h.query(tab).get("range") === null);
    await h.shows(tab, "Live allocations at the peak");
    await fits(tab);
    await h.screenshot(tab, `memory-profile-${name}`);
    await press(tab, "Open the trace viewer at the peak");
    await h.until("the trace viewer", () => h.query(tab).get("tool") === "trace_viewer@" && /^\d+,peak of memory/.test(h.query(tab).get("marker")));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("what lives at a moment of the recording: by op, region and step, with life and what frees it", async () => {
    const tab = await open(browser(), "tf_input", "memory_profile");
    await h.shows(tab, "Live allocations at the peak");
    await press(tab, "By op");
    await h.until("the choice in the address", () => h.query(tab).get("stack") === "op");
    await h.shows(tab, "Allocated before or not recorded");
    const cards = await tab.frame().$$(".card");
    const over = cards[await tab.frame().$$eval(".card", (all) => all.findIndex((one) => one.querySelector("h2, h3")?.textContent === "Memory timeline"))];
    await over.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const canvas = await h.until("a drawn chart", () => over.$(".chart-canvas[data-drawn]"));
    const box = await canvas.boundingBox();
    await tab.page.mouse.click(box.x + box.width * 0.6, box.y + box.height * 0.5);
    await h.until("the moment in the address", () => h.query(tab).get("instant"));
    await h.shows(tab, /in recorded blocks at .*s/);
    await h.shows(tab, /Blocks at .*s/);
    await fits(tab);
    await h.screenshot(tab, `memory-recorded-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("hovering over a buffer shows its details and lifetime; a click pins it in the address", async () => {
    const tab = await open(browser(), "jax_mlp", "memory_viewer");
    await h.shows(tab, /needs .* of memory at its peak/);
    const bar = await h.until("the bar of buffers", () => tab.frame().$(".buffer-segments"));
    await bar.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const box = await bar.boundingBox();
    await tab.page.mouse.move(box.x + box.width * 0.1, box.y + 10);
    await tab.page.mouse.move(box.x + box.width * 0.9, box.y + 12);
    await h.shows(tab, /Lifetime of .*; its height is the size of the buffer/);
    await h.until("the card of it", () => tab.frame().$eval(".buffer-card", (card) => card.textContent.includes("hovered")));
    await tab.page.mouse.click(box.x + box.width * 0.9, box.y + 12);
    await h.until("the buffer in the address", () => h.query(tab).get("buffer"));
    await fits(tab);
    await h.screenshot(tab, `memory-viewer-${name}`);
    const again = await h.openPage(browser(), at.demo, { query: h.query(tab).toString() });
    await h.until("the same buffer in the link", () => again.frame().$eval(".buffer-card", (card) => card.textContent.includes("pinned")));
    h.assertClean(tab);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });

  test("a search narrows the table and a module can be chosen", async () => {
    const tab = await open(browser(), "jax_mlp", "memory_viewer");
    await h.shows(tab, /needs .* of memory at its peak/);
    await (await tab.frame().$(".viewer-search")).type("parameter");
    await h.shows(tab, /buffers? of \d+ match the search/);
    const rows = () => tab.frame().$$eval("#buffer-table .table-tr", (all) => all.map((row) => row.textContent));
    await h.until("parameters only", async () => (await rows()).length > 0 && (await rows()).every((row) => /parameter/i.test(row)));
    const before = h.query(tab).get("module_name");
    await h.click(tab, ".pick-button");
    await h.click(tab, '.pick-list [role="option"][aria-selected="false"]');
    await h.until("another module in the address", () => h.query(tab).get("module_name") !== before);
    await h.shows(tab, /needs .* of memory|uses no memory/);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("from a buffer to its instruction, its operands and back", async () => {
    const tab = await open(browser(), "jax_mlp", "memory_viewer");
    await press(tab, "in the graph viewer");
    await h.until("the graph viewer", () => h.query(tab).get("tool") === "graph_viewer" && h.query(tab).get("node_name"));
    await h.until("the line of the definition", () => tab.frame().$(".hlo-line.chosen"));
    await h.until("a drawn graph", async () => (await tab.frame().$$(".graph-node")).length > 1);
    const first = h.query(tab).get("node_name");
    await h.click(tab, ".property-list button.link");
    await h.until("another name in the address", () => h.query(tab).get("node_name") !== first);
    await h.until("its line", async () => {
      const line = await tab.frame().$eval(".hlo-line.chosen", (element) => element.textContent).catch(() => "");
      return line.includes(h.query(tab).get("node_name"));
    });
    await fits(tab);
    await h.screenshot(tab, `graph-viewer-${name}`);
    await tab.page.goBack();
    await h.until("the first name again", () => h.query(tab).get("node_name") === first);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the long text, a search in it, and 800 px", async () => {
    const tab = await open(browser(), "jax_mlp", "graph_viewer", { text: "long" });
    await h.until("the long text", () => tab.frame().$eval(".hlo-text", (element) => element.textContent.includes("FileNames")));
    await tab.page.setViewport({ width: 800, height: 720 });
    await (await tab.frame().$(".graph-search input")).type("parameter(0)");
    await h.until("a line that was found", () => tab.frame().$(".hlo-line.current.found"));
    await fits(tab);
    h.assertClean(tab);
    await tab.page.close();
  });
});
