// Two runs: the page Compare, a base kept over all pages, joined tables, and two timelines that move together.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const [BASE, RUN] = ["tpu/2026_11_20_10_00_00", "tpu/2026_11_20_11_00_00"];
const at = await h.served({ compared: "compared" });

const open = (browser, tool, more = {}) => h.openPage(browser, at.compared, { query: new URLSearchParams({ run: RUN, tool, ...more }).toString(), width: 1440, height: 900 });
const compared = (browser, tool, more = {}) => open(browser, tool, { base: BASE, ...more });

/** Presses the button that contains the words. */
async function press(tab, words) {
  const found = await h.until(`"${words}" to press`, async () => {
    for (const one of await tab.frame().$$("button, a")) if ((await one.evaluate((e) => e.textContent)).includes(words)) return one;
    return null;
  });
  await found.click();
}

/** The rows of a table, as lists of texts. */
const rows = (tab, label) => tab.frame().$$eval(`section[aria-label="${label}"] .table-tr`, (all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
const heads = (tab, label) => tab.frame().$$eval(`section[aria-label="${label}"] .table-label`, (all) => all.map((one) => one.textContent));

h.inEveryBrowser("two runs", ({ name, browser }) => {
  test("Compare asks for a base and proposes the run before; then it says what changed", async () => {
    const tab = await open(browser(), "compare");
    await h.shows(tab, "Choose a base");
    assert.equal(tab.found.requests.filter((url) => url.includes("tag=compare")).length, 0, "no request without a base");
    await press(tab, `Compare with ${BASE}: the run before`);
    await h.shows(tab, "10.0% slower from step to step (1.000 to 1.100 ms): fusion.11 (fusion) takes 120.0 us more.");
    assert.equal(h.query(tab).get("base"), BASE);
    const changes = (await rows(tab, "What changed")).map(([what, kind, time, share]) => [what, kind, time, share]);
    assert.deepEqual(changes, [["fusion.11 (fusion)", "slower", "+120 us", "120.0%"], ["gone.3 (gone)", "gone", "-50 us", "-50.0%"], ["fresh.13 (fresh)", "new", "+20 us", "20.0%"], ["Between steps", "more time", "+10 us", "10.0%"], ["Rest", "rest", "0 us", "0.0%"]]);
    await h.screenshot(tab, `compare-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a contribution leads to the row of its op, with base and difference; the base stays over pages and can be removed", async () => {
    const tab = await compared(browser(), "compare");
    await h.shows(tab, "fusion.11 (fusion)");
    const cell = await h.until("a contribution", () => tab.frame().$('section[aria-label="What changed"] .table-tr [data-col]'));
    await cell.click({ count: 2 });
    await press(tab, "Row in ops");
    const marked = 'section[aria-label="Ops"] .table-tr[aria-selected="true"]';
    const cells = await h.until("the row of the op", () => tab.frame().$$eval(`${marked} > *`, (all) => all.length > 0 && all.map((one) => one.textContent)));
    assert.deepEqual(cells.slice(0, 5), ["fusion.11", "same", "+120 us", "200 us", "320 us"]);
    await h.click(tab, '[data-tool="hlo_stats"]');
    await h.shows(tab, `Compared with ${BASE}.`);
    const fusion = async () => (await rows(tab, "HLO ops")).map((row) => row.slice(0, 4))[0];
    await h.shows(tab, "Times and counts are per step: 4 steps in the base, 4 steps here.");
    assert.deepEqual(await fusion(), ["fusion.11", "320 us", "200 us", "+120 us"]);
    await press(tab, "Total");
    await h.until("totals", async () => (await fusion())?.[1] === "1,280 us");
    assert.deepEqual(await fusion(), ["fusion.11", "1,280 us", "800 us", "+480 us"]);
    await press(tab, "Per step");
    await h.until("times per step", async () => (await fusion())?.[1] === "320 us");
    assert.equal((await rows(tab, "HLO ops")).length, 4);
    // Sorted by the difference.
    await tab.frame().$$eval(".table-sort", (all) => all.find((one) => one.textContent.includes("Δ Self time")).click());
    await h.until("the order", async () => (await rows(tab, "HLO ops")).map(([op]) => op).join() === "fusion.11,fresh.13,norm.12,gone.3");
    assert.ok((await heads(tab, "HLO ops")).includes("Self time/step, base"));
    await h.click(tab, '[data-tool="time_budget"]');
    await h.shows(tab, "A step takes 990 us, in the base 900 us: +90 us (+10.0%).");
    await h.click(tab, '[data-tool="overview_page"]');
    await h.shows(tab, "Against the base");
    assert.equal(h.query(tab).get("base"), BASE);
    await press(tab, "Remove the base");
    await h.until("the overview alone", () => h.query(tab).get("base") === null);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("pages that show one run say so, and those whose base has no data say why", async () => {
    const tab = await compared(browser(), "pod_viewer");
    await h.shows(tab, `Pod Viewer shows one run at a time, without the base ${BASE}.`);
    await tab.page.close();
    const other = await h.openPage(browser(), at.compared, { query: new URLSearchParams({ run: "gpu/2026_11_20_11_00_00", base: BASE, tool: "kernel_stats" }).toString() });
    await h.shows(other, `No comparison with ${BASE}: `);
    await h.shows(other, "takes 70.6% of the kernel time");
    h.assertClean(other);
    await other.page.close();
  });

  test("renumbered ops of a recompiled program correspond in the op profile and the memory viewer", async () => {
    const [base, run] = ["mlp/2026_11_20_10_00_00", "mlp/2026_11_20_11_00_00"];
    const tab = await h.openPage(browser(), at.compared, { query: new URLSearchParams({ run, base, tool: "op_profile" }).toString(), width: 1440, height: 900 });
    await h.shows(tab, `Compared with ${base}.`);
    const cells = await h.until("rows with a base", async () => {
      const found = await tab.frame().$$eval(".opp-line", (all) => all.map((line) => [...line.children].map((cell) => cell.textContent)));
      return found.some((row) => row[0].includes("ynn_fusion.1005") && row[3] !== "-") && found;
    });
    for (const row of cells) assert.match(row[4], /^0 /, `${row[0]} does not differ`);
    await h.click(tab, '[data-tool="memory_viewer"]');
    await h.shows(tab, "Its program is jit_train_step(36).");
    await h.shows(tab, "Memory against the base");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("two timelines are aligned at a step, move together, and show the counterpart of an event", async () => {
    const tab = await compared(browser(), "trace_viewer@", { align: "2" });
    const windows = () => tab.frame().evaluate(() => window.__timeline && window.__baseTimeline && window.__baseTimeline.boxesDrawn > 5 && [window.__timeline.window, window.__baseTimeline.window].map((pair) => [...pair]));
    const shifted = async (ps) => {
      const found = await windows();
      return found && Math.abs(found[0][0] - found[1][0] - ps) < 1 && Math.abs(found[0][1] - found[1][1] - ps) < 1 && found;
    };
    // The third step begins at 2,200 us in the run and at 2,000 us in the base.
    await h.until("windows aligned at the third step", () => shifted(200e6));
    const timeline = async (which) => (await tab.frame().$$(".tl-stage"))[which];
    const place = async (which, x, y) => {
      const box = await (await timeline(which)).boundingBox();
      return [box.x + x * box.width, box.y + y];
    };
    const before = await windows();
    await tab.page.mouse.move(...(await place(0, 0.5, 80)));
    await (await timeline(0)).focus();
    await tab.page.keyboard.press("w");
    await h.until("a zoom of both by a key on the base", async () => {
      const found = await shifted(200e6);
      return found && found[0][1] - found[0][0] < 0.9 * (before[0][1] - before[0][0]);
    });
    await press(tab, "Whole");
    await h.until("the whole run again", () => shifted(200e6));
    await tab.frame().select(".tv-align select", "start");
    await h.until("windows aligned at the start", () => shifted(0));
    assert.equal(h.query(tab).get("align"), "start");
    // Row of XLA Ops of the run: its first op is fusion.11, which was fusion.1.
    let last;
    await h.until("windows at rest", async () => {
      const before = last;
      await h.twoFrames(tab);
      last = String(await windows());
      return last === before;
    });
    await tab.page.mouse.click(...(await place(1, 0.02, 24 + 18 + 22 + 18 + 3 + 9)));
    await h.until("a selection in the run", () => tab.frame().evaluate(() => window.__timeline.selection[0]?.name?.startsWith("%fusion.11")));
    await h.shows(tab, "Duration in the base");
    const text = await h.text(tab.frame());
    assert.match(text, /Duration in the base\s+200 us/);
    assert.match(text, /Difference\s+\+120 us \(\+60\.0%\)/);
    await h.until("the counterpart in the base", () => tab.frame().evaluate(() => window.__baseTimeline.selection[0]?.name?.startsWith("%fusion.1 ")));
    await h.screenshot(tab, `compare-timelines-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });
});
