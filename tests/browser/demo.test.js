// The demo as it opens: the finding in the headline, its evidence in the timeline, the comparison with the repaired run.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const demo = (run) => `${run}/${readdirSync(path.join(h.DEMO, run, "plugins", "profile"))[0]}`;
const headline = (tab) => h.until("a headline", () => tab.frame().$eval(".summary > h2", (one) => one.textContent).catch(() => null));
const at = await h.served({ demo: h.DEMO });

h.inEveryBrowser("demo", ({ browser }) => {
  test("opens on the finding, whose evidence opens the timeline with the event selected", async () => {
    const tab = await h.openProfile(browser(), at.demo, { width: 1440, height: 900 });
    await h.until("the finding", async () => /^Devices wait 44\.5% of the step for input, most of it in train_images\.py:36 decode$/.test(await headline(tab)));
    const links = await h.until("evidence", async () => {
      const found = await tab.frame().$$(".finding:first-child .finding-proof:is(a)");
      return found.length === 4 && found;
    });
    await links[2].click();
    const [selected] = await h.until("a selected event", () => tab.frame().evaluate(() => window.__timeline?.selection.length === 1 && window.__timeline.selection));
    assert.equal(selected.name, "$train_images.py:36 decode");
    await h.shows(tab, "15.96 ms");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the comparison says what the repair gained, and names input first", async () => {
    const query = new URLSearchParams({ tool: "compare", run: demo("train_prefetched"), base: demo("train_slow_input") }).toString();
    const tab = await h.openProfile(browser(), at.demo, { query, width: 1440, height: 900 });
    await h.shows(tab, "What changed");
    assert.equal(await headline(tab), "35.3% faster (36.49 to 23.61 ms): waiting for input fell by 15.86 ms (train_images.py:36 decode).");
    assert.match(await tab.frame().$eval('section[aria-label="What changed"] .table-tr', (one) => one.textContent), /^Waits for input \(Input\).*decode.*-15,643 us/);
    h.assertClean(tab);
    await tab.page.close();
  });
});
