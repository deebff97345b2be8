// The pages on ops: op tree by keyboard, its link, roofline points and rows, kernels by op, charts, narrow windows.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const CPU = `run=${encodeURIComponent(`jax_mlp/${readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0]}`)}`;

const at = await h.served({ ops: "op_profiles", demo: h.DEMO });
const TPU = "run=tpu%2F1";
const GPU = "run=gpu%2F1";

const texts = (tab, selector) => tab.frame().$$eval(selector, (elements) => elements.map((element) => element.textContent));
const names = (tab) => texts(tab, ".opp-name b");
const value = (tab, selector, text) => tab.frame().$eval(selector, (element, wanted) => {
  element.value = wanted;
  element.dispatchEvent(new Event(element instanceof HTMLSelectElement ? "change" : "input", { bubbles: true }));
}, text);

/** Fails if the page extends beyond its right edge. */
async function fits(tab) {
  assert.equal(await tab.frame().evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
}

h.inEveryBrowser("op tools", ({ name, browser }) => {
  test("the op tree opens and closes by keyboard, and the link brings it back", async () => {
    const tab = await h.openPage(browser(), at.ops, { query: `${TPU}&tool=op_profile` });
    await h.shows(tab, "Overall TPU FLOPS utilisation is");
    await h.until("rows", async () => (await names(tab)).includes("fusion.1"));
    await tab.frame().focus('[role="treegrid"]');
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await tab.page.keyboard.press(key);
    await h.until("the parts of the fusion", async () => (await names(tab)).includes("max.1"));
    await tab.page.keyboard.press("Enter");
    await h.shows(tab, "loop fusion operation");
    await h.shows(tab, "%fusion.1 = f32[8] fusion()");
    await h.until("the node in the address", () => h.query(tab).get("node") && h.query(tab).get("open"));
    await h.screenshot(tab, `ops-tree-${name}`);
    await fits(tab);
    const again = await h.openPage(browser(), at.ops, { query: h.query(tab).toString() });
    await h.shows(again, "loop fusion operation");
    assert.deepEqual(await names(again), await names(tab));
    await tab.frame().focus('[role="treegrid"]');
    await tab.page.keyboard.press("ArrowLeft");
    await h.until("the fusion to close", async () => !(await names(tab)).includes("max.1"));
    h.assertClean(tab);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });

  test("grouping, idle time and the number of ops change the tree", async () => {
    const tab = await h.openPage(browser(), at.ops, { query: `${TPU}&tool=op_profile` });
    await h.until("rows", async () => (await names(tab)).includes("fusion.1"));
    await h.click(tab, '[aria-label="Group by"] button:nth-child(2)');
    await h.until("categories at the top", async () => (await names(tab))[0] === "loop fusion");
    assert.equal(h.query(tab).get("group_by"), "category");
    const checks = await tab.frame().$$('.opp-controls input[type="checkbox"]');
    await checks[0].click();
    await h.shows(tab, "1 group is not shown. Show all 2");
    await checks[0].click();
    await checks[1].click();
    await h.until("idle time", async () => (await names(tab)).includes("IDLE"));
    assert.deepEqual([h.query(tab).get("idle"), h.query(tab).get("top90")], ["1", null]);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a program on the CPU shows its ops, and says that it is the CPU", async () => {
    const tab = await h.openPage(browser(), at.demo, { query: `${CPU}&tool=op_profile`, width: 800 });
    await h.shows(tab, "Ops on the CPU");
    await h.until("ops", async () => (await names(tab)).length > 3);
    await fits(tab);
    await h.screenshot(tab, `ops-cpu-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the roofline's points are read by keyboard and lead to their rows", async () => {
    const tab = await h.openPage(browser(), at.ops, { query: `${TPU}&tool=roofline_model` });
    await h.shows(tab, /The program runs at .* of its roofline/);
    await tab.frame().waitForSelector('.chart-canvas[data-drawn="3"]');
    await tab.frame().focus(".chart-body");
    const tip = () => tab.frame().$eval(".chart-tip strong", (element) => element.textContent).catch(() => "");
    await tab.page.keyboard.press("Home");
    for (let presses = 0; (await h.until("a tip", tip)) !== "fusion.1 (loop fusion)" && presses < 2; presses += 1) {
      const before = await tip();
      await tab.page.keyboard.press("ArrowRight");
      await h.until("the next point", async () => (await tip()) !== before);
    }
    await tab.page.keyboard.press("Enter");
    await h.until("the op's row", () => tab.frame().$(".table-tr.opened"));
    assert.equal(await tab.frame().$eval(".table-detail h3", (element) => element.textContent), "fusion.1");
    await h.click(tab, '.table-detail [aria-label="Close"]');
    await tab.frame().focus(".chart-body");
    const canvas = await (await tab.frame().$(".chart-canvas")).boundingBox();
    await h.until("the point under the pointer", async () => {
      for (let x = 70; x < canvas.width; x += 12) {
        for (let y = 30; y < canvas.height - 30; y += 12) {
          await tab.page.mouse.move(canvas.x + x, canvas.y + y);
          if ((await tip()).startsWith("fusion.1")) return true;
        }
      }
      return false;
    });
    await tab.page.mouse.down();
    await tab.page.mouse.up();
    await h.until("the op's row again", () => tab.frame().$(".table-tr.opened"));
    assert.equal(await tab.frame().$eval(".table-detail h3", (element) => element.textContent), "fusion.1");
    await tab.frame().focus(".chart-body");
    await tab.page.keyboard.press("t");
    await h.until("the focus in the table", () => tab.frame().evaluate(() => document.activeElement?.getAttribute("role") === "grid"));
    await h.click(tab, '[aria-label="Level"] button:nth-child(2)');
    await h.shows(tab, "Program and steps");
    await h.until("the view in the address", () => h.query(tab).get("view") === "program");
    await fits(tab);
    await h.screenshot(tab, `roofline-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("kernels are grouped and filtered, and nameless ones are counted", async () => {
    const tab = await h.openPage(browser(), at.ops, { query: `${GPU}&tool=kernel_stats` });
    await h.shows(tab, "ampere_h16816gemm takes 66.7% of the kernel time");
    await h.shows(tab, "13.3% of the time has no op name");
    await h.until("the pie", () => tab.frame().$('.chart-canvas[data-drawn="3"]'));
    await h.click(tab, '[aria-label="One row per"] button:nth-child(3)');
    await h.until("ops", async () => (await texts(tab, ".table-tr .table-cell.first")).some((text) => /^model.*Mul$/.test(text)));
    await value(tab, '.kst-controls label:last-child input', "-");
    await h.shows(tab, "nameless takes 13.3%");
    assert.deepEqual([h.query(tab).get("by"), h.query(tab).get("op")], ["op", "-"]);
    await fits(tab);
    await h.screenshot(tab, `kernels-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("HLO stats: a chart as a table, a filter, a long expression in the panel", async () => {
    const tab = await h.openPage(browser(), at.ops, { query: `${TPU}&tool=hlo_stats` });
    await h.shows(tab, "loop fusion takes 90.9% of the busy time");
    await tab.frame().focus(".pie-list .chart-body");
    await tab.page.keyboard.press("t");
    await h.until("the chart as a table", () => tab.frame().$(".pie-list .table"));
    await tab.frame().$eval(".pie-list-head button", (button) => button.click());
    await h.until("the chart", () => tab.frame().$('.pie-list .chart-canvas[data-drawn="2"]'));
    await h.click(tab, ".pie-list li:last-child button");
    await h.shows(tab, "1 row");
    assert.equal(h.query(tab).get("category"), "copy");
    await tab.frame().focus('.hlo-table [role="grid"]');
    await tab.page.keyboard.press("Enter");
    await h.shows(tab, "%copy.2 = f32[8] copy()");
    await fits(tab);
    await h.screenshot(tab, `hlo-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });
});
