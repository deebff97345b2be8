// The CAPTURE PROFILE dialog with a JAX program; needs the environment that scripts/setup_frameworks makes.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fill, openDialog, press } from "./capture_dialog.js";
import * as h from "./harness.js";

const ENVS = process.env.PROFILE_TEST_ENVS ?? path.join(homedir(), ".cache/tpu-profile-tests");
const JAX = process.env.PROFILE_JAX_PYTHON ?? path.join(ENVS, "jax", "bin", "python");

/** A JAX program with a profiler server, as in tests/builders/servers/frameworks.py. */
async function jaxProgram() {
  const port = await h.freePort();
  const text = `import sys; sys.path.insert(0, "${path.join(h.ROOT, "tests")}"); from builders.servers import frameworks; print(frameworks.JAX_SERVER.format(port=${port}))`;
  const program = execFileSync(h.PYTHON, ["-c", text], { encoding: "utf8" });
  const server = spawn(JAX, ["-c", program], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, JAX_PLATFORMS: "cpu" } });
  await new Promise((resolve) => createInterface(server.stdout).once("line", resolve));
  return { address: `localhost:${port}`, stop: () => server.kill("SIGKILL") };
}

let logdir;
let server;
before(async () => {
  logdir = h.temporaryDirectory();
  server = await h.startTensorBoard(logdir.directory);
});
after(async () => {
  await server?.stop();
  logdir?.remove();
});

h.inEveryBrowser("capture dialog", ({ name, browser }) => {
  test("captures from a JAX program", { skip: existsSync(JAX) ? false : "no environment with JAX: run scripts/setup_frameworks" }, async (t) => {
    const jax = await jaxProgram();
    t.after(jax.stop);
    const tab = await openDialog(await h.openProfile(browser(), server));
    const before = h.query(tab).get("run");
    await fill(tab, "service", jax.address);
    await press(tab, "CAPTURE");
    await h.until("the new run in the address", () => h.query(tab).get("run") !== before && h.query(tab).get("run"), 90_000);
    assert.equal(h.query(tab).get("tool"), "overview_page");
    await h.screenshot(tab, `capture-jax-${name}`);
    h.assertClean(tab);
    await tab.page.close();
  });
});
