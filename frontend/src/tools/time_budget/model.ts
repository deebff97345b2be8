// Summary, charts and tables of the time budget. Pure.
import type { StackChart } from "../../base/chart/chart_spec";
import { filledSeries } from "../../base/chart/chart_data";
import { sumBy } from "../../base/chart/slices";
import { columnOf } from "../../api/payload/fields";
import { cutMiddle, formatPercent, formatTime, plural } from "../../base/format";
import { BETWEEN, OTHERS, countSteps, idleDevices, segmentsOf } from "../../base/steps/decomposition";
import type { Segment } from "../../base/steps/decomposition";
import type { BudgetPart, Decomposition, TimeBudget } from "../../base/documents";
import { lookOf } from "../../base/steps/step_category";
import { SIDE, joinBy } from "../../base/table/difference";
import { columnsOf, numberColumn, makeTable } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";
import { pickRows, rowsWhere } from "../../base/table/transform";

const HOST = "idle_host";
/** Least shares of a part, in percent, for a yellow or red headline. */
const FAIR = 5;
const BAD = 20;
const MAX_CAUSE = 60;

/** A part of a category, with its place in the times. */
interface Part extends BudgetPart {
  category: string;
  place: number;
}

/** The parts in the order of the categories. */
export function partsOf({ decomposition: { groups }, categories }: TimeBudget): Part[] {
  return groups.flatMap(({ name: category, parts }) => parts.map((part) => ({ ...part, category, place: categories.indexOf(part.id) })));
}

/** The device in the address bar: its index, or null for the mean of all. */
export function chooseDevice(budget: TimeBudget, wanted: string | null): number | null {
  const deviceIndex = budget.devices.findIndex(({ label }) => label === wanted);
  return deviceIndex < 0 ? null : deviceIndex;
}

const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0);

type Average = Pick<Decomposition, "base" | "base_ps" | "step_ps" | "average_ps" | "groups">;

/** The average step: of one device, or of all that take part. */
export function averageOf({ decomposition, average, devices }: TimeBudget, device: number | null): Average {
  if (device === null) return decomposition;
  const [names, ids, times] = ["device", "category", "time_ps"].map((id) => columnOf(average, id) ?? []);
  const average_ps: Record<string, number> = {};
  names?.forEach((name, row) => {
    const ps = times?.[row];
    if (name === devices[device]?.label && typeof ps === "number") average_ps[String(ids?.[row])] = ps;
  });
  const base_ps = sum(Object.values(average_ps));
  return { ...decomposition, average_ps, base_ps, step_ps: base_ps - (average_ps[BETWEEN] ?? 0) };
}

export const barOf = (budget: TimeBudget, device: number | null): Segment[] => segmentsOf(averageOf(budget, device));

/** Parts of one step: of one device, or the mean over those that take part; null if none does. */
export function stepParts(budget: TimeBudget, step: number, device: number | null): number[] | null {
  const { time_ps, takes_part } = budget;
  const rows = (time_ps[step] ?? []).filter((_, i) => takes_part[step]?.[i] === true && (device === null || i === device));
  return rows.length === 0 ? null : partsOf(budget).map(({ place }) => sum(rows.map((row) => row[place] ?? 0)) / rows.length);
}

/** A Python frame such as `$train.py:9 load_batch` as "load_batch (train.py:9)". */
export function causeName(name: string): string {
  const frame = /^\$([^ :]+):(\d+) (.+)$/s.exec(name);
  const text = frame ? `${frame[3]} (${frame[1]}:${frame[2]})` : name.replace(/^\$/, "");
  return cutMiddle(text, MAX_CAUSE);
}

/** The summary: the largest part that is not computation, and what is behind it. */
export function headline(budget: TimeBudget): { tone: "good" | "fair" | "bad"; title: string; sentences: string[] } {
  const { decomposition, largest } = budget;
  const { base, step_ps, steps } = decomposition;
  const segments = segmentsOf(decomposition);
  const compute = formatPercent(100 * (segments.find(({ id }) => id === "device_compute")?.share ?? 0));
  const count = budget.devices.filter((_, i) => decomposition.devices[i]?.steps !== 0).length;
  const [cause] = budget.causes;
  const idle = idleDevices(decomposition);
  const devices = plural(count, "device");
  // The label of the bar has the time of other bases.
  const sentences = [
    base === "step"
      ? `A step takes ${formatTime(step_ps)} on average over ${countSteps(steps.name.length, decomposition.left_out)} and ${devices}.`
      : base === "recording"
        ? `${devices}.`
        : `${countSteps(steps.name.length, decomposition.left_out)} on ${devices}.`,
  ];
  if (largest?.category === HOST && cause) {
    // One function waits in several deepest events.
    const onHost = budget.causes.filter(({ host }) => host === cause.host);
    const [most] = sumBy(
      onHost.map(({ name }) => name),
      onHost.map(({ percent }) => percent ?? 0),
    );
    if (most) sentences.push(`${causeName(most.name)} accounts for ${formatPercent(most.value)} of the ${base}.`);
  }
  if (idle !== null) sentences.push(idle);
  if (!largest) return { tone: "good", title: `${compute} of the ${base} is device compute; no other cause takes ${FAIR}%`, sentences };
  const group = decomposition.groups.find(({ parts }) => parts.some(({ id }) => id === largest.category));
  const part = group?.parts.find(({ id }) => id === largest.category);
  // As in the bar, parts of the others have names of their own.
  const name = part === undefined ? "between steps" : part.name.toLowerCase();
  const what = group === undefined || group.id === OTHERS ? name : `${group.name.toLowerCase()} (${name})`;
  return {
    tone: largest.percent >= BAD ? "bad" : "fair",
    title: `${formatPercent(largest.percent)} of the ${base} is ${what}; ${compute} is device compute`,
    sentences,
  };
}

function stack(
  budget: TimeBudget,
  x: string,
  labels: readonly string[],
  bars: readonly (readonly number[] | null)[],
  unordered: boolean,
): StackChart {
  const series = partsOf(budget).map((part, i) => ({
    name: part.name,
    values: bars.map((bar) => bar && (bar[i] ?? 0)),
    ...lookOf(part.id),
  }));
  return {
    kind: "stack",
    x: { name: x, unit: null, labels },
    y: { name: "Time", unit: "ps" },
    series: filledSeries(series),
    total: "Step",
    unordered,
  };
}

/** One bar per step. */
export function stepsChart(budget: TimeBudget, device: number | null): StackChart {
  const { name } = budget.steps;
  const bars = name.map((_, step) => stepParts(budget, step, device));
  return { ...stack(budget, "Step", name, bars, false), cutsOutliers: true };
}

/** One bar per device: its average step. */
export function devicesChart(budget: TimeBudget): StackChart {
  const parts = partsOf(budget);
  const bars = budget.devices.map((_, device) => {
    const { average_ps } = averageOf(budget, device);
    return parts.map(({ id }) => average_ps[id] ?? 0);
  });
  const labels = budget.devices.map(({ label }, i) => (budget.decomposition.devices[i]?.steps === 0 ? `${label} (takes no part)` : label));
  return stack(budget, "Device", labels, bars, true);
}

/** Smaller parts of the average step are folded. */
const SMALL = 0.01;

/** The rows of at least 1% of the base in the run or in the one that it is compared with, and what the others are in all. */
export function foldedParts(table: TableData, what = "part"): { table: TableData; folded: string } {
  const shares = ["share", "base_share"].map((id) => columnOf(table, id));
  const own = (row: number): number => Number(shares[0]?.[row] ?? 0);
  const rows = rowsWhere(table, (row) => shares.some((column) => Number(column?.[row] ?? 0) >= SMALL));
  const hidden = table.rowCount - rows.length;
  if (hidden === 0 || rows.length === 0) return { table, folded: "" };
  const small = sum(Array.from({ length: table.rowCount }, (_, row) => own(row))) - sum(rows.map(own));
  return { table: pickRows(table, rows), folded: `${plural(hidden, what)} below 1%, ${formatPercent(100 * Math.max(0, small))} in all` };
}

/** Columns of host code that repeat its name: the deepest event, if it is the code named. */
export function repeatedColumns(table: TableData): string[] {
  const [name, inner] = ["name", "inner"].map((id) => columnOf(table, id));
  return inner?.every((text, row) => causeName(String(text)) === name?.[row]) ? ["inner"] : [];
}

/** One row per part, by category: time and share in the average step, and what happens between steps. */
export function partsTable(budget: TimeBudget, device: number | null): TableData {
  const parts = partsOf(budget);
  const { average_ps, base_ps, base, groups } = averageOf(budget, device);
  const between = groups.find(({ id }) => id === BETWEEN);
  const rows: Omit<Part, "place">[] = [
    ...parts,
    ...(between && (average_ps[BETWEEN] ?? 0) > 0 ? [{ ...between, category: between.name }] : []),
  ];
  const { time_ps } = budget.between;
  const inBetween = device === null ? time_ps : time_ps.slice(device, device + 1);
  const betweenPs = parts.map(({ place }) => sum(inBetween.map((row) => row[place] ?? 0)) / Math.max(1, inBetween.length));
  const { text, number } = columnsOf(rows);
  const columns = [
    text("part", "Part", "What the device does, or why it does nothing.", ({ name }) => name),
    text("category", "Category", "Category of step time.", ({ category }) => category),
    number(
      "time",
      "Time per step",
      "ps",
      "Mean over the steps and the devices that take part.\nSource: trace.",
      ({ id }) => average_ps[id] ?? 0,
    ),
    number("share", `Share of the ${base}`, "fraction", `Time per step divided by the ${base}.`, ({ id }) =>
      base_ps > 0 ? (average_ps[id] ?? 0) / base_ps : null,
    ),
    text("meaning", "Meaning", null, ({ help }) => help),
  ];
  if (sum(betweenPs) > 0)
    columns.splice(
      4,
      0,
      numberColumn("between", "Between steps, in all", "ps", "Time between successive steps, in all.\nSource: trace.", [
        ...betweenPs,
        ...(rows.length > parts.length ? [null] : []),
      ]),
    );
  return makeTable(columns);
}

/** The device of a base: of the same name; null: the mean of all. */
const deviceOf = (base: TimeBudget, wanted: string | null): number | null => (wanted === null ? null : chooseDevice(base, wanted));

/** The table of parts with those of a base, of the device of the same name if there is one, else of the mean of its devices. */
export function withBase(table: TableData, base: TimeBudget | null, wanted: string | null): TableData {
  if (base === null || base.steps.name.length === 0) return table;
  const joined = joinBy(table, partsTable(base, deviceOf(base, wanted)), ["part"], { sums: ["time", "between"], rates: ["share"] });
  return { ...joined, columns: joined.columns.filter(({ id }) => id !== SIDE) };
}

/** The step in the base and the difference, in a sentence. */
export function stepNote(budget: TimeBudget, base: TimeBudget, wanted: string | null): string {
  if (base.steps.name.length === 0 || budget.steps.name.length === 0)
    return "One side has no steps, so that times per step cannot be compared.";
  const [mine, theirs] = [averageOf(budget, chooseDevice(budget, wanted)).step_ps, averageOf(base, deviceOf(base, wanted)).step_ps];
  const delta = mine - theirs;
  const mean = wanted !== null && deviceOf(base, wanted) === null ? ` The base has no ${wanted}: the mean of its devices is shown.` : "";
  return (
    `A step takes ${formatTime(mine)}, in the base ${formatTime(theirs)}: ${delta > 0 ? "+" : ""}${formatTime(delta)}` +
    `${theirs > 0 ? ` (${delta > 0 ? "+" : ""}${formatPercent((100 * delta) / theirs)})` : ""}.${mean}`
  );
}

/** One row per place of the host's code behind idle time. */
export function causesTable(budget: TimeBudget): TableData {
  const { causes } = budget;
  const several = new Set(budget.devices.map(({ host }) => host)).size > 1;
  const { text, number } = columnsOf(causes);
  return makeTable([
    text(
      "name",
      "Host code",
      "The program's own function that covers at least 80% of the idle time, else the deepest event that does.",
      ({ name }) => causeName(name),
    ),
    number(
      "time",
      "Idle time per step",
      "ps",
      "Mean over the steps and the devices of the host.\nSource: trace.",
      ({ time_ps }) => time_ps,
    ),
    number("share", "Share", "fraction", "Idle time divided by the time that the bar divides.", ({ percent }) =>
      percent === null ? null : percent / 100,
    ),
    text("inner", "Deepest event", "The innermost event of the main thread that covers at least 80% of the idle time.", ({ inner }) =>
      inner.replace(/^\$/, ""),
    ),
    ...(several ? [text("host", "Host", null, ({ host }) => host)] : []),
  ]);
}

/** The window of a step on a device in the trace viewer, with some room around it: "from,to" in ps. */
export function windowOf({ begin_ps, duration_ps }: TimeBudget["steps"], step: number, device: number): string {
  const [begin, length] = [begin_ps[step]?.[device] ?? 0, duration_ps[step]?.[device] ?? 0];
  const room = length * 0.05;
  return `${Math.max(0, Math.round(begin - room))},${Math.round(begin + length + room)}`;
}
