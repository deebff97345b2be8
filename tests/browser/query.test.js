// Page Query: statements by keyboard and by link, errors with their place, cancelling, chart, files, the way to the timeline.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const RUN = "gpu/2026_11_20_10_00_00";
const STEPS = "SELECT run, host, step, begin_ps, duration_ps\nFROM steps ORDER BY step";
const ENDLESS = "SELECT sum(a.range * b.range) AS n FROM range(10000000) AS a, range(10000000) AS b";

const at = await h.served({ steps: "step_profiles" });

const open = (browser, more = {}) => h.openPage(browser, at.steps, { query: new URLSearchParams({ run: RUN, tool: "query", ...more }).toString() });
const cells = (tab) => tab.frame().$$eval(".table-tr", (all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));

/** Presses the button or link of the page that contains the words. */
async function press(tab, words) {
  const found = await h.until(`"${words}" to press`, async () => {
    for (const one of await tab.frame().$$("main button, main a")) if ((await one.evaluate((e) => e.textContent)).includes(words)) return one;
    return null;
  });
  await found.click();
}

/** Replaces the statement as a user types it, and runs it. */
async function run(tab, statement) {
  await h.click(tab, ".query-text");
  await tab.frame().$eval(".query-text", (area) => area.select());
  await tab.page.keyboard.type(statement);
  await tab.page.keyboard.down("Control");
  await tab.page.keyboard.press("Enter");
  await tab.page.keyboard.up("Control");
}

/** What a download of the page holds: its size and first bytes. Caught instead of saved. */
async function saved(tab, words) {
  await tab.frame().evaluate(() => {
    window.saved = new Promise((resolve) => {
      URL.createObjectURL = (blob) => {
        resolve(blob.arrayBuffer().then((data) => [...new Uint8Array(data)]));
        return "about:blank";
      };
    });
    HTMLAnchorElement.prototype.click = () => {};
  });
  await press(tab, words);
  return Buffer.from(await tab.frame().evaluate(() => window.saved));
}

h.inEveryBrowser("query", ({ name, browser }) => {
  test("a statement runs by keyboard; its link shows the same rows and leads to the timeline", async () => {
    const tab = await open(browser());
    await h.shows(tab, "begin with an example");
    await run(tab, STEPS.replace("\n", " "));
    await h.shows(tab, /3 rows in \d/);
    const rows = await cells(tab);
    assert.deepEqual(
      rows.map(([run, host, step]) => [run, host, step]),
      [0, 1, 2].map((step) => [RUN, "h", String(step)]),
    );
    assert.deepEqual([h.query(tab).get("sql"), h.query(tab).get("ran")], [STEPS.replace("\n", " "), "1"]);
    await h.screenshot(tab, `query-${name}`);
    const again = await open(browser(), Object.fromEntries(h.query(tab)));
    await h.shows(again, /3 rows in \d/);
    assert.deepEqual(await cells(again), rows);
    const second = await again.frame().$$(".table-tr [data-col]");
    await second[0].click({ count: 2 });
    await press(again, "Show in the timeline");
    await h.until("the trace viewer", () => h.query(again).get("tool") === "trace_viewer@");
    const [begin, end] = h.query(again).get("mark").split(",").map(Number);
    assert.ok(end > begin && h.query(again).get("window"), h.query(again).toString());
    assert.deepEqual([h.query(again).get("run"), h.query(again).get("sql")], [RUN, null]);
    await again.page.evaluate(() => history.back());
    await h.until("the statement after a step back", () => h.query(again).get("sql") !== null);
    await h.shows(again, /3 rows in \d/);
    h.assertClean(tab);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });

  test("an error marks its place; a running query says so and is cancelled", async () => {
    const tab = await open(browser(), { sql: "SELECT step,\n  nope FROM steps", ran: "1" });
    await h.shows(tab, "The query has an error");
    await press(tab, "Go to line 2, column 3");
    assert.equal(await tab.frame().$eval(".query-text", (area) => area.selectionStart), 15);
    await run(tab, "COPY steps TO 'x.csv'");
    await h.shows(tab, "COPY statements are not allowed");
    await run(tab, ENDLESS);
    await h.shows(tab, /Running the query \(\d+ s\)/);
    await press(tab, "Cancel");
    await h.shows(tab, "The query was cancelled.");
    h.assertClean(tab);
    await tab.page.close();
  });
});

// What is saved and drawn does not depend on the browser.
h.inChromium("results of queries", ({ browser }) => {
  test("all runs are asked; the result becomes a chart and files", async () => {
    const sql = "SELECT run, count(*) AS steps, sum(duration_ps) AS total_ps FROM steps GROUP BY run ORDER BY run";
    const tab = await open(browser(), { sql, ran: "1", runs: "*" });
    await h.shows(tab, /\d rows in \d/);
    const runs = (await cells(tab)).map(([run]) => run);
    assert.ok(runs.length > 1 && runs.includes(RUN), runs.join());
    await press(tab, "Chart");
    await h.until("the chart", () => tab.frame().$(".query-chart canvas"));
    assert.equal(h.query(tab).get("chart"), "bars~run~steps");
    const csv = (await saved(tab, "CSV")).toString();
    assert.deepEqual(csv.trim().split(/\r?\n/).map((line) => line.split(",")[0].replaceAll(`"`, "")), ["run", ...runs]);
    assert.equal((await saved(tab, "Parquet")).subarray(0, 4).toString(), "PAR1");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("names of the schema are written into the statement by keyboard", async () => {
    const tab = await open(browser(), { sql: "SELECT  FROM steps" });
    await h.until("the statement", () => tab.frame().$eval(".query-text", (area) => area.value === "SELECT  FROM steps" && (area.setSelectionRange(7, 7), true)));
    await h.click(tab, '[aria-label="Search tables and columns"]');
    await tab.page.keyboard.type("takes_part");
    await h.until("one column", async () => (await tab.frame().$$(".query-schema li")).length === 1);
    await tab.frame().$eval(".query-schema li button", (button) => button.focus());
    await tab.page.keyboard.press("Enter");
    assert.equal(await tab.frame().$eval(".query-text", (area) => area.value), "SELECT takes_part FROM steps");
    h.assertClean(tab);
    await tab.page.close();
  });
});
