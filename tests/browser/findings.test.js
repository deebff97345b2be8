// Findings: the headline of the overview, evidence that opens the view behind it, the line on other pages, keyboard, dark mode, errors.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import * as h from "./harness.js";

const RUN = "tpu_collectives/2026_11_20_10_00_00";
const at = await h.served({ devices: "device_profiles" });
let found;
before(async () => {
  const query = new URLSearchParams({ run: RUN, tag: "smart_suggestion" });
  found = await (await fetch(`${at.devices.url}data/plugin/profile/page?${query}`)).json();
});

const open = (browser, tool, more = {}) => h.openPage(browser, at.devices, { query: new URLSearchParams({ run: RUN, tool, ...more }).toString(), width: 1440, height: 900 });
const first = ".finding:first-child";
const opened = (tab) => h.until("the first finding", () => tab.frame().$(first));
const headline = (tab) => tab.frame().$eval(".summary > h2", (one) => one.textContent);

/** Evidence that opens a page of this run, with its place in the panel. */
async function linked(tab, suits) {
  const links = await tab.frame().$$(".finding-proof:is(a)");
  const all = found.findings.flatMap(({ evidence }) => evidence).filter(({ tool }) => tool !== "" && tool !== "overview_page");
  const place = all.findIndex(suits);
  assert.ok(place >= 0, "the run has such evidence");
  assert.equal(links.length, all.length, "every page in the evidence has data in this run");
  return { link: links[place], proof: all[place] };
}

h.inEveryBrowser("findings", ({ name, browser }) => {
  test("the headline is the first finding, and everything else is below it", async () => {
    const tab = await open(browser(), "overview_page");
    await opened(tab);
    const [one] = found.findings;
    assert.ok(one.share >= 0.1);
    assert.equal(await headline(tab), one.title);
    assert.equal(await tab.frame().$eval(first, (item) => item.getAttribute("aria-label")), one.title);
    const gain = await tab.frame().$eval(`${first} .finding-gain`, (shown) => shown.textContent);
    assert.match(gain, /^\S+ \S+ of \S+ \S+/);
    assert.ok(gain.includes(`${(100 * one.share).toFixed(1)}% of the ${found.base}`), gain);
    for (const { id, name } of one.segments) assert.equal(await tab.frame().$eval(`${first} [data-part="${id}"]`, (link) => link.textContent.trim()), name);
    await h.shows(tab, one.advice);
    await h.shows(tab, "6 steps");
    assert.equal(await tab.frame().$eval(".findings-silent dl", (list) => list.offsetHeight > 0 && list.checkVisibility()), false);
    await (await tab.frame().$(".findings-silent summary")).click();
    for (const { looks_for: words } of found.silent) await h.shows(tab, words);
    await h.screenshot(tab, `findings-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("evidence opens exactly the view that shows it", async () => {
    const tab = await open(browser(), "overview_page");
    await opened(tab);
    const { link, proof } = await linked(tab, ({ tool }) => tool === "time_budget");
    await link.click();
    await h.until("the time budget", () => h.query(tab).get("tool") === "time_budget");
    if (proof.unit === "%") await h.shows(tab, `${proof.value.toFixed(1)}%`);
    await tab.page.goBack();
    await opened(tab);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("evidence in the timeline opens there, on its host", async () => {
    const tab = await open(browser(), "overview_page");
    await opened(tab);
    const { link, proof } = await linked(tab, ({ tool, query }) => tool === "trace_viewer@" && query.window);
    await link.focus();
    await tab.page.keyboard.press("Enter");
    await h.until("the trace viewer", () => h.query(tab).get("tool") === "trace_viewer@");
    assert.equal(h.query(tab).get("window"), proof.query.window);
    assert.equal(h.query(tab).get("host"), proof.query.host ?? null);
    await h.until("drawn boxes", () => tab.frame().evaluate(() => window.__timeline?.boxesDrawn > 0));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("other pages name the finding about them, and lead back to it by keyboard", async () => {
    const tab = await open(browser(), "time_budget");
    const note = await h.until("the line above the page", () => tab.frame().$(".findings-note"));
    const about = found.findings.find(({ evidence }) => evidence.some(({ tool }) => tool === "time_budget"));
    assert.match(await note.evaluate((one) => one.textContent), new RegExp(`^Finding${about.title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`));
    assert.ok((await note.boundingBox()).height <= 32);
    await (await note.$("a")).focus();
    await tab.page.keyboard.press("Enter");
    await h.until("the finding", () => tab.frame().$(`.finding.chosen[data-finding="${about.id}"]`));
    assert.deepEqual([h.query(tab).get("tool"), h.query(tab).get("finding")], ["overview_page", about.id]);
    assert.equal(await tab.frame().evaluate(() => document.activeElement?.dataset.finding), about.id);
    await h.click(tab, '[data-tool="time_budget"]');
    await h.until("no name of a finding in the address", () => h.query(tab).get("finding") === null);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("links to XProf's Smart Suggestion open the overview", async () => {
    const tab = await open(browser(), "smart_suggestion");
    await opened(tab);
    assert.equal(await headline(tab), found.findings[0].title);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("texts are readable in dark mode, and nothing is wider than a small window", async () => {
    const tab = await open(browser(), "overview_page");
    await opened(tab);
    await tab.page.setViewport({ width: 1024, height: 700 });
    await tab.frame().evaluate(() => { document.documentElement.dataset.theme = "dark"; });
    const colours = await tab.frame().$eval(`${first} .finding-advice`, (element) =>
      [element, element.closest(".card")].map((one, which) => getComputedStyle(one)[which ? "backgroundColor" : "color"]));
    const light = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0);
    assert.ok(light(colours[0]) > 600 && light(colours[1]) < 150, colours.join(" on "));
    // Charts follow the new width in a later frame.
    await h.until("nothing wider than the window", () => tab.frame().$eval(".tool-page", (page) => page.scrollWidth <= page.clientWidth));
    await h.screenshot(tab, `findings-dark-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });
});
