// Runs the browser tests, two files side by side, with servers and browsers that they share: those of a push in Chromium; with
// TEST_ALL=1, as at night, all, and those whose result depends on the browser in Firefox, too.
//   node run.js [FILE...]
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { ALL } from "./browsers.js";
import { Keeper, listen } from "./shared.js";

/** Files that are about no browser, or whose result does not depend on it: they run once. */
const ONCE = ["notebook.test.js", "one_story.test.js", "accessibility.test.js", "statements.test.js", "words.test.js", "xprof_pages.test.js"];
/** Files for the night: what they look at is opened by others on a push, which see whether it works. */
const NIGHT = ["offline.test.js", "statements.test.js", "words.test.js", "xprof_pages.test.js"];
/** Files that need an environment of scripts/setup_frameworks: they run if they are named. */
const FRAMEWORKS = ["capture_jax.test.js", "notebook.test.js"];
/** What takes longest begins first. */
const LONGEST = ["one_story.test.js", "accessibility.test.js", "shell.test.js", "report.test.js", "pages.test.js", "places.test.js"];

const keeper = new Keeper();
const address = await listen(keeper);
const running = new Set();

/** Runs a file in one browser; returns the exit status. The report comes in one piece, so that those of two do not mix. */
function run(lane, browser, file) {
  const given = ["--test", "--test-timeout=1200000", file];
  const env = { ...process.env, BROWSER_TEST_KEEPER: address, BROWSER_TEST_ONLY: browser, BROWSER_TEST_LANE: lane };
  const tests = spawn(process.execPath, given, { cwd: import.meta.dirname, env, stdio: ["ignore", "pipe", "inherit"] });
  running.add(tests);
  const report = [];
  tests.stdout.on("data", (bytes) => report.push(bytes));
  return new Promise((resolve) => {
    tests.on("close", (status) => {
      running.delete(tests);
      process.stdout.write(Buffer.concat(report));
      resolve(status ?? 1);
    });
  });
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    waiting.length = 0;
    running.forEach((tests) => tests.kill(signal));
  });
}

const asked = process.argv.slice(2);
const left = [...FRAMEWORKS, ...(ALL ? [] : NIGHT)];
const files = asked.length > 0 ? asked : readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.js") && !left.includes(name));
const rank = (name) => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length);
files.sort((a, b) => rank(a) - rank(b));
const second = ALL ? files.filter((name) => !ONCE.includes(name)) : [];
const waiting = [...files.map((file) => ["chromium", file]), ...second.map((file) => ["firefox", file])];

/** Runs the next file until there is none; returns the worst exit status. */
async function lane(name) {
  let worst = 0;
  for (let next = waiting.shift(); next; next = waiting.shift()) worst = Math.max(worst, await run(name, ...next));
  return worst;
}

const statuses = await Promise.all(["a", "b"].map(lane));
await keeper.stop();
process.exitCode = Math.max(...statuses);
