#!/usr/bin/env node
// Times the widget in JupyterLab: from the end of a recorded cell to what limits it, and frames of a timeline that moves.
//
//     node scripts/bench/notebook.mjs [--trials N] [--rounds N] [--events N]
//
// The cell is `%%profile` around a small JAX program, in a kernel that has just been started. Its code ends when its last line
// has run; the profiler stops after that. The timeline has N made-up events (tests/builders/profiles/many_events.py).
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import "./ready.mjs";

const h = await import("../../tests/browser/harness.js");
const n = await import("../../tests/browser/notebooks.js");
const f = await import("./frames.mjs");

const option = (name, otherwise) => Number(process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : otherwise);
const TRIALS = option("--trials", 5);
const EVENTS = option("--events", 2_500_000);

const PROGRAM = `import time
import jax, jax.numpy as jnp, numpy as np
%load_ext tpu_profile_plugin
import tpu_profile_plugin as tp
def batch(number):
    rows = np.random.default_rng(number).random((256, 512), np.float32)
    for row in range(1, 256):
        rows[row] = (rows[row - 1] + rows[row]) / 2
    return rows
@jax.jit
def train_step(weights, rows):
    return weights - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(rows @ w) ** 2))(weights)
weights = train_step(jnp.zeros((512, 64)), batch(0)).block_until_ready()`;
const RECORDED = `%%profile
for number in tp.steps(range(12)):
    weights = train_step(weights, batch(number)).block_until_ready()
code_ended = time.time()`;
/** What the program's last line and JAX's profiler need: the rest is ours. */
const STOPPED = `import tpu_profile_plugin.recording.profilers as p
for kind in p.PROFILERS:
    def timed(self, *given, end=kind.end):
        began = time.time()
        try:
            return end(self, *given)
        finally:
            global profiler_took
            profiler_took = time.time() - began
    kind.end = timed`;

/** Waits, in the page, for the first finding in the cell and in its widget; returns both times since 1970, in ms. */
const watch = (page) =>
  page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const seen = { cell: null, widget: null };
    const outputs = () => [...document.querySelectorAll(".jp-OutputArea-output")].map((one) => one.innerText).join(" ");
    const widget = () => document.querySelector("iframe[data-profile-widget]")?.contentDocument?.querySelector("main")?.innerText ?? "";
    for (const deadline = performance.now() + 60_000; performance.now() < deadline && !(seen.cell && seen.widget); ) {
      await frame();
      if (!seen.cell && /% of the step/.test(outputs())) seen.cell = Date.now();
      if (!seen.widget && /% of the step/.test(widget())) seen.widget = Date.now();
    }
    return seen;
  });

const seconds = (values) => values.map((one) => one.toFixed(2)).join(", ");

const work = h.temporaryDirectory("profile-bench-");
const session = path.join(work.directory, "large", "plugins", "profile", "1");
mkdirSync(session, { recursive: true });
const environment = { ...process.env, PYTHONPATH: path.join(h.ROOT, "tests") };
const file = path.join(session, "host.xplane.pb");
execFileSync(path.join(h.ROOT, ".venv/bin/python"), ["-m", "builders.profiles.many_events", file, String(EVENTS)], { env: environment });
n.writeNotebook(path.join(work.directory, "first.ipynb"), [PROGRAM, STOPPED, RECORDED]);
const LARGE = `import tpu_profile_plugin as tp\ntp.open(${JSON.stringify(path.dirname(path.dirname(path.dirname(session))))}).run().show("trace_viewer@")`;
n.writeNotebook(path.join(work.directory, "large.ipynb"), [LARGE]);

const server = await n.startJupyter(work.directory);
const browser = await h.launch(h.BROWSERS.find(({ name }) => name === "chromium"));
try {
  const times = { cell: [], widget: [], profiler: [] };
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const lab = await n.openLab(browser, server, "first.ipynb");
    await lab.restart();
    await lab.runCell(0);
    await lab.runCell(1);
    const seen = watch(lab.page);
    await lab.runCell(2);
    const { cell, widget } = await seen;
    const [ended, profiler] = (await lab.python("print(code_ended, profiler_took)")).trim().split(" ").map(Number);
    times.cell.push(cell / 1000 - ended);
    times.widget.push(widget / 1000 - ended);
    times.profiler.push(profiler);
    await lab.page.close();
  }
  console.log(`seconds after the cell's code: JAX's profiler has stopped ${seconds(times.profiler)}`);
  console.log(`  findings in the cell ${seconds(times.cell)}`);
  console.log(`  findings in the widget ${seconds(times.widget)}`);

  const lab = await n.openLab(browser, server, "large.ipynb");
  await lab.runCell(0);
  const [frame] = await n.widgetFrames(lab.page, 1);
  const tab = { page: lab.page, frame: () => frame };
  await h.shows(tab, /each drawn separately|merged/, 120_000);
  console.log(`the timeline of ${EVENTS} events:`);
  await f.reportMoves(tab, option("--rounds", 3));
} finally {
  await browser.close();
  await server.stop();
  work.remove();
}
