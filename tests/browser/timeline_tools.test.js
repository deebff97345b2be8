// The timeline's tools, marked interval, selection and totals, collapsing, exports.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as h from "./harness.js";

const RUN = `jax_mlp/${readdirSync(path.join(h.DEMO, "jax_mlp", "plugins", "profile"))[0]}`;
const LINK = `run=${encodeURIComponent(RUN)}&tool=trace_viewer@`;

const at = await h.served({ demo: h.DEMO });

/** The timeline's test hook, see frontend/src/timeline/test_hook.ts. */
function hook(tab) {
  return tab.frame().evaluate(() => {
    const { boxesDrawn, boxesLoaded, tracks, lanes, window: span, full, selection, tool, interval, flows, loading } = window.__timeline;
    return { boxesDrawn, boxesLoaded, tracks, lanes, window: span, full, selection, tool, interval, flows, loading };
  });
}

async function open(browser, query = LINK) {
  const tab = await h.openPage(browser, at.demo, { query });
  await h.until("drawn boxes", async () => (await hook(tab)).boxesDrawn > 0);
  return tab;
}

/** Places the pointer over the stage, `x` and `y` as shares of its size, and returns where that is. */
async function point(tab, x, y) {
  const stage = await tab.frame().$(".tl-stage");
  const box = await stage.boundingBox();
  const at = { x: box.x + box.width * x, y: box.y + box.height * y };
  await tab.page.mouse.move(at.x, at.y);
  return at;
}

/** Presses a key with the stage focused; returns the state after `changed(before, now)` once the window is at rest. */
async function press(tab, key, changed) {
  const before = await hook(tab);
  await tab.frame().focus(".tl-stage");
  await tab.page.keyboard.press(key);
  let last = before;
  return h.until(`the effect of ${key}`, async () => {
    const was = last;
    await h.twoFrames(tab);
    last = await hook(tab);
    return changed(before, last) && String(was.window) === String(last.window) && last;
  });
}

const span = ({ window: [begin, end] }) => end - begin;

/** Selects the first match of a search; Enter may be pressed before the response arrives. */
async function search(tab, words) {
  await tab.frame().focus("#tv-search");
  await tab.page.keyboard.type(words);
  await tab.page.keyboard.press("Enter");
  await h.until("a selected match", async () => (await hook(tab)).selection.length === 1);
}

h.inEveryBrowser("timeline tools", ({ name, browser }) => {
  test("zooms, pans and shows the whole by keys and wheel", async () => {
    const tab = await open(browser());
    const whole = await hook(tab);
    await point(tab, 0.5, 0.5);
    const zoomed = await press(tab, "w", (before, now) => span(now) < span(before) * 0.7);
    const panned = await press(tab, "d", (before, now) => now.window[0] > before.window[0]);
    assert.ok(Math.abs(span(panned) - span(zoomed)) < span(zoomed) * 1e-6);
    await tab.page.keyboard.down("Control");
    await tab.page.mouse.wheel({ deltaY: -240 });
    await tab.page.keyboard.up("Control");
    await h.until("a closer look", async () => span(await hook(tab)) < span(panned) * 0.9);
    await press(tab, "0", (_, now) => Math.abs(span(now) - span(whole)) < 1);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the four tools answer to their keys; an interval stays marked", async () => {
    const tab = await open(browser());
    for (const [key, tool] of [["2", "pan"], ["3", "zoom"], ["4", "timing"]]) await press(tab, key, (_, now) => now.tool === tool);
    await point(tab, 0.3, 0.5);
    await tab.page.mouse.down();
    await point(tab, 0.6, 0.5);
    await tab.page.mouse.up();
    const { interval } = await hook(tab);
    assert.ok(interval[1] > interval[0]);
    assert.deepEqual((await press(tab, "1", (_, now) => now.tool === "select")).interval, interval);
    await h.screenshot(tab, `timeline-interval-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("arrows walk, a rectangle sums up, Escape clears", async () => {
    const tab = await open(browser());
    await search(tab, "PjitFunction");
    const { selection: [first] } = await hook(tab);
    await press(tab, "ArrowRight", (_, now) => now.selection[0]?.event !== first.event || now.selection[0]?.tid !== first.tid);
    await press(tab, "0", (_, now) => span(now) >= now.full[1] - now.full[0]);
    await point(tab, 0.05, 0.3);
    await tab.page.mouse.down();
    await point(tab, 0.9, 0.9);
    await tab.page.mouse.up();
    await h.until("many selected", async () => (await hook(tab)).selection.length > 10);
    await h.shows(tab, "Average");
    await h.screenshot(tab, `timeline-many-${name}`);
    await press(tab, "Escape", (_, now) => now.selection.length === 0);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("sections collapse by their name and by their triangle", async () => {
    const tab = await open(browser());
    const { lanes } = await hook(tab);
    await h.click(tab, ".tl-section .tl-name");
    await h.until("fewer lanes", async () => (await hook(tab)).lanes < lanes);
    await h.click(tab, ".tl-section .tl-name");
    await h.until("all lanes", async () => (await hook(tab)).lanes === lanes);
    await h.click(tab, ".tl-section button.tl-triangle");
    await h.until("fewer lanes again", async () => (await hook(tab)).lanes < lanes);
    await h.until("the section in the address", () => h.query(tab).get("collapsed"));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the longest gap is one key away, and the host call under it one click more", async () => {
    const slow = `train_slow_input/${readdirSync(path.join(h.DEMO, "train_slow_input", "plugins", "profile"))[0]}`;
    const tab = await open(browser(), `run=${encodeURIComponent(slow)}&tool=trace_viewer@`);
    assert.equal(await tab.frame().$(".tv-pane"), null);
    const found = await press(tab, "g", (_, now) => now.interval !== null);
    await h.shows(tab, "under train_images.py:36 decode");
    const [begin, end] = found.interval;
    assert.ok(begin > found.window[0] && end < found.window[1], "the gap is framed");
    await h.until("the gap in the address", () => /^CPU device 0:1$/.test(h.query(tab).get("gap") ?? ""));
    const shorter = await press(tab, "g", (before, now) => now.interval[0] !== before.interval[0]);
    assert.ok(shorter.interval[1] - shorter.interval[0] <= end - begin);
    await h.click(tab, ".tv-gaps tbody .tv-text button");
    const { selection } = await h.until("the host call", async () => {
      const now = await hook(tab);
      return now.selection.length === 1 && now;
    });
    assert.match(selection[0].name, /train_images\.py:36 decode/);
    await h.screenshot(tab, `timeline-gap-${name}`);
    await press(tab, "Escape", (_, now) => now.selection.length === 0);
    await h.until("the pane to close", async () => (await tab.frame().$(".tv-pane")) === null);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the binding path is shown by a key, gone along, and kept in the address; the details say the slack", async () => {
    const slow = `train_slow_input/${readdirSync(path.join(h.DEMO, "train_slow_input", "plugins", "profile"))[0]}`;
    const tab = await open(browser(), `run=${encodeURIComponent(slow)}&tool=trace_viewer@`);
    const onPath = () => tab.frame().evaluate(() => window.__timeline.path);
    await tab.frame().focus(".tl-stage");
    await tab.page.keyboard.press("b");
    const { device, pieces } = await h.until("the path", onPath);
    assert.ok(device === "CPU device 0" && pieces > 100, `${pieces} pieces of ${device}`);
    await h.shows(tab, /Waits for input [\d.]+ ms \([34]\d\.\d%\)/);
    await h.until("the path in the address", () => h.query(tab).get("path") === "1");
    await h.screenshot(tab, `timeline-path-${name}`);
    await tab.page.keyboard.press("n");
    const { selection } = await h.until("the longest piece", async () => {
      const now = await hook(tab);
      return now.selection.length === 1 && now;
    });
    assert.match(selection[0].name, /fusion/);
    await h.shows(tab, "0. It is on the binding path: if it takes longer, so does the step.");
    await tab.frame().focus(".tl-stage");
    await tab.page.keyboard.press("]");
    await h.shows(tab, "Gaps between ops, 2.694 us, no event");
    await tab.frame().focus(".tl-stage");
    await tab.page.keyboard.press("b");
    await h.until("the path to go", async () => (await onPath()) === null && !h.query(tab).has("path"));
    h.assertClean(tab);
    await tab.page.close();
  });

  test("rows stay visible in a low window, as at 200 % zoom", async () => {
    const tab = await open(browser());
    await tab.page.setViewport({ width: 720, height: 450 });
    await h.until("rows below the ruler", async () => {
      const rows = await tab.frame().$eval(".tl-data", (canvas) => canvas.clientHeight);
      return rows > 100;
    });
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the visible window is saved for Perfetto", { skip: name === "firefox" && "downloads need another protocol there" }, async () => {
    const { directory, remove } = h.temporaryDirectory();
    const tab = await open(browser());
    const session = await tab.page.createCDPSession();
    const browserContextId = tab.page.browserContext().id;
    await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: directory, browserContextId });
    await h.click(tab, ".tv-toolbar .popover:last-of-type button");
    const items = await h.until("the menu", async () => {
      const list = await tab.frame().$$('.tv-menu [role="menuitem"]');
      return list.length > 2 && list;
    });
    for (const item of items) {
      if (/Perfetto/.test(await item.evaluate((e) => e.textContent))) await item.click();
    }
    const file = await h.until("the file", () => readdirSync(directory).find((f) => f.endsWith(".pftrace")));
    const bytes = readFileSync(path.join(directory, file));
    assert.equal(bytes[0], 0x0a, "a Trace begins with its first packet");
    assert.ok(bytes.length > 10_000 && bytes.includes("Host Threads"));
    remove();
    h.assertClean(tab);
    await tab.page.close();
  });
});
