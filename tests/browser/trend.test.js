// Page Trend: runs read in slices that can be stopped, marks at changes, a baseline by dragging, the way to Compare.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const CHANGE = "2.1% faster (1.9% to 2.3%) since n34/s";
const BOTH = /3\.6% slower[\s\S]*since n23\/s[\s\S]*dot \+39/;

const open = (browser, server, query = "tool=trend", prepare) =>
  h.openPage(browser, server, { query, height: 900, prepare });

/** Holds requests that read runs, for `open`, until all are let go: reading may be done before a click otherwise. */
function holding() {
  let held = [];
  const prepare = async (page) => {
    await page.setRequestInterception(true);
    page.on("request", (request) => (held && request.url().includes("read=true") ? held.push(request) : request.continue()));
  };
  const letGo = async () => {
    const all = held;
    held = null;
    await Promise.all(all.map((request) => request.continue()));
  };
  return { prepare, letGo };
}

/** The rectangle of the plot of steps over runs, in the window. */
async function plot(tab) {
  const canvas = await h.until("a drawn chart", () => tab.frame().$("[data-drawn='40'] canvas"));
  await canvas.evaluate((one) => one.scrollIntoView({ block: "center" }));
  await h.twoFrames(tab);
  return canvas.boundingBox();
}

h.inEveryBrowser("trend", ({ browser }) => {
  let server;
  let work;
  test("reads runs until it is stopped, goes on, and tells changes and what is left out", async () => {
    work = h.temporaryDirectory();
    h.build("nightly", work.directory);
    server = await h.startTensorBoard(work.directory);
    const { prepare, letGo } = holding();
    const tab = await open(browser(), server, "tool=trend", prepare);
    await h.shows(tab, "0 of 41 runs read…");
    await h.click(tab, ".trend-reading button");
    await h.shows(tab, "Continue");
    await h.shows(tab, /0 of 41 runs read(?!…)/);
    await h.click(tab, ".trend-reading button");
    await h.shows(tab, "0 of 41 runs read…");
    await letGo();
    await h.shows(tab, CHANGE);
    await h.until("all runs read", async () => (await tab.frame().$(".trend-reading")) === null);
    await h.shows(tab, BOTH);
    await h.shows(tab, "Left out: 1 run");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a drag over runs chooses a baseline, which its link restores", async () => {
    const tab = await open(browser(), server);
    const { x, y, width, height } = await plot(tab);
    await tab.page.mouse.move(x + width * 0.15, y + height / 2);
    await tab.page.mouse.down();
    await tab.page.mouse.move(x + width * 0.4, y + height / 2, { steps: 4 });
    await tab.page.mouse.up();
    const told = await h.shows(tab, /The newest run takes .* of the median of \d+ runs, n\d\d\/s to n\d\d\/s, \+1\.\d%/);
    const [, sentence] = /(The newest run takes .*)/.exec(told);
    const [from, to] = h.query(tab).get("baseline").split(",").map(decodeURIComponent);
    assert.ok(sentence.includes(`${from} to ${to}`), sentence);
    const again = await open(browser(), server, h.query(tab).toString());
    await h.shows(again, sentence);
    await h.click(again, ".trend-baseline button");
    await h.shows(again, "Drag over the chart");
    assert.equal(h.query(again).get("baseline"), null);
    for (const one of [tab, again]) {
      h.assertClean(one);
      await one.page.close();
    }
  });

  test("a change leads to the comparison of its two sides", async () => {
    const tab = await open(browser(), server);
    await h.shows(tab, CHANGE);
    await h.click(tab, ".summary .link");
    await h.shows(tab, "What changed");
    const { run, base, tool } = Object.fromEntries(h.query(tab));
    assert.deepEqual([run, base, tool], ["n34/s", "n33/s", "compare"]);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a report that is saved there has it, without the way to runs that it lacks", async () => {
    const tab = await open(browser(), server, "tool=trend&run=n34/s");
    await h.shows(tab, CHANGE);
    const address = await tab.frame().$eval("a[download]", (link) => link.href);
    const file = path.join(work.directory, "report.html");
    writeFileSync(file, Buffer.from(await (await fetch(address)).arrayBuffer()));
    const saved = await h.openFile(browser(), file);
    await h.click(saved, "[data-tool='trend']");
    assert.match(await h.shows(saved, CHANGE), BOTH);
    await h.shows(saved, "Left out: 1 run");
    await plot(saved);
    assert.doesNotMatch(await h.text(saved.frame()), /Compare both sides|Continue|Not in this report/);
    assert.match(await h.text(tab.frame()), /Compare both sides/);
    for (const one of [tab, saved]) {
      h.assertClean(one);
      await one.page.close();
    }
  });

  test("the table of runs is sorted, and the axis shows a label", async () => {
    const tab = await open(browser(), server, "tool=trend&axis=label:commit&t2.sort=-step_ps");
    await h.shows(tab, "Axis");
    assert.match(await h.shows(tab, /commit/), /As recorded/);
    const rows = await h.until("rows", async () => {
      const all = await tab.frame().$$eval("[aria-label='Runs'] .table-tr", (found) => found.map((row) => row.children[2].textContent));
      return all.length > 5 && all;
    });
    const times = rows.map((text) => parseFloat(text));
    assert.deepEqual(times, [...times].sort((a, b) => b - a));
    h.assertClean(tab);
    await tab.page.close();
    await server.stop();
    work.remove();
  });
});
