// One story per run: every page of every sample opens, figures that mean the same agree, parts add up, odd values are marked.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { before, describe, test } from "node:test";
import * as h from "./harness.js";
import { namesakes, readNames, twoValues, withOneChanged } from "./one_story/names.js";
import { PAIRS, TWO_READINGS, xprofs } from "./one_story/pairs.js";
import { agree, exactly, quantity, ratio, total } from "./one_story/quantity.js";
import { readCharts, readPage, settledText, wrappedToolbars } from "./one_story/reading.js";

const SHARED = path.join(h.ROOT, "..", "shared", "traces", "logdir");
const PYTORCH = path.join(h.ROOT, "..", "shared", "pytorch");
/** Pages that are read at once. */
const AT_ONCE = 2;
const WIDE = { width: 1440, height: 900 };
/** The smallest window in which a toolbar is one line. */
const NARROW = { width: 1024, height: 700 };
/** Charts of more rows are not read as tables. */
const MOST_ROWS = 100;
/** Sample profiles: a directory or a builder. `narrow`: the toolbars are looked at in a narrow window, too. */
const OFTEN = {
  demo: { from: h.DEMO, narrow: true },
  ops: { from: "op_profiles", narrow: true },
};
const NIGHT = {
  "steps of several hosts": { from: "step_profiles", narrow: true },
  "tf.data programs": { from: path.join(h.ROOT, "tests", "profiles", "tf_data_221") },
  "XProf's samples": { from: SHARED, skip: existsSync(SHARED) ? false : "the sample profiles (../shared/traces) are not here" },
  "PyTorch's traces": { from: PYTORCH, skip: existsSync(PYTORCH) ? false : "the traces of PyTorch (../shared/pytorch) are not here" },
};
const SAMPLES = { ...OFTEN, ...(h.ALL ? NIGHT : {}) };
/** Runs that other samples are like. */
const ALIKE = /^(?:train_prefetched|jax_scan)\//;
const at = await h.served(Object.fromEntries(Object.entries(SAMPLES).filter(([, { skip }]) => !skip).map(([name, { from }]) => [name, from])));

/** The names and figures of all pages, by run. */
const shown = new Map();
const applied = new Map(PAIRS.map((pair) => [pair, 0]));

/** Shows a page: the first of a run in place of the previous one, others by the menu, which takes a fraction of the time. */
async function show(page, address) {
  const { pathname, search, searchParams } = new URL(address);
  const before = new URL(page.url());
  const tool = searchParams.get("tool");
  const others = (query) => [...query].filter(([key]) => key !== "tool").join();
  if (before.pathname !== pathname || others(before.searchParams) !== others(searchParams) || before.search === search) {
    await page.goto(address, { waitUntil: "domcontentloaded" });
    return;
  }
  await page.$eval(`[data-tool="${tool}"]`, (link) => link.click()); // without a mouse: of two pages one is in the background
  await h.until(`the choice of ${tool}`, () => page.$(`[data-tool="${tool}"][aria-current="page"]`));
}

/** Shows a page, waits until it is complete, and reads it. */
async function open(page, address, narrow) {
  page.found.errors.length = 0;
  await show(page, address);
  let last = null;
  await h.until(`a complete page at ${address}`, async () => {
    const now = await page.evaluate(settledText);
    const same = now !== null && now === last;
    last = now;
    return same;
  });
  // What the overview shows on demand is part of the story.
  await page.$$eval('.overview .card-fold[aria-expanded="false"]', (folds) => folds.forEach((fold) => fold.click()));
  await h.pause(50);
  const read = await page.evaluate(readPage);
  const charts = await page.evaluate(readCharts, MOST_ROWS);
  const wrapped = narrow ? await inNarrow(page) : [];
  await page.$$eval("details:not([open])", (all) => all.forEach((one) => { one.open = true; }));
  const names = await page.evaluate(readNames);
  return { ...read, charts, names, wrapped, errors: [...page.found.errors] };
}

async function inNarrow(page) {
  await page.setViewport(NARROW);
  await h.pause(100);
  const wrapped = await page.evaluate(wrappedToolbars);
  await page.setViewport(WIDE);
  return wrapped;
}

/** The pages of a run by tool, and its answers. */
async function readRun(api, name, tabs, narrow) {
  const run = encodeURIComponent(name);
  const { tools } = await (await fetch(`${api}run_info?run=${run}`)).json();
  const available = tools.filter((tool) => tool.available).map(({ id }) => id);
  // What one tab reads in one go: the other reading is in the address, which the menu does not change.
  const waiting = [...available.map((id) => [[id, id, ""]]), available.filter((id) => TWO_READINGS.includes(id)).map((id) => [xprofs(id), id, "&reading=xprof"])];
  const pages = {};
  await Promise.all(tabs.map(async (page) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      for (const [name, id, more] of next) pages[name] = await open(page, `${api}index.html?run=${run}&tool=${encodeURIComponent(id)}${more}`, narrow);
    }
  }));
  const answers = new Map();
  const json = (tool, more = "", route = "page") => {
    if (!answers.has(route + tool + more)) {
      const { host_names: hosts } = tools.find(({ id }) => id === tool);
      const host = hosts.length === 1 ? `&host=${encodeURIComponent(hosts[0])}` : "";
      answers.set(route + tool + more, fetch(`${api}${route}?run=${run}&tag=${tool}${host}${more}`).then((answer) => answer.json()));
    }
    return answers.get(route + tool + more);
  };
  return { name, pages, json };
}

/** What is wrong with a bar: parts that do not add up to the whole, shares that are not those of the amounts. */
function barProblems({ label, parts }) {
  if (parts.length === 0) return [];
  const shares = parts.map((part) => quantity(part.share));
  const problems = [];
  const sum = total(shares);
  if (!sum || !agree(sum, exactly(1, "share"))) problems.push(`the parts of "${label}" make ${sum?.text} of 100%`);
  const amounts = parts.map((part) => quantity(part.amount));
  const whole = total(amounts);
  if (whole && new Set(amounts.map(({ kind }) => kind)).size === 1 && whole.kind !== "count" && whole.kind !== "share") {
    parts.forEach((part, i) => {
      const wanted = ratio(amounts[i], whole);
      if (wanted && !agree(shares[i], wanted, 0.5)) problems.push(`${part.name} of "${label}": ${part.share} is not ${wanted.text}`);
    });
  }
  return problems;
}

/** What is wrong with a page by itself. */
function pageProblems({ errors, failed, above, odd, bars, pies, wrapped }) {
  return [
    ...errors.map((text) => `error: ${text}`), ...failed.map((text) => `failed: ${text.slice(0, 200)}`),
    ...above.map((text) => `above 100% without a reason: ${text}`), ...odd.map((text) => `not a figure: ${text}`),
    ...[...bars, ...pies].flatMap(barProblems), ...wrapped.map((name) => `wrapped or cut off at ${NARROW.width} px: ${name}`),
  ];
}

/** The names on the pages of a run, those of XProf's reading left out: there they have XProf's meaning. */
const namesOf = ({ pages }) => Object.fromEntries(Object.entries(pages).flatMap(([tool, { names }]) => (tool.includes(",") ? [] : [[tool, names]])));

async function pairProblems(run) {
  const problems = [];
  for (const pair of PAIRS) {
    if (pair.if && !(await pair.if(run))) continue;
    const [a, b] = [await pair.a(run), await pair.b(run)];
    if (a === null || b === null) continue;
    applied.set(pair, applied.get(pair) + 1);
    if (!agree(a, b, pair.slack ?? 0)) problems.push(`${pair.page}: ${pair.what}: ${a.text} against ${b.text}`);
  }
  return problems;
}

h.inChromium("one story", ({ browser }) => {
  let tabs;
  before(async () => {
    tabs = await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      const page = await browser().newPage();
      await page.setViewport(WIDE);
      page.found = { errors: [] };
      page.on("console", (message) => message.type() === "error" && page.found.errors.push(message.text()));
      page.on("pageerror", (error) => page.found.errors.push(String(error)));
      return page;
    }));
  });

  for (const [name, { narrow = false, skip = false }] of Object.entries(SAMPLES)) {
    describe(name, { skip }, () => {
      test("every page of every run", { timeout: 600_000 }, async () => {
        const api = `${at[name].url}data/plugin/profile/`;
        const problems = [];
        for (const run of await (await fetch(`${api}runs`)).json()) {
          if (ALIKE.test(run) && !h.ALL) continue;
          const read = await readRun(api, run, tabs, narrow);
          const names = namesOf(read);
          shown.set(`${name} ${run}`, names);
          const found = [
            ...Object.entries(read.pages).flatMap(([tool, page]) => pageProblems(page).map((text) => `${tool}: ${text}`)),
            ...(await pairProblems(read)), ...twoValues(names).map((text) => `one name, two numbers: ${text}`),
          ];
          problems.push(...found.map((text) => `${run} ${text}`));
        }
        assert.ok(problems.length === 0, `${problems.length} contradictions:\n${[...new Set(problems)].join("\n")}`);
      });
    });
  }

  test("figures are compared by their displayed digits", () => {
    const cases = [
      ["950.8 ms", "950.77 ms", true], ["950.8 ms", "910.5 ms", false], ["1.951 s", "1,951 ms", true], ["24.8%", "24.3%", false],
      ["20 GiB", "20.00 GiB", true], ["1 ms", "1 MiB", false], ["2 PFLOP/s", "2,000 TFLOP/s", true], ["12", "12%", false],
    ];
    for (const [a, b, wanted] of cases) assert.equal(agree(quantity(a), quantity(b)), wanted, `${a} and ${b}`);
    const bar = (...parts) => barProblems({ label: "bar", parts: parts.map(([name, share, amount]) => ({ name, share, amount })) });
    assert.deepEqual(bar(["a", "60.0%", "6 ms"], ["b", "40.0%", "4 ms"]), []);
    assert.deepEqual(bar(["a", "60.0%", "6 ms"], ["b", "45.3%", "4 ms"]), ['the parts of "bar" make 60.0% + 45.3% of 100%', "b of \"bar\": 45.3% is not 4 ms / 6 ms + 4 ms"]);
  });

  test("a figure of one page that is 1% off is found", () => {
    const found = new Map(); // figures by page; on a push a few of each
    for (const [run, names] of [...shown].filter(([run]) => /^(?:demo|ops) /.test(run))) {
      for (const one of namesakes(names).flat()) {
        const before = found.get(one.page) ?? 0;
        const changed = before < 8 || h.ALL ? withOneChanged(names, one) : null;
        if (changed === null) continue;
        assert.ok(twoValues(changed).some((text) => text.startsWith(`"${one.key}"`)), `${run}: ${one.page}: ${one.key}: ${one.text}`);
        found.set(one.page, before + 1);
      }
    }
    const least = ["overview_page", "input_pipeline_analyzer", "time_budget", "hlo_stats", "roofline_model", "framework_op_stats"];
    assert.deepEqual(least.filter((page) => !found.has(page)), []);
  });

  test("names and figures are compared by what they mean", () => {
    const list = (name, text, title = "") => ({ place: "list", name, text, title });
    const bar = (text, title) => ({ place: "bar", name: "Input", text, title });
    const budget = [bar("2.5 ms", "Of the average step: 10 ms")];
    assert.deepEqual(twoValues({ overview_page: [list("Input", "2.5 ms (25.0%)")], time_budget: budget }), []);
    assert.deepEqual(twoValues({ overview_page: [list("Input", "2.6 ms (25.0%)")], time_budget: budget }), ['"input (time)": 2.6 ms (overview_page), 2.5 ms (time_budget)']);
    assert.deepEqual(twoValues({ inference_profile: [bar("1 ms", "The average request: 4 ms")], time_budget: budget }), []);
    assert.deepEqual(twoValues({ overview_page: [list("All others", "1 ms")], pod_viewer: [list("All others", "2 ms")] }), []);
  });

  if (h.ALL) test("every pair of figures was seen", { skip: existsSync(SHARED) ? false : "not all samples are here" }, () => {
    assert.deepEqual([...applied].filter(([, times]) => times === 0).map(([{ page, what }]) => `${page}: ${what}`), []);
  });
});
