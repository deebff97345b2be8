// What the trace viewer shows first, without a click: where devices work, keys, sums of a rectangle, the moment of a memory peak.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as h from "./harness.js";

const MS = 1e9;
const RUN = "late/1";
const link = (tool) => `run=${encodeURIComponent(RUN)}&tool=${tool}`;

const at = await h.served({ late: "late_profiles" });

/** The timeline's test hook, see frontend/src/timeline/test_hook.ts. */
function hook(tab) {
  return tab.frame().evaluate(() => {
    const { boxesDrawn, window: span, full, marker, events, merged, selection } = window.__timeline;
    return { boxesDrawn, window: span, full, marker, events, merged, selected: selection.length };
  });
}

async function open(browser, tool = "trace_viewer@") {
  const tab = await h.openProfile(browser, at.late, { query: link(tool) });
  if (tool === "trace_viewer@") await h.until("drawn boxes", async () => (await hook(tab)).boxesDrawn > 20);
  return tab;
}

const labels = (tab) => tab.frame().$$eval(".tl-label .tl-name", (all) => all.map((one) => one.textContent));
const span = ([begin, end]) => end - begin;

h.inEveryBrowser("first view", ({ name, browser }) => {
  test("is where the devices work, without sections that are empty; Whole shows the recording from its start", async () => {
    const tab = await open(browser());
    const { window: first, full } = await hook(tab);
    assert.deepEqual(full, [0, 9700 * MS]);
    assert.ok(first[0] > 9640 * MS && span(first) < 20 * MS, String(first));
    assert.deepEqual(await labels(tab), ["GPU 1", "Stream #14", "Host Threads", "python", "worker/3"]);
    await h.shows(tab, "2 sections without events");
    await h.screenshot(tab, `first-view-${name}`);
    assert.equal(h.query(tab).get("window"), null);
    await tab.page.keyboard.press("0"); // the keys work without a click
    await h.until("the whole recording", async () => span((await hook(tab)).window) >= 9700 * MS);
    await h.until("the window in the address", () => h.query(tab).get("window"));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("counts what is merged on the screen, and a rectangle adds that up as well", async () => {
    const tab = await open(browser());
    await h.shows(tab, "2 sections without events"); // drawn: from now on it takes keys
    await tab.page.keyboard.press("0");
    await h.until("merged kernels", async () => (await hook(tab)).merged >= 400);
    const stage = await tab.frame().$(".tl-data");
    const box = await stage.boundingBox();
    await tab.page.mouse.move(box.x + box.width * 0.9, box.y + 26);
    await tab.page.mouse.down();
    await tab.page.mouse.move(box.x + box.width, box.y + 32, { steps: 4 });
    await tab.page.mouse.up();
    await h.shows(tab, "400 events of 2 names on 1 track");
    const cells = await tab.frame().$$eval(".tv-many tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].slice(0, 4).map((cell) => cell.textContent)));
    assert.deepEqual(cells, [["gemm", "200", "4 ms", "4 ms"], ["copy", "200", "2 ms", "2 ms"]]);
    await h.screenshot(tab, `rectangle-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("from the memory profile is at the peak, marked, at the time that both pages name", async () => {
    const tab = await open(browser(), "memory_profile");
    await h.shows(tab, "The peak is at 9.655 s of the recording");
    await h.atRest(tab); // a link that still moves is missed by the click
    await h.until("the link", async () => {
      for (const one of await tab.frame().$$("a.link")) {
        if (/at the peak/.test(await one.evaluate((e) => e.textContent))) return one.click().then(() => true);
      }
      return false;
    });
    await h.until("drawn boxes", async () => (await hook(tab)).boxesDrawn > 20);
    const { window: shown, marker, events } = await hook(tab);
    assert.deepEqual(marker, { at: 9655 * MS, label: "peak of memory 0: 900 B" });
    assert.ok(shown[0] < marker.at && marker.at < shown[1] && span(shown) < 50 * MS, String(shown));
    assert.ok(events > 20, `${events} events`);
    await h.screenshot(tab, `peak-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });
});
