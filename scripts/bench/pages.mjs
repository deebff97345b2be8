#!/usr/bin/env node
// Times every tool's page in Chromium on the default large profile, from the click until the page is stable.
//
//     node scripts/bench/pages.mjs [--trials N] [--tools a,b]
//
// Cold: a new TensorBoard without a cache and a new browser, after opening a page that reads no events.
// Warm: the same tool is opened again after another one. A page is complete at its last change (in the document, a chart,
// the timeline's canvas) or the end of its last request, whichever is later, once both have been idle for half a second.
// CPU times are those of a cold page until it has been idle: of the page's thread, and of the server (all threads). They hold
// on a busy machine.
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import "./ready.mjs";

const h = await import("../../tests/browser/harness.js");

const option = (name, otherwise) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : otherwise);
const TRIALS = Number(option("--trials", 3));
const TOOLS = option("--tools", null)?.split(",");
const REST_MS = 500;
const [START, OTHER] = ["graph_viewer", "query"]; // neither reads events

function logdir() {
  const at = h.temporaryDirectory("profile-bench-");
  const code = "import runpy,sys;print(runpy.run_path(sys.argv[1],run_name='bench')['big_profile']())";
  const big = execFileSync(path.join(h.ROOT, ".venv/bin/python"), ["-c", code, path.join(h.ROOT, "scripts/bench/decode")], { encoding: "utf8" }).trim();
  const session = path.join(at.directory, "large", "plugins", "profile", "1");
  mkdirSync(session, { recursive: true });
  const file = path.join(session, "host.xplane.pb");
  try {
    linkSync(big, file);
  } catch {
    symlinkSync(big, file);
  }
  return at;
}

/** Clicks on a tool and returns the milliseconds until its page is complete, by the page's clock. */
function timed(tab, tool) {
  return tab.frame().evaluate(
    async (tool, rest) => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      let last = performance.now();
      const touch = () => (last = performance.now());
      const watcher = new MutationObserver(touch);
      watcher.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      performance.clearResourceTimings();
      let boxes = -1;
      const begin = performance.now();
      document.querySelector(`[data-tool="${tool}"]`).click();
      const busy = () => document.querySelector('main [aria-busy="true"], .loading') !== null;
      for (const deadline = begin + 60_000; performance.now() < deadline; ) {
        await frame();
        const drawn = window.__timeline?.boxesDrawn ?? 0;
        if (drawn !== boxes) {
          boxes = drawn;
          touch();
        }
        if (busy() || document.querySelector(`[data-tool="${tool}"]`).getAttribute("aria-current") !== "page") touch();
        for (const entry of performance.getEntriesByType("resource")) last = Math.max(last, entry.responseEnd);
        if (performance.now() - last > rest) break;
      }
      watcher.disconnect();
      const requests = performance.getEntriesByType("resource").filter((entry) => /\/page\?/.test(entry.name));
      const failed = document.querySelector(".error-card, .page-error")?.textContent ?? "";
      return { ms: last - begin, server: Math.max(0, ...requests.map((entry) => entry.responseEnd - entry.requestStart)), failed };
    },
    tool,
    REST_MS,
  );
}

/** CPU milliseconds of the server, in steps of ten. */
function serverCpu(pid) {
  const ticks = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(ticks[11]) + Number(ticks[12])) * 10;
}

/** CPU milliseconds of the page's thread. */
async function pageCpu(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
}

async function open(at, start) {
  const server = await h.startTensorBoard(at.directory);
  const browser = await h.launch(h.BROWSERS[0]);
  const stop = async () => {
    await browser.close();
    await server.stop();
  };
  const tab = await h.openProfile(browser, server, { query: `run=large/1&tool=${start}`, width: 1440, height: 900 });
  await h.until("the tools", () => tab.frame().evaluate((tool) => document.querySelector(`[data-tool="${tool}"]`) !== null, start));
  await timed(tab, start);
  const session = await tab.page.createCDPSession();
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpu = async () => ({ page: await pageCpu(session), server: serverCpu(server.pid) });
  return { tab, stop, cpu };
}

/** Bytes of scripts and styles that the first page loads, compressed like the server's static files. */
async function bundle(at) {
  const { tab, stop } = await open(at, "overview_page");
  const urls = [...new Set(tab.found.requests)].filter((url) => /plugin\/profile\/(static\/|index\.(html|js))/.test(url));
  const sizes = await Promise.all(urls.map(async (url) => gzipSync(Buffer.from(await (await fetch(url)).arrayBuffer())).length));
  await stop();
  return { files: urls.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const at = logdir();
try {
  const first = await open(at, START);
  const offered = await first.tab.frame().evaluate(() => [...document.querySelectorAll("[data-tool]:not(.off)")].map((button) => button.dataset.tool));
  await first.stop();
  const loaded = await bundle(at);
  console.log(`the overview, opened first, loads ${loaded.files} files, ${(loaded.bytes / 1e3).toFixed(0)} KB compressed\n`);
  console.log("| tool | cold ms | longest request ms | server CPU ms | page CPU ms | warm ms |\n|---|--:|--:|--:|--:|--:|");
  for (const tool of TOOLS ?? offered) {
    const [cold, request, serverUsed, pageUsed, warm] = [[], [], [], [], []];
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const start = tool === START ? OTHER : START;
      const { tab, stop, cpu } = await open(at, start);
      try {
        const before = await cpu();
        const found = await timed(tab, tool);
        if (found.failed) throw new Error(`${tool}: ${found.failed}`);
        const after = await cpu();
        serverUsed.push(after.server - before.server);
        pageUsed.push(after.page - before.page);
        cold.push(found.ms);
        request.push(found.server);
        for (let again = 0; again < 3; again += 1) {
          await timed(tab, start);
          warm.push((await timed(tab, tool)).ms);
        }
      } finally {
        await stop();
      }
    }
    const figures = [cold, request, serverUsed, pageUsed, warm].map((values) => median(values).toFixed(0));
    console.log(`| ${tool} | ${figures.join(" | ")} |`);
  }
} finally {
  at.remove();
}
