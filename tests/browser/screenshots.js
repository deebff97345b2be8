// Takes the screenshots for docs/ and the README: `npm run screenshots [name ...]` after `scripts/setup`.
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import * as h from "./harness.js";

const PICTURES = path.join(h.ROOT, "docs", "images");
const BUILT = "2026_11_20_10_00_00";
const first = (...parts) => readdirSync(path.join(...parts, "plugins", "profile"))[0];
const demo = (run) => ["demo", `${run}/${first(h.DEMO, run)}`];
const steps = (run) => ["steps", `${run}/${BUILT}`];
const devices = (run) => ["devices", `${run}/${BUILT}`];
const ops = (run) => ["ops", `${run}/1`];

/** From the finding to its evidence in the timeline, where the event is selected. */
async function followEvidence(tab) {
  const links = await h.until("a finding", async () => {
    const found = await tab.frame().$$(".finding:first-child .finding-proof:is(a)");
    return found.length > 0 && found;
  });
  await links.at(-1).click();
  await h.until("the event's details", () => tab.frame().evaluate(() => window.__timeline?.boxesDrawn > 20 && window.__timeline.selection.length === 1));
}

/** The drawing alone, coloured by self time, with an open fusion. */
async function drawnByTime(tab) {
  await h.until("times", () => tab.frame().$(".graph-controls button:not(:disabled):nth-of-type(2)"));
  await tab.frame().evaluate(() => {
    for (const text of ["Graph", "Self time"]) [...document.querySelectorAll("button")].find((one) => one.textContent === text)?.click();
  });
  await h.until("a scale", () => tab.frame().$(".graph-scale"));
  await tab.frame().$eval(".graph-toggle", (one) => one.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  await h.until("an open fusion", () => tab.frame().$(".graph-box"));
}
const QUERY = `SELECT step, begin_ps, duration_ps, compute_ps, idle_input_ps
FROM steps
ORDER BY duration_ps DESC`;
/** The rows of the query with a chart of them. */
async function asked(tab) {
  await h.shows(tab, /\d+ rows in/);
  await h.click(tab, ".query-summary .button");
  await h.until("the chart", () => tab.frame().$(".query-chart canvas"));
}
const opened = (text) => (tab) => h.shows(tab, text);

// name -> [which logdir, run], tool, what to wait for or do.
const WANTED = {
  overview_page: [demo("train_slow_input"), "overview_page", opened("checks clean")],
  input_pipeline_analyzer: [steps("pod"), "input_pipeline_analyzer", opened("Device step time")],
  time_budget: [devices("tpu_collectives"), "time_budget", opened("Average step")],
  what_if: [demo("train_slow_input"), "what_if", opened("What limits the step then"), { input_free: "true" }],
  communication: [devices("tpu_collectives"), "communication", opened("Collectives")],
  compare: [demo("train_prefetched"), "compare", opened("What changed"), { base: demo("train_slow_input")[1] }],
  query: [demo("train_slow_input"), "query", asked, { sql: QUERY, ran: "1" }],
  pod_viewer: [steps("pod"), "pod_viewer", opened("Selected step")],
  inference_profile: [steps("serving"), "inference_profile", opened("Request level analysis")],
  framework_op_stats: [steps("gpu"), "framework_op_stats", opened("Include IDLE")],
  op_profile: [demo("jax_mlp"), "op_profile", opened("Exclude idle")],
  hlo_stats: [demo("jax_mlp"), "hlo_stats", opened("CSV")],
  roofline_model: [ops("tpu"), "roofline_model", opened("CSV")],
  kernel_stats: [ops("gpu"), "kernel_stats", opened("CSV")],
  trace_viewer: [demo("train_slow_input"), "overview_page", followEvidence],
  memory_profile: [demo("tf_input"), "memory_profile", opened("Live allocations at the peak")],
  memory_viewer: [demo("jax_mlp"), "memory_viewer", opened("Peak")],
  graph_viewer: [demo("jax_mlp"), "graph_viewer", drawnByTime],
  tf_data_bottleneck_analysis: [["tf_data", null], "tf_data_bottleneck_analysis", opened(/[Bb]ottleneck/)],
};

/** The logdirs of the screenshots; those of tests/builders are built anew. */
async function servers(work) {
  const places = { demo: h.DEMO, tf_data: path.join(h.ROOT, "tests", "profiles", "tf_data_221") };
  for (const [name, builder] of [["steps", "step_profiles"], ["ops", "op_profiles"], ["devices", "device_profiles"]]) {
    places[name] = path.join(work.directory, name);
    h.build(builder, places[name]);
  }
  const running = {};
  for (const [name, place] of Object.entries(places)) running[name] = await h.startTensorBoard(place);
  return running;
}

const only = process.argv.slice(2);
const work = h.temporaryDirectory();
const running = await servers(work);
const browser = await h.launch(h.BROWSERS[0]);
mkdirSync(PICTURES, { recursive: true });
try {
  for (const [name, [[where, known], tool, ready, more = {}]] of Object.entries(WANTED)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const run = known ?? (await (await fetch(`${running[where].url}data/plugin/profile/runs`)).json())[0];
    const query = new URLSearchParams({ run, tool, ...more }).toString();
    const tab = await h.openProfile(browser, running[where], { query });
    await ready(tab);
    await h.pause(2000); // what glides, fades or loads later
    await tab.page.screenshot({ path: path.join(PICTURES, `${name}.webp`), type: "webp", quality: 75 });
    await tab.page.close();
  }
} finally {
  await browser.close();
  for (const server of Object.values(running)) await server.stop();
  work.remove();
}
