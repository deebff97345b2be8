// The graph viewer on the demo profiles: whole computations, fusions in place, colours, history, keys, frames.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const at = await h.served({ demo: h.DEMO });

async function open(browser, more = {}, run = "jax_mlp") {
  const runs = await (await fetch(`${at.demo.url}data/plugin/profile/runs`)).json();
  const query = { run: runs.find((one) => one.startsWith(run)), tool: "graph_viewer", ...more };
  const tab = await h.openPage(browser, at.demo, { query: new URLSearchParams(query).toString(), width: 1440, height: 900 });
  await h.until("a drawing", () => tab.frame().$(".graph-node"));
  return tab;
}

const count = (tab, selector) => tab.frame().$$eval(selector, (found) => found.length);
const nodeCount = (tab) => tab.frame().$eval(".graph-find .number", (e) => Number.parseInt(e.textContent.replace(/^\d+ of /, "").replace(",", ""), 10));

/** Clicks the first element of the drawing that is in view. */
async function clickOn(tab, selector) {
  const frame = await (await h.until("a drawing", () => tab.frame().$(".graph-view-box"))).boundingBox();
  const place = await h.until(`${selector} in view`, async () => {
    for (const element of await tab.frame().$$(selector)) {
      const box = await element.boundingBox();
      const [x, y] = box ? [box.x + box.width / 2, box.y + box.height / 2] : [0, 0];
      if (x > frame.x && y > frame.y && x < frame.x + frame.width && y < frame.y + frame.height) return [x, y];
    }
    return null;
  });
  await tab.page.mouse.click(...place);
}

h.inEveryBrowser("graph viewer", ({ name, browser }) => {
  test("a fusion opens in place; the back button closes it", async () => {
    const tab = await open(browser(), { module_name: "jit_train_step(36)", view: "graph" });
    const before = await nodeCount(tab);
    await clickOn(tab, ".graph-toggle");
    await h.until("an open fusion", () => tab.frame().$(".graph-box"));
    assert.ok(h.query(tab).get("expand"));
    await h.until("what is in it", async () => (await nodeCount(tab)) >= before);
    await tab.page.goBack();
    await h.until("as before", async () => (await nodeCount(tab)) === before);
    await h.until("no box", async () => (await count(tab, ".graph-box")) === 0);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("click, double click and keys select and centre; history leads back", async () => {
    const tab = await open(browser(), { module_name: "jit_train_step(36)", view: "graph" });
    await clickOn(tab, ".graph-node .graph-frame");
    const first = await h.until("a selection", () => h.query(tab).get("sel"));
    await h.shows(tab, /Self time|Framework op|Operands/);
    await tab.frame().focus(".graph-view-box");
    await tab.page.keyboard.press("ArrowUp");
    await h.until("another selection", () => h.query(tab).get("sel") !== first);
    await tab.page.keyboard.press("Enter");
    const centre = await h.until("a centre", () => h.query(tab).get("node_name"));
    await h.shows(tab, "Neighbourhood");
    await h.until("its title", async () => (await tab.frame().$eval(".graph-details h2", (e) => e.textContent)) === centre);
    await tab.page.goBack();
    await h.until("the whole computation", () => h.query(tab).get("node_name") === null);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("nodes are coloured by time, with a legend", async () => {
    const tab = await open(browser(), { module_name: "jit_train_step(36)", view: "graph" });
    await h.until("times", () => tab.frame().$eval(".graph-controls button:nth-of-type(2)", (e) => !e.disabled));
    await tab.frame().click(".graph-controls button:nth-of-type(2)");
    await h.until("a scale", () => tab.frame().$(".graph-scale"));
    assert.equal(h.query(tab).get("color"), "time");
    const fills = await tab.frame().$$eval(".graph-frame", (all) => new Set(all.map((one) => getComputedStyle(one).fill)).size);
    assert.ok(fills > 2, `${fills} fills`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("hundreds of nodes scroll and zoom without long frames", async () => {
    // All fusions open: the largest drawing of the demos.
    const tab = await open(browser(), { module_name: "jit__randint(34)", merge_fusion: "false", view: "graph" });
    assert.ok((await nodeCount(tab)) > 400, `${await nodeCount(tab)} nodes`);
    assert.ok((await count(tab, ".graph-node")) < 400, "only visible nodes are drawn");
    const frames = await tab.frame().evaluate(async () => {
      const box = document.querySelector(".graph-view-box");
      const times = [];
      await new Promise((done) => {
        let last = performance.now();
        const step = (now) => {
          times.push(now - last);
          last = now;
          box.scrollTop += 25;
          if (times.length > 90) done();
          else requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      });
      return times.slice(1).sort((a, b) => a - b);
    });
    const median = frames[Math.floor(frames.length / 2)];
    console.log(`${name}: ${await nodeCount(tab)} nodes, frames of ${median.toFixed(1)} ms, slowest tenth from ${frames[Math.floor(frames.length * 0.9)].toFixed(1)} ms`);
    assert.ok(median < 50, `frames of ${median} ms`);
    await tab.frame().focus(".graph-view-box");
    await tab.page.keyboard.press("0");
    await h.until("all of it", async () => (await count(tab, ".graph-node")) > 400);
    assert.equal(await count(tab, ".graph-node text"), 0, "no texts that could not be read");
    await tab.page.keyboard.press("+");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the page of format=html is a drawing by itself", async () => {
    const runs = await (await fetch(`${at.demo.url}data/plugin/profile/runs`)).json();
    const run = runs.find((one) => one.startsWith("jax_mlp"));
    const module = "jit_train_step(36)";
    const address = `${at.demo.url}data/plugin/profile/data?`;
    const text = await (await fetch(`${address}${new URLSearchParams({ run, tag: "graph_viewer", module_name: module, type: "short_txt" })}`)).text();
    const [, entry] = /^ENTRY (\S+)/m.exec(text);
    const page = await browser().newPage();
    await page.goto(`${address}${new URLSearchParams({ run, tag: "graph_viewer", module_name: module, node_name: entry, type: "graph", format: "html" })}`);
    const [scripts, boxes, broken] = await page.evaluate(() => [
      document.querySelectorAll("script, style, link").length,
      [...document.querySelectorAll("svg a > rect")].filter((one) => one.getBoundingClientRect().width > 100).length,
      document.querySelectorAll("parsererror").length,
    ]);
    assert.deepEqual([scripts, broken], [0, 0]);
    assert.ok(boxes > 50, `${boxes} nodes`);
    await page.close();
  });
});
