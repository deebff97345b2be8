// The CAPTURE PROFILE dialog against a fake profiler server: from the typed address to the overview of the new run.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fill, openDialog, press } from "./capture_dialog.js";
import * as h from "./harness.js";

const SESSION = path.join(h.DEMO, "jax_mlp", "plugins", "profile");

/** A fake profiler server in a separate process, which returns a profile of the demo. */
async function fakeProfiler(behaviour = "ok", environment = {}) {
  const [session] = readdirSync(SESSION);
  const file = readdirSync(path.join(SESSION, session)).find((name) => name.endsWith(".xplane.pb"));
  const command = ["-m", "builders.servers.fake_profiler", "--profile", path.join(SESSION, session, file), behaviour];
  const env = { ...process.env, ...environment };
  const server = spawn(h.PYTHON, command, { cwd: path.join(h.ROOT, "tests"), env, stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise((resolve) => createInterface(server.stdout).once("line", resolve));
  return { address: JSON.parse(line).address, stop: () => server.kill("SIGKILL") };
}

let logdir;
let server;
let one;
let gate;
let gated;
let busy;
before(async () => {
  logdir = h.temporaryDirectory();
  gate = h.makeGate();
  const waiting = () => fakeProfiler("gated", gate.environment);
  [server, one, busy, ...gated] = await Promise.all([h.startTensorBoard(logdir.directory), fakeProfiler(), fakeProfiler("busy"), waiting(), waiting()]);
});
after(async () => {
  await server?.stop();
  for (const fake of [one, busy, ...(gated ?? [])]) fake?.stop();
  gate?.remove();
  logdir?.remove();
});

h.inEveryBrowser("capture dialog", ({ name, browser }) => {
  test("captures from two workers at once and opens the overview of the new run", async () => {
    const tab = await openDialog(await h.openProfile(browser(), server));
    await h.screenshot(tab, `capture-form-${name}`);
    gate.shut(); // they record until it opens
    await fill(tab, "service", gated.map((worker) => worker.address).join(", "));
    await fill(tab, "duration", "60000");
    await press(tab, "CAPTURE");
    await h.shows(tab, "Recording");
    await h.screenshot(tab, `capture-progress-${name}`);
    gate.open();
    await h.until("the new run in the address", () => h.query(tab).get("run"));
    assert.equal(h.query(tab).get("tool"), "overview_page");
    await h.until("the dialog to close", async () => !(await tab.frame().$("dialog")));
    const run = h.query(tab).get("run");
    assert.equal(readdirSync(path.join(logdir.directory, "plugins/profile", run)).length, 2);
    await h.screenshot(tab, `capture-opened-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });

  test("says what is wrong with an address before anything is sent, and what a probe finds", async () => {
    const tab = await openDialog(await h.openPage(browser(), server));
    await fill(tab, "service", "localhost");
    await h.shows(tab, "the port is missing");
    await fill(tab, "service", one.address);
    await press(tab, "Probe");
    await h.shows(tab, "✓ is a profiler");
    await fill(tab, "service", "127.0.0.1:1");
    await press(tab, "Probe");
    await h.shows(tab, "✗ port is open");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("a busy program is named as such; a capture can be cancelled", async () => {
    const tab = await openDialog(await h.openPage(browser(), server));
    await fill(tab, "service", busy.address);
    await tab.frame().evaluate(() => document.querySelector(".capture-advanced").setAttribute("open", ""));
    await fill(tab, "retries", "0");
    await press(tab, "CAPTURE");
    await h.shows(tab, "Another profiling session is active");
    await h.screenshot(tab, `capture-busy-${name}`);
    await press(tab, "Back");
    await fill(tab, "service", one.address);
    await fill(tab, "duration", "60000");
    await press(tab, "CAPTURE");
    await h.shows(tab, "Recording");
    await press(tab, "Cancel the capture");
    await h.shows(tab, "Cancelled: nothing was stored.");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("continuous profiling: start, a snapshot that opens, stop", async () => {
    const tab = await openDialog(await h.openPage(browser(), server));
    await fill(tab, "service", one.address);
    const open = () => tab.frame().evaluate(() => [...document.querySelectorAll(".capture-advanced")].find((part) => part.textContent.startsWith("Continuous")).setAttribute("open", ""));
    await open();
    await press(tab, "Start recording");
    await h.shows(tab, "✓ recording");
    await h.screenshot(tab, `capture-continuous-${name}`);
    await press(tab, "Start recording");
    await h.shows(tab, "Take a snapshot, or stop it first.");
    const cut = await tab.frame().evaluate(() => [...document.querySelectorAll("dialog, .capture-probe")].some((part) => part.scrollWidth > part.clientWidth));
    assert.equal(cut, false, "the reason is cut off");
    const before = h.query(tab).get("run");
    await press(tab, "Take a snapshot");
    await h.until("the snapshot in the address", () => h.query(tab).get("run") !== before && h.query(tab).get("run"));
    await h.until("the dialog closed", () => tab.frame().evaluate(() => document.querySelector("dialog[open]") === null));
    await h.click(tab, "button.capture");
    await fill(tab, "service", one.address);
    await open();
    await press(tab, "Stop recording");
    await h.shows(tab, "✓ stopped");
    h.assertClean(tab);
    await tab.page.close();
  });

  test("an address elsewhere is refused with the way to allow it", async () => {
    const tab = await openDialog(await h.openPage(browser(), server));
    await fill(tab, "service", "10.1.2.3:9012");
    await press(tab, "CAPTURE");
    await h.shows(tab, "--profile_capture_hosts");
    h.assertClean(tab, { expected: /^403 / });
    await tab.page.close();
  });
});
