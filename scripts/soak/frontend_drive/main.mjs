// Drives XProf's frontend on XProf's backend and on ours through every run and tool, and lists where they differ.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { BROWSERS, launch, ROOT } from "../../../tests/browser/harness.js";
import { act, plan } from "./actions.mjs";
import { differences, lines } from "./compare.mjs";
import { EXCEPTIONS, excused } from "./exceptions.mjs";
import { ask, startFront, startOurs, startReference } from "./servers.mjs";
import { Side } from "./side.mjs";

const { values: options } = parseArgs({
  options: {
    logdir: { type: "string", default: path.join(process.env.PROFILE_SAMPLES ?? path.join(ROOT, "../shared"), "traces/logdir") },
    python: { type: "string" },
    runs: { type: "string", default: "" },
    tools: { type: "string", default: "" },
    modules: { type: "string", default: "2" },
    pictures: { type: "boolean", default: false },
    "no-actions": { type: "boolean", default: false },
    result: { type: "string", default: path.join(ROOT, "build/soak/frontend") },
    lines: { type: "string", default: "12" },
  },
});
const RESULT = path.resolve(options.result);
const HLO_TOOLS = /^(memory_viewer|graph_viewer)$/;
const COMPARED = /^(overview_page|op_profile|framework_op_stats|hlo_stats|memory_profile|input_pipeline_analyzer)$/;
/** Tools that XProf's server and pages have, but never list. */
const UNLISTED = ["pod_viewer", "inference_profile"];
/** The new trace viewer draws with WebGPU, here without a graphics card. */
const WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan", "--use-vulkan=swiftshader"];
const SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const MULTI_HOST = /^trace_viewer/;

/** The first `most` of a list, spread over it. */
function spread(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, at) => list[Math.round((at * (list.length - 1)) / Math.max(1, most - 1))]);
}

/** The addresses to open for a tool of a run: every host, and some modules where the page has a selector of them. */
async function places(reference, run, tool) {
  const hosts = (await ask(reference, "/hosts", { run, tag: tool })).map(({ hostname }) => hostname ?? "");
  const several = MULTI_HOST.test(tool) && hosts.length > 1 ? [...hosts, hosts.join(",")] : hosts.length ? hosts : [""];
  const modules = HLO_TOOLS.test(tool) ? (await ask(reference, "/module_list", { run, tag: "graph_viewer" }, "text")).split(",") : [""];
  const found = [];
  for (const host of several) {
    for (const module of spread(modules, Number(options.modules))) {
      const key = MULTI_HOST.test(tool) ? "hosts" : "host";
      found.push({ run, tool, ...(host && { [key]: host }), ...(module && { module_name: module }) });
    }
  }
  return found;
}

/** Another run with a host of the same name as the first of `run`, if there is one. */
async function baseOf(reference, run, runs) {
  const first = async (name) => (await ask(reference, "/hosts", { run: name, tag: "trace_viewer@" }))[0]?.hostname;
  const wanted = await first(run);
  const at = runs.indexOf(run);
  for (const other of [...runs.slice(at + 1), ...runs.slice(0, at)]) if ((await first(other)) === wanted) return other;
  return run;
}

/** Addresses with parameters that are set by hand or by another page: suggestions, a base to compare with, the new viewer. */
function variants(run, tool, base) {
  const found = [];
  if (tool === "overview_page") found.push({ run, tool, enable_smart_suggestion: "true" });
  if (COMPARED.test(tool)) found.push({ run, tool, base_session_id: base });
  if (MULTI_HOST.test(tool)) found.push({ run, tool, use_trace_viewer_v2: "true" });
  return found;
}

/** Opens one address on both sides and does the same on both; returns all differences with the step they appeared in. */
async function compareAt(sides, query) {
  const found = [];
  const both = (step) => Promise.all(sides.map(step));
  const add = (label, a, b) => {
    for (const difference of differences(a, b)) found.push({ label, ...difference });
  };
  const { use_trace_viewer_v2: second_viewer, ...address } = query;
  await both((side) => side.show(address, second_viewer ? { use_trace_viewer_v2: second_viewer } : {}));
  const [first, second] = await both((side) => side.collect());
  add("", first, second);
  const picture = (side) => side.page.screenshot({ path: path.join(RESULT, `${nameOf(query)}.${side === sides[0] ? "xprof" : "ours"}.png`) });
  if (options.pictures) await both(picture);
  if (options["no-actions"]) return found;
  for (const action of await plan(sides[0])) {
    const notes = await both(async (side) => {
      const seen = [];
      await act(side, action, async (label, state) => void seen.push([label, state]));
      return seen;
    });
    for (let at = 0; at < Math.max(notes[0].length, notes[1].length); at += 1) {
      add((notes[0][at] ?? notes[1][at])[0], notes[0][at]?.[1], notes[1][at]?.[1]);
    }
  }
  return found;
}

const nameOf = (query) => Object.values(query).join("--").replace(/[^\w.@-]+/g, "_").slice(0, 180);

function report(query, found, seconds) {
  // A difference that stays while other things are done is listed once, where it appeared.
  const seen = new Set();
  const fresh = found.filter((one) => {
    const key = [one.what, one.side, one.line].join("\n");
    return !seen.has(key) && seen.add(key);
  });
  const used = new Set();
  const [bad, meant] = [[], []];
  for (const one of fresh) {
    const rule = excused(query, one);
    if (rule) used.add(rule);
    (rule ? meant : bad).push(one);
  }
  const where = Object.entries(query).map(([key, value]) => `${key}=${value}`).join(" ");
  console.log(`${bad.length ? "DIFFERS" : "same   "} ${where} (${seconds.toFixed(1)} s${fresh.length > bad.length ? `, ${fresh.length - bad.length} excused` : ""})`);
  for (const { label, what, side, line } of bad.slice(0, Number(options.lines))) {
    console.log(`    ${side.padEnd(5)} ${label ? `[${label}] ` : ""}${what}: ${line.slice(0, 240)}`);
  }
  if (bad.length > Number(options.lines)) console.log(`    ... and ${bad.length - Number(options.lines)} more`);
  for (const [list, name] of [[bad, "json"], [meant, "excused.json"]]) {
    if (list.length) writeFileSync(path.join(RESULT, `${nameOf(query)}.${name}`), JSON.stringify(list, null, 1));
  }
  return { bad: bad.length, used };
}

/** Adds a page to the totals. */
function count(totals, query, found, seconds) {
  const { bad, used } = report(query, found, seconds);
  totals.pages += 1;
  totals.differing += bad > 0;
  for (const rule of used) totals.used.set(rule, (totals.used.get(rule) ?? 0) + 1);
}

/** Starts servers and browsers; `stop` ends all that were started, also when the run is interrupted. */
async function start() {
  const started = [];
  let ending = null;
  const end = async () => {
    for (const one of started.reverse()) await (one.stop ?? one.close).call(one).catch(() => {});
  };
  const stop = () => (ending ??= end());
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void stop().finally(() => process.exit(130)));
  const keep = (one) => (started.push(one), one);
  const reference = keep(await startReference(options.python, options.logdir, path.join(RESULT, "xprof.log")));
  const ours = keep(await startOurs(options.logdir));
  const fronts = [];
  for (const [data, fresh] of [[reference, true], [ours, false]]) fronts.push(keep(await startFront({ pages: reference, lists: ours, data, fresh })));
  // A browser each: a page behind another one is slowed down.
  const open = (graphics, drawing) => Promise.all(fronts.map(async ({ origin }) => Side.open(keep(await launch(BROWSERS[0], graphics)), origin, drawing)));
  const plain = await open();
  let drawing = null;
  const sidesFor = async (query) => (query.use_trace_viewer_v2 ? (drawing ??= await open([...WEBGPU, ...SOFTWARE], true)) : plain);
  return { reference, ours, sidesFor, stop };
}

/** Compares the pages of one run. */
async function compareRun({ reference, ours, sidesFor }, run, runs, totals) {
  const [listed, offered, known] = await Promise.all(
    [[reference], [ours], [ours, { own: "true" }]].map(([server, more]) => ask(server, "/run_tools", { run, ...more })),
  );
  count(totals, { run, tool: "run_tools" }, lines("tools", listed, offered, true).map((one) => ({ label: "", ...one })), 0);
  const base = await baseOf(reference, run, runs);
  const shown = known.filter((name) => offered.includes(name) || UNLISTED.includes(name));
  for (const tool of shown.filter((name) => new RegExp(options.tools).test(name))) {
    for (const query of [...(await places(reference, run, tool)), ...variants(run, tool, base)]) {
      const begin = Date.now();
      const sides = await sidesFor(query);
      const found = await compareAt(sides, query).catch((error) => [{ label: "", what: "driver", side: "XProf", line: String(error.stack) }]);
      count(totals, query, found, (Date.now() - begin) / 1000);
      // A page that draws keeps drawing, which slows down all others.
      for (const { drawing, page } of sides) if (drawing) await page.goto("about:blank");
    }
  }
}

async function main() {
  rmSync(RESULT, { recursive: true, force: true });
  mkdirSync(RESULT, { recursive: true });
  const servers = await start();
  const totals = { pages: 0, differing: 0, used: new Map() };
  try {
    const runs = await ask(servers.reference, "/runs", {});
    for (const run of runs.filter((name) => new RegExp(options.runs).test(name))) await compareRun(servers, run, runs, totals);
  } finally {
    await servers.stop();
  }
  console.log(`\n${totals.pages} pages, ${totals.differing} differ; XProf's server died ${servers.reference.deaths()} times`);
  for (const [rule, times] of totals.used) console.log(`  excused on ${times} pages: ${rule.reason}`);
  if (!options.runs && !options.tools) {
    for (const rule of EXCEPTIONS.filter((one) => !totals.used.has(one))) console.log(`  never needed: ${rule.reason}`);
  }
  return totals.differing || !totals.pages ? 1 : 0;
}

process.exit(await main());
