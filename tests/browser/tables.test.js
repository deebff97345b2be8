// The generic table page, with the tool that lists the contents of a profile: sort, filter, CSV, link.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const LINK = "tool=profile_contents";

const at = await h.served({ demo: h.DEMO });

/** The texts of the visible rows from top to bottom, each a list of cells. */
function rows(tab) {
  return tab.frame().$$eval(".table-tr", (elements) =>
    elements
      .sort((a, b) => Number(a.getAttribute("aria-rowindex")) - Number(b.getAttribute("aria-rowindex")))
      .map((row) => [...row.querySelectorAll('[role="gridcell"]')].map((cell) => cell.textContent)),
  );
}

/** Clicks the header of a column with a label. */
async function clickHead(tab, label) {
  const heads = await tab.frame().$$(".table-th");
  for (const head of heads) {
    if ((await head.$eval(".table-label", (element) => element.textContent)) !== label) continue;
    await (await head.$(".table-sort")).click();
    return () => head.evaluate((element) => element.getAttribute("aria-sort"));
  }
  throw new Error(`no column ${label}`);
}

async function open(browser, query = LINK) {
  const tab = await h.openPage(browser, at.demo, { query });
  await h.until("rows", async () => (await rows(tab)).length > 1);
  return tab;
}

h.inEveryBrowser("tables", ({ name, browser }) => {
  test("a click on a head sorts, and the link keeps it", async () => {
    const tab = await open(browser());
    const order = await clickHead(tab, "Events");
    await h.until("the order to be marked", async () => ["ascending", "descending"].includes(await order()));
    if ((await order()) === "ascending") await clickHead(tab, "Events");
    await h.until("a descending order", async () => (await order()) === "descending");
    const column = 3;
    const events = (await rows(tab)).map((cells) => Number(cells[column].replace(/[^\d.]/g, "")));
    assert.deepEqual(events, [...events].sort((a, b) => b - a));
    await h.until("the order in the address", () => /events/.test(h.query(tab).get("sort") ?? ""));
    const again = await open(browser(), h.query(tab).toString());
    assert.deepEqual((await rows(again))[0], (await rows(tab))[0]);
    await h.screenshot(again, `table-${name}`);
    h.assertClean(tab);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });

  test("a filter leaves the rows that match and says how many", async () => {
    const tab = await open(browser());
    const before = (await rows(tab)).length;
    const field = await tab.frame().$('input[aria-label="Filter Plane"]');
    await field.type("/host:CPU");
    await h.until("fewer rows", async () => {
      const left = await rows(tab);
      return left.length > 0 && left.length < before && left.every((cells) => cells[1].includes("/host:CPU"));
    });
    await h.shows(tab, /\d+ of \d+ rows/);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("CSV has the exact values of what is shown", async () => {
    const tab = await open(browser());
    await tab.frame().evaluate(() => {
      // Caught instead of saved: the test wants the text, not a file in somebody's downloads.
      window.saved = new Promise((resolve) => {
        URL.createObjectURL = (blob) => {
          resolve(blob.text());
          return "about:blank";
        };
      });
      HTMLAnchorElement.prototype.click = () => {};
    });
    const buttons = await tab.frame().$$(".table-tools button");
    for (const button of buttons) if ((await button.evaluate((element) => element.textContent)) === "CSV") await button.click();
    await h.click(tab, '.table-menu [role="menuitem"]');
    const [head, first] = (await tab.frame().evaluate(() => window.saved)).split("\n");
    assert.match(head, /^"Host","Plane","Line","Events"/);
    assert.match(first, /^"demo-host","/);
    h.assertClean(tab);
    await tab.page.close();
  });
});
