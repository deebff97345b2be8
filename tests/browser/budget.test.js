// The pages of the time budget and of communication: summary, charts and tables, links to the trace viewer, state in the address.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const RUN = "tpu_collectives/2026_11_20_10_00_00";
const at = await h.served({ devices: "device_profiles" });

const open = (browser, tool, more = {}) => h.openPage(browser, at.devices, { query: new URLSearchParams({ run: RUN, tool, ...more }).toString() });
const drawn = (tab, label) => h.until(`a drawing in ${label}`, () => tab.frame().$(`section[aria-label="${label}"] [data-drawn]`));

h.inEveryBrowser("where the step goes", ({ name, browser }) => {
  test("the time budget names the largest part, and follows the chosen device", async () => {
    const tab = await open(browser(), "time_budget");
    await h.shows(tab, "27.5% of the time from step to step is host compute (waits for host code); 34.5% is device compute");
    await h.shows(tab, "random_crop (augment.py:7) accounts for 27.5% of the time from step to step.");
    await drawn(tab, "Steps");
    await tab.frame().select("#budget-device", "h1: TPU 1");
    await h.shows(tab, "Average step of h1: TPU 1");
    assert.equal(h.query(tab).get("device"), "h1: TPU 1");
    // The late core does not wait for others: parts of zero are folded.
    const waits = await tab.frame().$$eval('section[aria-label="Parts of the step"] [role="row"]', (rows) => rows.map((row) => row.textContent).find((text) => text.includes("Waits for late devices")));
    assert.equal(waits, undefined);
    await h.screenshot(tab, `time-budget-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a step opens in the trace viewer", async () => {
    const tab = await open(browser(), "time_budget", { device: "h1: TPU 0" });
    await drawn(tab, "Steps");
    await tab.frame().$eval('section[aria-label="Steps"] .chart-body', (one) => one.focus());
    await tab.page.keyboard.press("ArrowRight");
    await tab.page.keyboard.press("Enter");
    await h.until("the trace viewer", () => h.query(tab).get("tool") === "trace_viewer@");
    assert.equal(h.query(tab).get("host"), "h1");
    const [from, to] = h.query(tab).get("window").split(",").map(Number);
    // The first step begins at 500 us and lasts 1,900 us; the address has 5% of room on both sides.
    assert.deepEqual([from, to], [405e6, 2495e6]);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("communication names the late device, and a collective opens in the trace viewer", async () => {
    const tab = await open(browser(), "communication");
    await h.shows(tab, "h1: TPU 1 is late: it computes 2.1 times as long as the median device");
    await h.shows(tab, "computation hides 18.7% of it, and 60.0% is waiting for the last device");
    await drawn(tab, "Communication by step");
    const grid = 'section[aria-label="Collectives"] [role="grid"]';
    await h.until("the table", () => tab.frame().$(grid));
    await tab.frame().$eval(grid, (one) => one.focus());
    await h.screenshot(tab, `communication-${name}`);
    await tab.page.keyboard.press("ArrowDown");
    await tab.page.keyboard.press("Enter");
    await h.until("the trace viewer", () => h.query(tab).get("tool") === "trace_viewer@");
    assert.match(h.query(tab).get("window"), /^\d+,\d+$/);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the trace viewer shows corrected clocks on request, says so, and goes back", async () => {
    const tab = await open(browser(), "communication");
    await h.shows(tab, "Open the trace viewer with corrected clocks");
    const press = async (words) => {
      const found = await h.until(`"${words}" to press`, async () => {
        for (const one of await tab.frame().$$("button")) if ((await one.evaluate((e) => e.textContent)).includes(words)) return one;
        return null;
      });
      await found.click();
    };
    await press("Open the trace viewer with corrected clocks");
    await h.shows(tab, "Clocks are corrected: h1 −500 us");
    assert.deepEqual([h.query(tab).get("clocks"), h.query(tab).get("hosts")], ["h1:-500000000", "h0,h1"]);
    await h.until("drawn boxes", () => tab.frame().evaluate(() => window.__timeline?.boxesDrawn > 5));
    await h.screenshot(tab, `clocks-${name}`);
    await press("Show as recorded");
    await h.until("the clocks as recorded", () => h.query(tab).get("clocks") === null);
    h.assertClean(tab);
    await tab.page.close();
  });
});
