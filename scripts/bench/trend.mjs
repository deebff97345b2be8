#!/usr/bin/env node
// Times the page Trend in Chromium over many runs that are summarised, from the click until it is complete.
//
//     node scripts/bench/trend.mjs [RUNS]          (default: 1000)
//
// First: of a server that has not told the trend yet, after its overview. Memory is what the page's process and the server
// hold at the end.
import { readFileSync } from "node:fs";
import path from "node:path";
import "./ready.mjs";

const h = await import("../../tests/browser/harness.js");

const RUNS = Number(process.argv[2] ?? 1000);
const REST_MS = 500;
const at = h.temporaryDirectory("profile-bench-");
const environment = { XDG_CACHE_HOME: path.join(at.directory, "cache") };
const logdir = path.join(at.directory, "logs");

/** Clicks on a tool; milliseconds until the page no longer changes, and those of the longest request. */
const timed = (tab, tool) =>
  tab.frame().evaluate(
    async (tool, rest) => {
      let last = performance.now();
      const watcher = new MutationObserver(() => (last = performance.now()));
      watcher.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      performance.clearResourceTimings();
      const begin = performance.now();
      document.querySelector(`[data-tool="${tool}"]`).click();
      const busy = () => document.querySelector('main [aria-busy="true"], .loading, .trend-reading') !== null;
      while (busy() || performance.now() - last < rest) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        if (busy()) last = performance.now();
      }
      watcher.disconnect();
      const requests = performance.getEntriesByType("resource").map((one) => one.responseEnd - one.requestStart);
      return { ms: last - begin, server: Math.max(0, ...requests) };
    },
    tool,
    REST_MS,
  );

/** CPU seconds and MiB of a process. */
function used(pid) {
  const ticks = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return { cpu: (Number(ticks[11]) + Number(ticks[12])) / 100, mib: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024 };
}

try {
  h.build("many_runs", logdir, [String(RUNS)], environment);
  const server = await h.startTensorBoard(logdir, { environment });
  const browser = await h.launch(h.BROWSERS[0]);
  const tab = await h.openPage(browser, server, { query: "tool=overview_page", width: 1440, height: 900 });
  await h.atRest(tab);
  const session = await tab.page.createCDPSession();
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async () =>
    Object.fromEntries((await session.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  for (const word of ["first", "again"]) {
    const [before, of] = [await metrics(), used(server.pid)];
    const { ms, server: request } = await timed(tab, "trend");
    const [after, since] = [await metrics(), used(server.pid)];
    const cpu = (after.TaskDuration - before.TaskDuration).toFixed(2);
    const heap = (after.JSHeapUsedSize / 2 ** 20).toFixed(0);
    console.log(
      `${word}: ${ms.toFixed(0)} ms, of these ${request.toFixed(0)} ms the longest request; page ${cpu} CPU s, heap ${heap} MiB; ` +
        `server ${(since.cpu - of.cpu).toFixed(2)} CPU s, ${since.mib.toFixed(0)} MiB`,
    );
    const drawn = await tab.frame().evaluate(() => document.querySelector("[data-drawn]").dataset.drawn);
    if (Number(drawn) < Math.min(RUNS, 200)) throw new Error(`drawn: ${drawn} runs`);
    await timed(tab, "overview_page");
  }
  h.assertClean(tab);
  await browser.close();
  await server.stop();
} finally {
  at.remove();
}
