// The timeline of a real profile: it draws, keys and wheel move it, a link restores the view.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const SESSION = readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0];
const LINK = `run=jax_mlp/${SESSION}&tool=trace_viewer@`;

const at = await h.served({ demo: h.DEMO });

/** A copy of the timeline's test hook (frontend/src/timeline/test_hook.ts); null before it is loaded. */
function timeline(tab) {
  return tab.frame().evaluate(() => {
    const hook = window.__timeline;
    if (!hook) return null;
    const { boxesDrawn, boxesLoaded, tracks, window: span, selection, tool, loading } = hook;
    return { boxesDrawn, boxesLoaded, tracks, begin: span[0], end: span[1], span: span[1] - span[0], selection, tool, loading };
  });
}

async function open(browser, query = LINK) {
  const tab = await h.openPage(browser, at.demo, { query });
  await h.until("drawn boxes", async () => (await timeline(tab))?.boxesDrawn > 20);
  return tab;
}

/** Clicks into the canvas, which focuses it. */
async function enter(tab) {
  await h.click(tab, ".tl-stage");
}

/** The state after the animation of the window has ended. */
async function settled(tab) {
  let last = await timeline(tab);
  return h.until("the window to come to rest", async () => {
    const was = last;
    await h.twoFrames(tab);
    last = await timeline(tab);
    return was.begin === last.begin && was.end === last.end && last;
  });
}

/** Presses a key, checks the change of state, and returns the new state. */
async function press(tab, key, changed) {
  const was = await settled(tab);
  await tab.page.keyboard.press(key);
  await h.until(`the effect of ${key}`, async () => changed(was, await timeline(tab)));
  return settled(tab);
}

h.inEveryBrowser("timeline", ({ name, browser }) => {
  test("it draws the boxes of a profile, in its sections", async () => {
    const tab = await open(browser());
    const state = await timeline(tab);
    assert.ok(state.tracks > 1, `${state.tracks} tracks`);
    assert.ok(state.boxesLoaded >= state.boxesDrawn / 2, `${state.boxesLoaded} boxes loaded, ${state.boxesDrawn} drawn`);
    await h.screenshot(tab, `timeline-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the original's keys zoom and pan", async () => {
    const tab = await open(browser());
    await enter(tab);
    const near = await press(tab, "w", (was, now) => now.span < was.span * 0.95);
    const nearer = await press(tab, "w", (was, now) => now.span < was.span * 0.95);
    assert.ok(nearer.begin >= near.begin - 1 && nearer.end <= near.end + 1);
    await press(tab, "d", (was, now) => now.begin > was.begin);
    await press(tab, "a", (was, now) => now.begin < was.begin);
    await press(tab, "s", (was, now) => now.span > was.span * 1.05);
    await press(tab, "3", (_, now) => now.tool === "zoom");
    await press(tab, "1", (_, now) => now.tool === "select");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a link restores the window", async () => {
    const tab = await open(browser());
    await enter(tab);
    const zoomed = await press(tab, "w", (was, now) => now.span < was.span * 0.95);
    await h.until("the window in the address", () => {
      const [begin, end] = (h.query(tab).get("window") ?? "").split(",").map(Number);
      return Math.abs(begin - zoomed.begin) + Math.abs(end - zoomed.end) < zoomed.span * 0.01;
    });
    const again = await open(browser(), h.query(tab).toString());
    const restored = await h.until("the restored window", async () => {
      const now = await timeline(again);
      return Math.abs(now.span - zoomed.span) < zoomed.span * 0.02 && now;
    });
    assert.ok(Math.abs(restored.begin - zoomed.begin) < zoomed.span * 0.02);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });

  test("a search finds events, shows what is known of one, and the link keeps it", async () => {
    const tab = await open(browser());
    await enter(tab);
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("train 10");
    await h.shows(tab, "1 match");
    await tab.page.keyboard.press("Enter");
    const selected = async () => (await timeline(tab)).selection.find((event) => event.name?.startsWith("train"));
    const found = await h.until("a selected step", selected);
    await h.shows(tab, "step_num");
    const handle = [found.pid, found.tid, found.event].join(".");
    await h.until("the selection in the address", () => h.query(tab).get("selected") === handle);
    await h.screenshot(tab, `timeline-selection-${name}`);
    const again = await open(browser(), h.query(tab).toString());
    const restored = await h.until("the restored selection", async () => (await timeline(again)).selection[0]);
    assert.deepEqual([restored.pid, restored.tid, restored.event], [found.pid, found.tid, found.event]);
    h.assertClean(tab);
    h.assertClean(again);
    await tab.page.close();
    await again.page.close();
  });

  test("a match is in view below the pane that opens; a link selects the event of exactly its name, and folded sections open", async () => {
    const shown = (tab) =>
      tab.frame().evaluate(() => [window.__timeline.selection.map((event) => event.name), window.__timeline.selectionShown]);
    const tab = await h.openPage(browser(), at.demo, { query: LINK, height: 560 });
    await h.until("drawn boxes", async () => (await timeline(tab))?.boxesDrawn > 20);
    await enter(tab);
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("wrapped_scatter");
    await tab.page.keyboard.press("Enter");
    await h.until("the details", () => tab.frame().$(".tv-properties .tv-argument"));
    await h.until("a match in view", async () => (await shown(tab))[1] === 1);
    const height = () => tab.frame().$eval(".tv-pane", (pane) => pane.offsetHeight);
    await tab.frame().focus(".tv-pane-grip");
    const before = await height();
    await tab.page.keyboard.press("ArrowDown");
    await h.until("a lower pane", async () => (await height()) < before);
    const lower = await height();
    const collapsed = new URLSearchParams({ collapsed: "701", find: "wrapped_broadcast" });
    const linked = await h.openPage(browser(), at.demo, { query: `${LINK}&${collapsed}` });
    await h.until("the linked event", async () => (await timeline(linked)) && JSON.stringify(await shown(linked)) === '[["wrapped_broadcast"],1]');
    assert.equal(await linked.frame().$eval(".tv-pane", (pane) => pane.offsetHeight), lower);
    await linked.frame().evaluate(() => localStorage.removeItem("profile-timeline-pane"));
    h.assertClean(tab);
    h.assertClean(linked);
    await tab.page.close();
    await linked.page.close();
  });

  test("a click selects the box under it, Escape lets go", async () => {
    const tab = await open(browser());
    const stage = await tab.frame().$(".tl-data");
    const box = await stage.boundingBox();
    // Rows of a training loop are dense: some place along the first track holds an event.
    for (let x = 20; x < box.width && (await timeline(tab)).selection.length === 0; x += 40) {
      await tab.page.mouse.click(box.x + x, box.y + 30);
      await h.pause(60);
    }
    assert.equal((await timeline(tab)).selection.length, 1);
    await press(tab, "Escape", (_, now) => now.selection.length === 0);
    h.assertClean(tab);
    await tab.page.close();
  });
});
