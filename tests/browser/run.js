// Runs the browser tests: files in Chromium and Firefox side by side, with servers and browsers that all of them share.
//   node run.js [FILE...]
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { Keeper, listen } from "./shared.js";

/** Files that are about no browser, or whose result does not depend on it: they run once. */
const ONCE = ["accessibility.test.js", "one_story.test.js", "statements.test.js", "xprof_pages.test.js"];

const keeper = new Keeper();
const address = await listen(keeper);
const running = new Set();

/** Runs files in one browser; returns the exit status. The report comes in one piece, so that those of two do not mix. */
function run(browser, files) {
  const given = ["--test", "--test-concurrency=1", "--test-timeout=1200000", ...files];
  const env = { ...process.env, BROWSER_TEST_KEEPER: address, BROWSER_TEST_ONLY: browser };
  const tests = spawn(process.execPath, given, { cwd: import.meta.dirname, env, stdio: ["ignore", "pipe", "inherit"] });
  running.add(tests);
  const report = [];
  tests.stdout.on("data", (bytes) => report.push(bytes));
  return new Promise((resolve) => {
    tests.on("close", (status) => {
      process.stdout.write(Buffer.concat(report));
      resolve(status ?? 1);
    });
  });
}

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => running.forEach((tests) => tests.kill(signal)));

const asked = process.argv.slice(2);
const files = asked.length > 0 ? asked : readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.js"));
const both = files.filter((name) => !ONCE.includes(name));
const lanes = [["chromium", files], ["firefox", both]].filter(([, some]) => some.length > 0);
const statuses = await Promise.all(lanes.map(([browser, some]) => run(browser, some)));
await keeper.stop();
process.exitCode = Math.max(...statuses);
