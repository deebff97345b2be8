// The page What if: from a finding to its change, several changes in the address, both bars, by keyboard, and what is unknown.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const first = (run) => `${run}/${readdirSync(path.join(h.DEMO, run, "plugins", "profile"))[0]}`;
const at = await h.served({ demo: h.DEMO });
const open = (browser, run, more = {}) => h.openPage(browser, at.demo, { query: new URLSearchParams({ run: first(run), tool: "what_if", ...more }).toString() });
const bars = (tab) => tab.frame().$$eval(".step-bars-one", (all) => all.map((one) => `${one.firstChild.textContent} ${one.lastChild.textContent}`));

h.inEveryBrowser("what if", ({ name, browser }) => {
  test("a finding of the overview leads to the step without its cause", async () => {
    const tab = await h.openPage(browser(), at.demo, { query: new URLSearchParams({ run: first("train_slow_input"), tool: "overview_page" }).toString() });
    await h.until("the link", () => tab.frame().$(".finding-what-if"));
    await h.click(tab, '[data-finding="input_bound"] .finding-what-if');
    await h.shows(tab, "The step would take 44.0% less time (36.49 ms to 20.45 ms)");
    assert.deepEqual([h.query(tab).get("tool"), h.query(tab).get("input_free"), h.query(tab).get("finding")], ["what_if", "true", null]);
    assert.deepEqual(await bars(tab), ["Before 36.49 ms", "After 20.45 ms"]);
    await h.screenshot(tab, `what-if-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("changes add up, by keyboard, and a shared link restores them", async () => {
    const tab = await open(browser(), "train_slow_input", { input_free: "true" });
    await h.shows(tab, "Worth a try");
    await tab.frame().focus(".what-if-add input");
    await tab.page.keyboard.type("ynn_fusion");
    await tab.page.keyboard.press("Enter");
    await h.shows(tab, /would take 80\.\d% less time/);
    assert.equal(h.query(tab).get("without"), "ynn_fusion");
    await h.shows(tab, "What limits the step then");
    await tab.page.reload();
    await h.shows(tab, /would take 80\.\d% less time/);
    await tab.page.goBack();
    await h.shows(tab, "44.0% less time");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a finding without a change says why", async () => {
    const tab = await open(browser(), "jax_scan");
    await h.shows(tab, "No function, event, op or kind of op takes just this time");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a place that is not there proposes others", async () => {
    const tab = await open(browser(), "jax_mlp", { without: "dott" });
    await h.shows(tab, "Nothing in the recording is called so; near:");
    await h.click(tab, ".what-if-near button");
    await h.shows(tab, /The step would take \d+\.\d% less time/);
    assert.equal(h.query(tab).get("without"), "dot");
    h.assertClean(tab);
    await tab.page.close();
  });
});
