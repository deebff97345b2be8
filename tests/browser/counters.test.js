// The pages of performance counters and of collectives between slices: summary, bars, tables, state in the address.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const at = await h.served({ counters: "counter_profiles" });

const open = (browser, run, tool, more = {}) => h.openPage(browser, at.counters, { query: new URLSearchParams({ run: `${run}/1`, tool, ...more }).toString() });

h.inEveryBrowser("counters", ({ name, browser }) => {
  test("the utilization viewer draws units of every host and core, and keeps the chosen sample", async () => {
    const tab = await open(browser(), "v6e", "utilization_viewer");
    await h.shows(tab, "is nearest to its peak");
    const columns = await tab.frame().$$eval('section[aria-label="TensorCores"] thead th', (heads) => heads.map((head) => head.textContent));
    assert.deepEqual(columns, ["Unit", "host_a device 0, core 0 (% of peak)", "host_b device 1, core 0 (% of peak)"]);
    await h.screenshot(tab, `utilization-viewer-${name}`);
    await h.click(tab, ".pick-button");
    await h.click(tab, '[role="option"]:nth-of-type(2)');
    await h.until("the sample in the address", () => h.query(tab).get("sample") === "counters_flash_attention #12");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("perf counters lists what was recorded, and kernel utilization compares kernels", async () => {
    const listed = await open(browser(), "v7x", "perf_counters");
    await h.shows(listed, "Description");
    await h.screenshot(listed, `perf-counters-${name}`);
    h.assertClean(listed);
    await listed.page.close();
    const kernels = await open(browser(), "v7x", "kernel_utilization");
    await h.shows(kernels, "keeps the matrix units busy");
    await h.shows(kernels, "Matrix units by operand");
    await h.screenshot(kernels, `kernel-utilization-${name}`);
    h.assertClean(kernels);
    await kernels.page.close();
  });

  test("megascale stats names the collective that holds the TPU up", async () => {
    const tab = await open(browser(), "megascale", "megascale_stats");
    await h.shows(tab, "all_reduce_1 holds the TPU up longest");
    await h.until("a drawing", () => tab.frame().$('section[aria-label="Total stall"] [data-drawn]'));
    await h.screenshot(tab, `megascale-stats-${name}`);
    // Send, D2H, send-done, recv, H2D, recv-done: seven curves of the run with the longest stall.
    await h.until("flows", async () => (await tab.frame().$$(".run-flow")).length === 7);
    await tab.frame().$eval('section[aria-label="Timeline of a run"]', (card) => card.scrollIntoView());
    await h.screenshot(tab, `megascale-timeline-${name}`);
    await h.click(tab, 'section[aria-label="Timeline of a run"] .pick-button');
    await h.click(tab, '[role="option"]:nth-of-type(3)');
    await h.until("the run in the address", () => h.query(tab).get("collective")?.startsWith("gather_2") || h.query(tab).get("collective")?.startsWith("pairs_3"));
    h.assertClean(tab);
    await tab.page.close();
  });
});
