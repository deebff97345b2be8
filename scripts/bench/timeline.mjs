#!/usr/bin/env node
// Times the timeline in a browser: first picture after a click, frames while it moves, a search.
//
//     node scripts/bench/timeline.mjs [PROFILE.xplane.pb] [--events N] [--browser firefox] [--trials N] [--rounds N]
//         [--search TEXT]
//
// The profile is the default large one, PROFILE, or one of N made-up events (tests/builders/profiles/many_events.py).
// A cold trial starts a new TensorBoard without a cache, opens a small session and then clicks on the large one.
// Frame times are the browser's own (requestAnimationFrame), of the best of several rounds; a long task is one over 50 ms
// (Chromium only). "work" is what the timeline itself computes per frame: it holds on a busy machine, where frames are late
// because the browser does not get to run.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import "./ready.mjs";

const h = await import("../../tests/browser/harness.js");
const f = await import("./frames.mjs");

const option = (name, otherwise) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : otherwise);
const TRIALS = Number(option("--trials", 3));
const ROUNDS = Number(option("--rounds", 3));
const EVENTS = Number(option("--events", 0));
const BROWSER = h.BROWSERS.find(({ name }) => name === option("--browser", "chromium"));
const PROFILE = process.argv[2]?.startsWith("--") ? undefined : process.argv[2];

/** Writes the large profile, or links to it. */
function putProfile(file) {
  const python = path.join(h.ROOT, ".venv/bin/python");
  if (EVENTS > 0) {
    const environment = { ...process.env, PYTHONPATH: path.join(h.ROOT, "tests") };
    execFileSync(python, ["-m", "builders.profiles.many_events", file, String(EVENTS)], { env: environment });
    return;
  }
  const code = "import runpy,sys;print(runpy.run_path(sys.argv[1],run_name='bench')['big_profile']())";
  const big = PROFILE ?? execFileSync(python, ["-c", code, path.join(h.ROOT, "scripts/bench/decode")], { encoding: "utf8" }).trim();
  symlinkSync(path.resolve(big), file);
}

function logdir() {
  const at = h.temporaryDirectory("profile-bench-");
  const session = path.join(at.directory, "large", "plugins", "profile", "1");
  mkdirSync(session, { recursive: true });
  putProfile(path.join(session, "host.xplane.pb"));
  const small = path.join(at.directory, "small", "plugins", "profile");
  mkdirSync(small, { recursive: true });
  const demo = path.join(h.DEMO, "jax_mlp", "plugins", "profile");
  cpSync(path.join(demo, readdirSync(demo)[0]), path.join(small, "1"), { recursive: true });
  return at;
}

const shown = (tab, atLeast) =>
  tab.frame().evaluate((tracks) => (window.__timeline?.tracks ?? 0) >= tracks && window.__timeline.boxesDrawn > 0, atLeast);

/** Milliseconds from the click on the session to the first drawn boxes, by the page's clock. */
async function firstPicture(tab) {
  await h.until("the small timeline", () => shown(tab, 1));
  return tab.frame().evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const small = window.__timeline;
    document.querySelector("button.picker[aria-haspopup=listbox]").click();
    let option;
    while (!(option = [...document.querySelectorAll('[role="option"]')].find((o) => o.textContent.includes("large")))) await frame();
    const begin = performance.now();
    option.click();
    // the small session's timeline is replaced by another one
    while (!(window.__timeline && window.__timeline !== small && window.__timeline.boxesDrawn > 0)) await frame();
    await frame();
    return performance.now() - begin;
  });
}

/** Milliseconds from a query to the marked matches, and their number. Throws if no answer comes. */
function search(tab, text) {
  return tab.frame().evaluate(async (text) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const box = document.querySelector("#tv-search");
    box.focus();
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(box, text);
    const begin = performance.now();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    const answer = () => /Matches \(([^)]+)\)/.exec(document.body.textContent);
    while (!answer() && performance.now() - begin < 30_000) await frame();
    const ms = performance.now() - begin;
    if (!answer()) throw new Error(`no answer to the search for ${text}`);
    return `${ms.toFixed(0)} (${answer()[1]} matches of ${text})`;
  }, text);
}

const at = logdir();
try {
  const cold = [];
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const server = await h.startTensorBoard(at.directory);
    const browser = await h.launch(BROWSER);
    try {
      const tab = await h.openProfile(browser, server, { query: "run=small/1&tool=trace_viewer@" });
      await h.click(tab, "body");
      cold.push(await firstPicture(tab));
      if (trial < TRIALS - 1) continue;
      console.log(`first picture after the click, cold, ms: ${cold.map((ms) => ms.toFixed(0)).join(", ")}`);
      await h.pause(1500);
      await f.reportMoves(tab, ROUNDS);
      console.log(`search, ms: ${await search(tab, option("--search", "fusion.7"))}`);
    } finally {
      await browser.close();
      await server.stop();
    }
  }
} finally {
  at.remove();
}
