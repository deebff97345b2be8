// Opens every page of one run in one browser without a network: `unshare -n node offline.js chromium RUN`.
// Prints one line of JSON. offline.test.js starts it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { networkInterfaces } from "node:os";
import path from "node:path";
import * as h from "./harness.js";

/** The loopback interface is down in a new network namespace; `ip` is not everywhere, Python is. */
const LOOPBACK_UP = `
import fcntl, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))`;

/** Waits until the page of the tool is complete; returns its text. */
async function complete(tab, tool) {
  await h.until(`${tool} to be current`, () => tab.frame().$(`[data-tool="${tool}"][aria-current="page"]`), 30_000);
  return h.atRest(tab);
}

const [kind, run] = process.argv.slice(2);
execFileSync("python3", ["-c", LOOPBACK_UP]);
assert.deepEqual(Object.keys(networkInterfaces()), ["lo"], "this is not a world without a network");
const [session] = readdirSync(path.join(h.DEMO, run, "plugins", "profile"));
const server = await h.startTensorBoard(h.DEMO);
const browser = await h.launch(h.BROWSERS.find(({ name }) => name === kind));
try {
  const name = encodeURIComponent(`${run}/${session}`);
  const info = await (await fetch(`${server.url}data/plugin/profile/run_info?run=${name}`)).json();
  const tools = info.tools.filter(({ available }) => available).map(({ id }) => id);
  const tab = await h.openProfile(browser, server, { query: `run=${name}&tool=${tools[0]}` });
  const pages = {};
  for (const tool of tools) {
    await h.click(tab, `[data-tool="${tool}"]`);
    pages[tool] = (await complete(tab, tool)).length;
  }
  h.assertClean(tab);
  console.log(JSON.stringify({ pages }));
} finally {
  await browser.close();
  await server.stop();
}
