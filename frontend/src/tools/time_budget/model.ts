// Summary, charts and tables of the time budget. Pure.
import type { StackChart } from "../../base/chart/chart_spec";
import { filledSeries } from "../../base/chart/chart_data";
import { formatPercent, formatTime, plural } from "../../base/format";
import { BETWEEN, countSteps, idleDevices, segmentsOf } from "../../base/steps/decomposition";
import type { Decomposition, Segment } from "../../base/steps/decomposition";
import { lookOf } from "../../base/steps/step_category";
import { SIDE, joinBy } from "../../base/table/difference";
import { columnsOf, numberColumn, makeTable } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";
import type { Budget, BudgetStep } from "./decode";

const HOST = "idle_host";
/** Least shares of a part, in percent, for a yellow or red headline. */
const FAIR = 5;
const BAD = 20;
const MAX_CAUSE = 60;

/** The device in the address bar: its index, or null for the mean of all. */
export function chooseDevice(budget: Budget, wanted: string | null): number | null {
  const deviceIndex = budget.devices.findIndex(({ label }) => label === wanted);
  return deviceIndex < 0 ? null : deviceIndex;
}

const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0);

type Average = Pick<Decomposition, "base" | "basePs" | "stepPs" | "averagePs" | "groups">;

/** The average step: of one device, or of all that take part. */
export function averageOf({ decomposition, averagePs }: Budget, device: number | null): Average {
  if (device === null) return decomposition;
  const own = averagePs[device] ?? new Map<string, number>();
  const basePs = sum(own.values());
  return { ...decomposition, averagePs: own, basePs, stepPs: basePs - (own.get(BETWEEN) ?? 0) };
}

export const barOf = (budget: Budget, device: number | null): Segment[] => segmentsOf(averageOf(budget, device));

/** Parts of one step: of one device, or the mean over those that take part; null if none does. */
export function partsOf({ timePs, takesPart, parts }: Budget, step: number, device: number | null): number[] | null {
  const rows = (timePs[step] ?? []).filter((_, i) => takesPart[step]?.[i] === true && (device === null || i === device));
  return rows.length === 0 ? null : parts.map((_, part) => sum(rows.map((row) => row[part] ?? 0)) / rows.length);
}

/** A Python frame such as `$train.py:9 load_batch` as "load_batch (train.py:9)". */
export function causeName(name: string): string {
  const frame = /^\$([^ :]+):(\d+) (.+)$/s.exec(name);
  const text = frame ? `${frame[3]} (${frame[1]}:${frame[2]})` : name.replace(/^\$/, "");
  return text.length > MAX_CAUSE ? `${text.slice(0, MAX_CAUSE - 1)}…` : text;
}

/** The summary: the largest part that is not computation, and what is behind it. */
export function headline(budget: Budget): { tone: "good" | "fair" | "bad"; title: string; sentences: string[] } {
  const { decomposition, largest, parts } = budget;
  const { base, stepPs, steps } = decomposition;
  const segments = segmentsOf(decomposition);
  const compute = formatPercent(100 * (segments.find(({ id }) => id === "device_compute")?.share ?? 0));
  const count = budget.devices.filter((_, i) => decomposition.devices[i]?.steps !== 0).length;
  const [cause] = budget.causes;
  const idle = idleDevices(decomposition);
  const sentences = [
    `A step takes ${formatTime(stepPs)} on average over ${countSteps(steps.names.length, decomposition.leftOut)} and ${plural(count, "device")}.`,
  ];
  if (largest?.part === HOST && cause)
    sentences.push(`${causeName(cause.name)} accounts for ${formatPercent(cause.percent)} of the ${base}.`);
  if (idle !== null) sentences.push(idle);
  if (!largest) return { tone: "good", title: `${compute} of the ${base} is device compute; no other cause takes ${FAIR}%`, sentences };
  const part = parts.find(({ id }) => id === largest.part);
  const what = part === undefined ? "between steps" : `${part.category.toLowerCase()} (${part.name.toLowerCase()})`;
  return {
    tone: largest.percent >= BAD ? "bad" : "fair",
    title: `${formatPercent(largest.percent)} of the ${base} is ${what}; ${compute} is device compute`,
    sentences,
  };
}

function stack(
  budget: Budget,
  x: string,
  labels: readonly string[],
  bars: readonly (readonly number[] | null)[],
  unordered: boolean,
): StackChart {
  const series = budget.parts.map((part, i) => ({ name: part.name, values: bars.map((bar) => bar && (bar[i] ?? 0)), ...lookOf(part.id) }));
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
export function stepsChart(budget: Budget, device: number | null): StackChart {
  const bars = budget.steps.map((_, step) => partsOf(budget, step, device));
  return stack(
    budget,
    "Step",
    budget.steps.map(({ name }, i) => name || String(budget.steps[i]?.number ?? i)),
    bars,
    false,
  );
}

/** One bar per device: its average step. */
export function devicesChart(budget: Budget): StackChart {
  const bars = budget.devices.map((_, device) => budget.parts.map(({ id }) => averageOf(budget, device).averagePs.get(id) ?? 0));
  const labels = budget.devices.map(({ label }, i) => (budget.decomposition.devices[i]?.steps === 0 ? `${label} (takes no part)` : label));
  return stack(budget, "Device", labels, bars, true);
}

/** One row per part, by category: time and share in the average step, and what happens between steps. */
export function partsTable(budget: Budget, device: number | null): TableData {
  const { averagePs, basePs, base, groups } = averageOf(budget, device);
  const between = groups.find(({ id }) => id === BETWEEN);
  const rows = [...budget.parts, ...(between && (averagePs.get(BETWEEN) ?? 0) > 0 ? [{ ...between, category: between.name }] : [])];
  const inBetween = device === null ? budget.betweenPs : budget.betweenPs.slice(device, device + 1);
  const betweenPs = budget.parts.map((_, part) => sum(inBetween.map((row) => row[part] ?? 0)) / Math.max(1, inBetween.length));
  const { text, number } = columnsOf(rows);
  const columns = [
    text("category", "Category", "Category of step time.", ({ category }) => category),
    text("part", "Part", "What the device does, or why it does nothing.", ({ name }) => name),
    number(
      "time",
      "Time per step",
      "ps",
      "Mean over the steps and the devices that take part.\nSource: trace.",
      ({ id }) => averagePs.get(id) ?? 0,
    ),
    number("share", `Share of the ${base}`, "fraction", `Time per step divided by the ${base}.`, ({ id }) =>
      basePs > 0 ? (averagePs.get(id) ?? 0) / basePs : null,
    ),
    text("meaning", "Meaning", null, ({ help }) => help),
  ];
  if (sum(betweenPs) > 0)
    columns.splice(
      4,
      0,
      numberColumn("between", "Between steps, in all", "ps", "Time between successive steps, in all.\nSource: trace.", [
        ...betweenPs,
        ...(rows.length > budget.parts.length ? [null] : []),
      ]),
    );
  return makeTable(columns);
}

/** The device of a base: of the same name; null: the mean of all. */
const deviceOf = (base: Budget, wanted: string | null): number | null => (wanted === null ? null : chooseDevice(base, wanted));

/** The table of parts with those of a base, of the device of the same name if there is one, else of the mean of its devices. */
export function withBase(table: TableData, base: Budget | null, wanted: string | null): TableData {
  if (base === null || base.steps.length === 0) return table;
  const joined = joinBy(table, partsTable(base, deviceOf(base, wanted)), ["part"], { sums: ["time", "between"], rates: ["share"] });
  return { ...joined, columns: joined.columns.filter(({ id }) => id !== SIDE) };
}

/** The step in the base and the difference, in a sentence. */
export function stepNote(budget: Budget, base: Budget, wanted: string | null): string {
  if (base.steps.length === 0 || budget.steps.length === 0) return "One side has no steps, so that times per step cannot be compared.";
  const [mine, theirs] = [averageOf(budget, chooseDevice(budget, wanted)).stepPs, averageOf(base, deviceOf(base, wanted)).stepPs];
  const delta = mine - theirs;
  const mean = wanted !== null && deviceOf(base, wanted) === null ? ` The base has no ${wanted}: the mean of its devices is shown.` : "";
  return (
    `A step takes ${formatTime(mine)}, in the base ${formatTime(theirs)}: ${delta > 0 ? "+" : ""}${formatTime(delta)}` +
    `${theirs > 0 ? ` (${delta > 0 ? "+" : ""}${formatPercent((100 * delta) / theirs)})` : ""}.${mean}`
  );
}

/** One row per place of the host's code behind idle time. */
export function causesTable(budget: Budget): TableData {
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
    number("time", "Idle time per step", "ps", "Mean over the steps and the devices of the host.\nSource: trace.", ({ timePs }) => timePs),
    number("share", "Share", "percent", "Idle time divided by the time that the bar divides.", ({ percent }) => percent),
    text("inner", "Deepest event", "The innermost event of the main thread that covers at least 80% of the idle time.", ({ inner }) =>
      inner.replace(/^\$/, ""),
    ),
    ...(several ? [text("host", "Host", null, ({ host }) => host)] : []),
  ]);
}

/** The window of a step on a device in the trace viewer, with some room around it: "from,to" in ps. */
export function windowOf(step: BudgetStep, device: number): string {
  const [begin, length] = [step.beginPs[device] ?? 0, step.durationPs[device] ?? 0];
  const room = length * 0.05;
  return `${Math.max(0, Math.round(begin - room))},${Math.round(begin + length + room)}`;
}
