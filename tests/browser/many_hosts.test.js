// A run of 151 hosts, one of them truncated: the page shows progress, and then which host is missing.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import * as h from "./harness.js";

const HOSTS = 151;
const nameOf = (i) => `w-${String(i).padStart(3, "0")}`;

let logdir;
let gate;
let server;
before(async () => {
  logdir = h.temporaryDirectory();
  const sessions = path.join(h.DEMO, "jax_scan", "plugins", "profile");
  const sound = readFileSync(path.join(sessions, readdirSync(sessions)[0], "demo-host.xplane.pb"));
  for (const { name: browser } of h.BROWSERS) {
    const session = path.join(logdir.directory, browser, "plugins", "profile", "s");
    mkdirSync(session, { recursive: true });
    for (let i = 0; i < HOSTS; i++) {
      writeFileSync(path.join(session, `${nameOf(i)}.xplane.pb`), i === 77 ? sound.subarray(0, sound.length / 2) : sound);
    }
  }
  gate = h.makeGate(`${nameOf(100)}.xplane.pb`);
  server = await h.startTensorBoard(logdir.directory, { environment: gate.environment });
});
after(async () => {
  gate?.open();
  await server?.stop();
  gate?.remove();
  logdir?.remove();
});

h.inEveryBrowser("many hosts", ({ name, browser }) => {
  test("progress, then the banner about the missing host", async () => {
    // A run of its own for each browser: what the first has asked for is there at once. What the run holds is asked
    // for before the gate is shut, as that opens every file too; the overview then waits for one host.
    const info = await fetch(`${server.url}data/plugin/profile/run_info?run=${name}/s`);
    assert.equal((await info.json()).hosts.length, HOSTS);
    gate.shut();
    const tab = await h.openPage(browser(), server, { query: `run=${name}/s&tool=overview_page` });
    await h.shows(tab, `Computing the overview of ${HOSTS} hosts: ${HOSTS - 1} of ${HOSTS} hosts read, waiting for w-100…`);
    await h.screenshot(tab, `progress-${name}`);
    gate.open();
    await h.shows(tab, `This page lacks host w-077 of ${HOSTS} hosts`);
    const seen = await h.shows(tab, "Performance summary");
    assert.match(seen, /w-077\.xplane\.pb: /);
    assert.doesNotMatch(seen, /Host w-077 is left out/, "said twice");
    assert.doesNotMatch(seen, new RegExp(logdir.directory), "a path of the server is shown");
    await h.screenshot(tab, `left-out-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("the host picker finds one of them, and its page has no banner", async () => {
    const tab = await h.openPage(browser(), server, { query: `run=${name}/s&tool=overview_page&host=w-150` });
    await h.shows(tab, "Performance summary");
    assert.equal(await tab.frame().$("[data-left-out]"), null);
    await h.click(tab, ".rail-host .picker.small");
    await h.until("all hosts in the list", async () => (await tab.frame().$$('.hosts input[type="radio"]')).length === HOSTS + 1);
    const search = await tab.frame().waitForSelector('.hosts input[type="search"]');
    await search.type("w-14");
    await h.until("ten of them", async () => (await tab.frame().$$('.hosts input[type="radio"]')).length === 10);
    h.assertClean(tab);
    await tab.page.close();
  });
});
