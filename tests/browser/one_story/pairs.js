// The table of figures that mean the same thing. Each entry: page, two figures, relation, and slack in displayed digits.
import { exactly, quantity, ratio, total } from "./quantity.js";

const OVERVIEW = "overview_page";
const INPUT = "input_pipeline_analyzer";
const POD = "pod_viewer";
const REQUESTS = "inference_profile";
const HLO = "hlo_stats";
const FRAMEWORK = "framework_op_stats";
const ROOFLINE = "roofline_model";
const PROFILE = "op_profile";
const KERNELS = "kernel_stats";
const MEMORY = "memory_profile";
const BUFFERS = "memory_viewer";
const DATA = "tf_data_bottleneck_analysis";
const BUDGET = "time_budget";

// Figures: functions of a run, { pages: readings by tool, json(tool, query) }; null where the run does not show one.

/** A value of a list of figures, such as "Average step time". */
const figure = (page, name) => ({ pages }) => quantity(pages[page]?.figures.find((one) => one.name === name || one.name.startsWith(`${name},`))?.text);
/** The part of the headline that the expression's group matches. */
const headline = (page, expression) => ({ pages }) => quantity(pages[page]?.headline, expression);
/** The same of the sentences below it. */
const sentence = (page, expression) => ({ pages }) => quantity(pages[page]?.sentences.find((one) => expression.test(one)), expression);
/** The same where sentences share a paragraph. */
const anySentence = (page, expression) => ({ pages }) => quantity(pages[page]?.sentences.join(" "), expression);
/** The same of any text on the page. */
const text = (page, expression) => ({ pages }) => quantity(pages[page]?.text, expression);
const bar = (pages, page, label) => pages[page]?.bars.find((one) => (label instanceof RegExp ? label.test(one.label) : one.label === label));
/** The sum of the amounts of a bar's parts. */
const sumOf = (page, label) => ({ pages }) => total(bar(pages, page, label)?.parts.map(({ amount }) => quantity(amount)) ?? []);
/** One part of a bar: its "share" or "amount". */
const part = (page, label, name, what = "share") => ({ pages }) => quantity(bar(pages, page, label)?.parts.find((one) => (name instanceof RegExp ? name.test(one.name) : one.name === name))?.[what]);
const pie = (pages, page, label) => pages[page]?.pies.find((one) => one.label === label);
const sumOfPie = (page, label) => ({ pages }) => total(pie(pages, page, label)?.parts.map(({ amount }) => quantity(amount)) ?? []);
const detail = (page, name) => ({ pages }) => quantity(pages[page]?.details[name]);
/** A cell of the first row of the first table with that column. */
const cell = (page, column, row = 0) => ({ pages }) => {
  const table = pages[page]?.tables.find(({ columns }) => columns.includes(column));
  return quantity(table?.rows[row]?.[table.columns.indexOf(column)]);
};
/** The sum of a column of which all rows are visible. */
const columnTotal = (page, column) => ({ pages }) => {
  const table = pages[page]?.tables.find(({ columns }) => columns.includes(column));
  const rows = table?.rows ?? [];
  if (rows.length === 0 || rows.length !== Number(table.count)) return null;
  return total(rows.map((row) => quantity(row[table.columns.indexOf(column)])));
};
/** A column's cell in the row of the op that is first among HLO ops. */
const sameOp = (page, column) => ({ pages }) => {
  const op = pages[HLO]?.tables[0]?.rows[0]?.[0];
  const table = pages[page]?.tables.find(({ columns }) => columns.includes(column));
  const rows = table?.rows.filter((row) => row[0] === op) ?? [];
  return rows.length === 1 ? quantity(rows[0][table.columns.indexOf(column)]) : null;
};
/** A column of the op profile's tree in the row of that op; null unless it has one row of its own. */
const inTree = (column) => ({ pages }) => {
  const op = pages[HLO]?.tables[0]?.rows[0]?.[0];
  const { columns = [], rows = [] } = pages[PROFILE]?.tree ?? {};
  const found = rows.filter(([name]) => name === op || name === `${op} self time`);
  return found.length === 1 && op !== pages[HLO].tables[0].rows[0][1] ? quantity(found[0][columns.indexOf(column)]) : null;
};
/** The first of several figures that is shown. */
const first = (...figures) => async (run) => {
  for (const one of figures) {
    const found = await one(run);
    if (found !== null) return found;
  }
  return null;
};
const sum = (...figures) => async (run) => {
  const found = await Promise.all(figures.map((one) => one(run)));
  return found.some((one) => one === null) ? null : total(found);
};
const share = (of, whole) => async (run) => ratio(await of(run), await whole(run));
const when = (condition, of) => async (run) => ((await condition(run)) ? of(run) : null);
const WHOLE = () => exactly(1, "share");

/** The sum of a column of an answered table, in a base unit: a member of a document, or the number of a DataTable. */
const columnSum = (page, table, id, factor, kind, where = () => true) => async (run) => {
  if (!run.pages[page]) return null;
  const answer = await run.json(page);
  const { cols, rows, columns } = answer[table] ?? answer;
  const values = columns?.find((one) => one.id === id)?.values;
  const at = cols?.findIndex((one) => one.id === id) ?? -1;
  if (!values?.length && (at < 0 || !rows?.length)) return null;
  const cells = values ?? rows.filter((row) => where(Object.fromEntries(cols.map((one, i) => [one.id, row.c[i]?.v])))).map((row) => row.c[at]?.v ?? 0);
  return { ...exactly(cells.reduce((all, one) => all + Number(one), 0) * factor, kind), text: `the sum of ${id}` };
};

const opTime = sentence(HLO, /ops? with (\S+ \S+) of self time/);
/** The bar of step time, on all pages; its label says what it divides. */
const BAR = /^Of the (?:average step|time from step to step|recording): /;
const base = (page) => ({ pages }) => quantity(bar(pages, page, BAR)?.label, /: (\S+ [a-z]+)/);
/** A category in the list of figures: "16.23 ms (44.4%)". */
const listed = (name, expression) => ({ pages }) => quantity(pages[OVERVIEW]?.figures.find((one) => one.name === name || one.name === `All others: ${name.toLowerCase()}`)?.text, expression);
const CATEGORIES = [
  ...["Device compute", "Device to device", "Collective communication", "Host compute", "Kernel launch", "Input", "Output", "Compilation", "Host copies", "Gaps between ops", "Unexplained", "Between steps"],
];
const ofCategories = CATEGORIES.flatMap((name) => [
  { page: OVERVIEW, what: `${name}: time in bar and summary`, a: part(OVERVIEW, BAR, name, "amount"), b: listed(name, /^(\S+ [a-z]+)/) },
  { page: OVERVIEW, what: `${name}: share in bar and summary`, a: part(OVERVIEW, BAR, name), b: listed(name, /\(([\d.]+%)\)/) },
  ...[INPUT, BUDGET].map((other) => ({ page: `${OVERVIEW}, ${other}`, what: `${name}: time on both pages`, a: part(OVERVIEW, BAR, name, "amount"), b: part(other, BAR, name, "amount") })),
]);
const steps = (page) => sentence(page, /steps?, (\S+ \S+?) (?:on average|each)/);

/** Seconds by which parts differ from their whole in the worst row. */
function worst(differences) {
  if (differences.length === 0) return null;
  const value = Math.max(...differences.map(Math.abs));
  return { value, step: 1e-9, kind: "time", text: `parts that differ from the whole by ${value} s` };
}
const NOTHING = () => ({ ...exactly(0, "time"), text: "none" });

/** The parts of every step in the decomposition against its duration. */
async function stepParts(run) {
  const steps = run.pages[OVERVIEW] && (await run.json(OVERVIEW))?.steps.decomposition.steps;
  if (!steps) return null;
  const parts = Object.values(steps.parts_ps);
  return worst(steps.duration_ps.map((whole, step) => (parts.reduce((all, one) => all + one[step], 0) - whole) / 1e12));
}

/** The mean of the bars of a graph, in which a step counts once for each device that takes part in it. */
const graphMean = (page, chart, column = "All parts") => async (run) => {
  const { columns, rows } = run.pages[page]?.charts[chart] ?? { columns: [], rows: [] };
  const devices = (await run.json(OVERVIEW))?.steps.decomposition.steps.devices ?? [];
  const shown = rows.map((row) => quantity(row[columns.indexOf(column)] ?? ""));
  if (rows.length === 0 || rows.length !== devices.length || shown.includes(null)) return null;
  const count = devices.reduce((all, one) => all + one, 0);
  const mean = (of) => shown.reduce((all, one, i) => all + of(one) * devices[i], 0) / count;
  return { value: mean((one) => one.value), step: mean((one) => one.step), kind: shown[0].kind, text: `the mean of ${rows.length} bars` };
};

/** The parts of every core in every step of the pod viewer against its total. */
async function podParts(run) {
  const pod = run.pages[POD] && (await run.json(POD)).steps;
  if (!pod) return null;
  const parts = Object.values(pod.parts_ns);
  return worst(pod.total_ns.flatMap((cores, step) => cores.map((whole, core) => (parts.reduce((all, one) => all + (one?.[step]?.[core] ?? 0), 0) - whole) / 1e9)));
}

/** The sum of the parts in the card of a worker: their amounts, or their shares. */
const workerParts = (expression) => ({ pages }) => {
  const lines = Object.entries(pages[POD]?.details ?? {}).filter(([name]) => name !== "Total" && name !== "Largest part");
  return total(lines.map(([, text]) => quantity(text, expression)));
};

/** The sum of all percentages in the part of a sentence that matches. */
const allShares = (page, expression) => ({ pages }) => {
  const found = pages[page]?.sentences.map((one) => expression.exec(one)?.[0]).find(Boolean) ?? "";
  return total([...found.matchAll(/[\d.]+%/g)].map(([share]) => quantity(share)));
};

/** The first host of the overview's figures "Step time of HOST" against what the sentence on hosts says of it. */
const ofHost = (of) => (run) => {
  const found = run.pages[OVERVIEW]?.figures.find(({ name }) => name.startsWith("Step time of "));
  return found ? of(found, found.name.replace("Step time of ", "")) : null;
};
const hostsLine = (page) => (run) => ofHost((_, host) => quantity(run.pages[page]?.text.split(` (${host}`)[0]?.match(/\S+ [a-z]+$/)?.[0]))(run);

/** Pages that show XProf's figures with `reading=xprof`, and what such a page is called in the readings of a run. */
export const TWO_READINGS = [OVERVIEW, INPUT, POD];
export const xprofs = (page) => `${page}, XProf's reading`;

/** How many columns of times XProf's table of steps has, and how many of them the graph of a page has with the same mean. */
const xprofColumns = (page, chart) => async (run) => {
  const { cols = [], rows = [] } = run.pages[xprofs(page)] ? (await run.json(page, "", "data"))[1] : {};
  const means = cols.flatMap(({ id }, i) => (/TimeMs$/.test(id) && id !== "stepTimeMs" ? [rows.reduce((all, { c }) => all + Number(c[i]?.v ?? 0), 0) / rows.length / 1e3] : []));
  const shown = run.pages[xprofs(page)]?.charts[chart];
  return { means: means.filter((mean) => mean > 0), shown };
};
const xprofTimes = (page, chart) => async (run) => {
  const { means } = await xprofColumns(page, chart)(run);
  return means.length ? { ...exactly(means.length, "count"), text: `${means.length} columns of XProf's` } : null;
};
const xprofShown = (page, chart) => async (run) => {
  const { means, shown } = await xprofColumns(page, chart)(run);
  if (!shown) return null;
  const columns = shown.columns.map((_, at) => shown.rows.map((row) => quantity(row[at] ?? ""))).filter((cells) => cells.every((cell) => cell?.kind === "time"));
  const mean = (cells, of) => cells.reduce((all, cell) => all + of(cell), 0) / cells.length;
  const same = means.filter((wanted) => columns.some((cells) => Math.abs(mean(cells, (one) => one.value) - wanted) <= mean(cells, (one) => one.step)));
  return { ...exactly(same.length, "count"), text: `${same.length} columns with XProf's means` };
};

/** The step time of the worker in the pod viewer's card, and that of XProf's worker that is nearest to it. */
const xprofWorker = async (run) => {
  const shown = quantity(run.pages[xprofs(POD)]?.details.Total);
  const [first] = (shown && (await run.json(POD, "", "data")).podStatsSequence.podStatsMap) || [];
  const times = Object.values(first?.podStatsPerCore ?? {}).map(({ totalDurationUs: us }) => us / 1e6);
  const nearest = times.sort((a, b) => Math.abs(a - shown.value) - Math.abs(b - shown.value))[0];
  return nearest === undefined ? null : exactly(nearest, "time");
};

const inGraph = CATEGORIES.slice(0, -1).map((name) => ({ page: OVERVIEW, what: `${name}: the mean of the graph and the bar`, a: graphMean(OVERVIEW, "Step-time graph", name), b: part(OVERVIEW, BAR, name, "amount") }));

export const PAIRS = [
  ...inGraph,
  { page: xprofs(OVERVIEW), what: "the graph and XProf's step table", a: xprofTimes(OVERVIEW, "Step-time graph"), b: xprofShown(OVERVIEW, "Step-time graph") },
  { page: xprofs(INPUT), what: "the graph and XProf's step table", a: xprofTimes(INPUT, "Device step time"), b: xprofShown(INPUT, "Device step time") },
  { page: xprofs(POD), what: "the step of a worker", a: detail(xprofs(POD), "Total"), b: xprofWorker },
  { page: OVERVIEW, what: "the step time of headline and summary", a: steps(OVERVIEW), b: figure(OVERVIEW, "Average step time") },
  ...[OVERVIEW, INPUT, BUDGET].map((page) => ({ page, what: "the segments of the bar and what it divides", a: sumOf(page, BAR), b: base(page) })),
  ...ofCategories,
  { page: OVERVIEW, what: "computation of headline and bar", a: headline(OVERVIEW, /(?:Healthy|Busy): ([\d.]+%) of the/), b: part(OVERVIEW, BAR, "Device compute") },
  { page: OVERVIEW, what: "the step-time graph and the step time", a: graphMean(OVERVIEW, "Step-time graph"), b: figure(OVERVIEW, "Average step time") },
  { page: OVERVIEW, what: "the input share of headline and bar", a: headline(OVERVIEW, /wait ([\d.]+%) of the (?:step|time from step to step|recording) for input/), b: part(OVERVIEW, BAR, "Input") },
  { page: `${OVERVIEW}, ${INPUT}`, what: "the step time of both pages", a: figure(OVERVIEW, "Average step time"), b: figure(INPUT, "Step time") },
  { page: OVERVIEW, what: "the parts of every step", a: stepParts, b: NOTHING },
  { page: OVERVIEW, what: "the step time of a host", a: ofHost(({ text: shown }) => quantity(shown)), b: hostsLine(OVERVIEW) },
  { page: `${OVERVIEW}, ${INPUT}`, what: "the step time of a host", a: ofHost(({ text: shown }) => quantity(shown)), b: hostsLine(INPUT) },
  { page: OVERVIEW, what: "the request time of sentence and summary", a: anySentence(OVERVIEW, /requests?, (\S+ [a-z]+) on average/), b: figure(OVERVIEW, "Average session time") },
  { page: OVERVIEW, what: "framework ops are on the host or on a device", a: sum(figure(OVERVIEW, "Framework op placement: host"), figure(OVERVIEW, "Framework op placement: device")), b: WHOLE },
  { page: OVERVIEW, what: "device compute by the width of data types", a: sum(figure(OVERVIEW, "Device compute precision: up to 16 bits"), figure(OVERVIEW, "Device compute precision: more than 16 bits")), b: WHOLE },

  { page: INPUT, what: "the input share of headline and bar", a: headline(INPUT, /nput-bound: ([\d.]+%) of the .* waits for input/), b: part(INPUT, BAR, "Input") },
  { page: INPUT, what: "the input share of bar and statistics", a: part(INPUT, BAR, "Input"), b: figure(INPUT, "Step time waiting for input") },
  { page: INPUT, what: "the wait of bar and statistics", a: part(INPUT, BAR, "Input", "amount"), b: figure(INPUT, "Wait for input per step") },
  { page: INPUT, what: "the chart of step times and the statistics", a: graphMean(INPUT, "Device step time"), b: figure(INPUT, "Step time") },

  { page: POD, what: "the parts of every core in every step", a: podParts, b: NOTHING, slack: 100 },
  { page: POD, what: "the parts of the worker's card", a: workerParts(/^(\S+ [a-z]+)/), b: detail(POD, "Total") },
  { page: POD, what: "the shares of the worker's card", a: workerParts(/\(([\d.]+%)\)/), b: WHOLE },

  { page: REQUESTS, what: "the request time of headline and analysis", a: headline(REQUESTS, /A request takes (\S+ [a-z]+)/), b: figure(REQUESTS, "Average latency") },
  { page: REQUESTS, what: "the bar of the average request and its latency", a: sumOf(REQUESTS, "The average request"), b: figure(REQUESTS, "Average latency") },

  { page: HLO, what: "the op time of the headline and the table", a: opTime, b: columnSum(HLO, "ops", "total_self_time", 1e-6, "time") },
  { page: HLO, what: "the pie of categories and the op time", a: sumOfPie(HLO, "Time by category"), b: opTime },
  { page: HLO, what: "the largest category of headline and pie", a: headline(HLO, /takes ([\d.]+%)/), b: ({ pages }) => quantity(pie(pages, HLO, "Time by category")?.parts[0]?.share) },
  { page: HLO, what: "the longest op of headline and table", a: sentence(HLO, /Longest: .* with ([\d.]+%)/), b: cell(HLO, "Busy share") },
  { page: HLO, what: "the shares of all ops", a: columnTotal(HLO, "Busy share"), b: WHOLE },
  { page: `${HLO}, ${PROFILE}`, what: "the busy time of both pages", a: opTime, b: sentence(PROFILE, /(?:of the|busy) (?:busy )?time \((\S+ [a-z]+)/) },
  { page: `${HLO}, ${FRAMEWORK}`, what: "busy and idle time make the observed time", a: sum(sentence(HLO, /([\d.]+%) of the observed time/), sentence(FRAMEWORK, /idle for ([\d.]+%) of the observed/)), b: WHOLE },
  { page: `${HLO}, ${ROOFLINE}`, what: "the share of the busy time in the observed time", a: share(opTime, sentence(ROOFLINE, /Of the observed time \((\S+ [a-z]+)/)), b: sentence(HLO, /([\d.]+%) of the observed time/) },
  // Parts of less than 0.5% are not named.
  { page: ROOFLINE, what: "the parts of the observed time", a: allShares(ROOFLINE, /Of the observed time.* idle/), b: WHOLE, slack: 5 },
  { page: `${HLO}, ${PROFILE}`, what: "the share of the first op in the busy time", a: sameOp(HLO, "Busy share"), b: inTree("% of busy") },
  { page: `${HLO}, ${ROOFLINE}`, what: "the share of the first op in all time", a: share(sameOp(HLO, "Self time"), sentence(ROOFLINE, /Of the observed time \((\S+ [a-z]+)/)), b: sameOp(ROOFLINE, "Share of all time") },
  { page: `${ROOFLINE}, ${FRAMEWORK}`, what: "the idle time of both pages", a: sentence(ROOFLINE, /([\d.]+%) idle/), b: sentence(FRAMEWORK, /idle for ([\d.]+%)/) },
  { page: FRAMEWORK, what: "the longest op of headline and pie", a: headline(FRAMEWORK, /self time: ([\d.]+%)/), b: ({ pages }) => quantity(pie(pages, FRAMEWORK, "Busy device time, by op")?.parts[0]?.share) },

  { page: KERNELS, what: "the kernel time of headline and bar", a: sentence(KERNELS, /kernels?, (\S+ \S+) in total/), b: sumOfPie(KERNELS, "Time by kernel") },
  { page: KERNELS, what: "the kernel time of headline and table", a: sentence(KERNELS, /kernels?, (\S+ \S+) in total/), b: columnSum(KERNELS, "kernels", "total_duration_us", 1e-6, "time") },

  { page: MEMORY, what: "the bar and the capacity", a: sumOf(MEMORY, /./), b: headline(MEMORY, /of (\S+ \S+) \(/) },
  { page: MEMORY, what: "the share of the headline", a: headline(MEMORY, /\(([\d.]+%)\)/), b: share(headline(MEMORY, /peak (\S+ \S+) of /), headline(MEMORY, /of (\S+ \S+) \(/)) },
  { page: BUFFERS, what: "the peak of headline and card", a: headline(BUFFERS, /needs (\S+ \S+) of/), b: figure(BUFFERS, "Peak memory allocation") },
  { page: BUFFERS, what: "the reserved memory of sentence and card", a: anySentence(BUFFERS, /With fragmentation it reserves (\S+ [a-zA-Z]+)[;,]/), b: figure(BUFFERS, "With fragmentation") },
  { page: BUFFERS, what: "reserved and spare memory make the device's", a: sum(anySentence(BUFFERS, /With fragmentation it reserves (\S+ [a-zA-Z]+)[;,]/), anySentence(BUFFERS, /; (\S+ \S+) of .*? are left for/)), b: figure(BUFFERS, "Device memory") },
  { page: BUFFERS, what: "the bar and the peak", a: sumOf(BUFFERS, /./), b: headline(BUFFERS, /needs (\S+ \S+) of/) },

  { page: DATA, what: "the longest call of headline and table", a: sentence(DATA, /A call takes up to (\S+ [a-z]+)/), b: columnSum(DATA, "pipelines", "max_ps", 1e-12, "time"), if: onePipeline },
  { page: DATA, what: "the longest call and the run that is shown", a: sentence(DATA, /A call takes up to (\S+ [a-z]+)/), b: text(DATA, /Run 0 took (\S+ [a-z]+)/) },
  { page: DATA, what: "the self time of the bottleneck in headline and details", a: sentence(DATA, /(?:; (\S+ [a-z]+) of that is the self time| ran for (\S+ [a-z]+),)/), b: detail(DATA, "Self duration") },
  { page: DATA, what: "the average call of headline and table", a: sentence(DATA, /; (\S+ [a-z]+) on average/), b: cell(DATA, "Avg"), if: onePipeline },
];

async function onePipeline(run) {
  return run.pages[DATA] && (await run.json(DATA)).pipelines?.rowCount === 1;
}
