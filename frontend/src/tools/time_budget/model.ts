// Summary, charts and tables of the time budget. Pure.
import type { Colour, StackChart } from "../../base/chart/chart_spec";
import { filledSeries } from "../../base/chart/chart_data";
import { formatPercent, formatTime, plural } from "../../base/format";
import { BUDGET_CATEGORIES, CATEGORIES } from "../../base/steps/step_category";
import { SIDE, joinBy } from "../../base/table/difference";
import { columnsOf, numberColumn, makeTable } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";
import type { SharePart } from "../../widgets/chart/share_bar";
import type { Budget, BudgetStep, Part } from "./decode";

/** What the step is spent on if a part is the largest but computation. */
const SPENT: Readonly<Record<string, string>> = {
  exposed_communication: "exposed communication",
  exposed_copy: "exposed copies",
  idle_input: "waiting for input",
  idle_compile: "waiting for compilation",
  idle_host: "waiting for host code",
  idle_transfer: "idle because the host waits for results",
  idle_launch: "waiting for work to be launched",
  idle_peer: "waiting for another device",
};
const COMPUTE = "compute";
const HOST = "idle_host";
/** Least shares of a part, in percent, for a yellow or red headline. */
const FAIR = 5;
const BAD = 20;
const MAX_CAUSE = 60;

export interface Look {
  colour: Colour;
  striped: boolean;
}

export function lookOf(id: string): Look {
  const category = CATEGORIES[BUDGET_CATEGORIES[id] ?? "other"];
  return { colour: category.colour, striped: category.striped ?? false };
}

/** The device in the address bar: its index, or null for the mean of all. */
export function chooseDevice(budget: Budget, wanted: string | null): number | null {
  const deviceIndex = budget.devices.findIndex(({ label }) => label === wanted);
  return deviceIndex < 0 ? null : deviceIndex;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Parts of one step: of one device, or the mean over all. */
export function partsOf(budget: Budget, step: number, device: number | null): number[] {
  const rows = budget.timePs[step] ?? [];
  const chosen = device === null ? rows : rows.slice(device, device + 1);
  return budget.parts.map((_, part) => sum(chosen.map((row) => row[part] ?? 0)) / Math.max(1, chosen.length));
}

/** Parts of the average step: of one device, or the mean over all. */
export function averageParts(budget: Budget, device: number | null): number[] {
  const steps = budget.steps.map((_, step) => partsOf(budget, step, device));
  return budget.parts.map((_, part) => sum(steps.map((one) => one[part] ?? 0)) / Math.max(1, steps.length));
}

export function shareParts(parts: readonly Part[], times: readonly number[]): SharePart[] {
  const total = sum(times);
  return parts.flatMap((part, i) => {
    const time = times[i] ?? 0;
    return time > 0 && total > 0
      ? [{ name: part.name, share: time / total, text: formatTime(time), help: part.help, ...lookOf(part.id) }]
      : [];
  });
}

/** A Python frame such as `$train.py:9 load_batch` as "load_batch (train.py:9)". */
export function causeName(name: string): string {
  const frame = /^\$([^ :]+):(\d+) (.+)$/s.exec(name);
  const text = frame ? `${frame[3]} (${frame[1]}:${frame[2]})` : name.replace(/^\$/, "");
  return text.length > MAX_CAUSE ? `${text.slice(0, MAX_CAUSE - 1)}…` : text;
}

/** The summary: the largest part that is not computation, and what is behind it. */
export function headline(budget: Budget): { tone: "good" | "fair" | "bad"; title: string; sentences: string[] } {
  const times = averageParts(budget, null);
  const total = sum(times);
  const compute = total > 0 ? (100 * (times[budget.parts.findIndex(({ id }) => id === COMPUTE)] ?? 0)) / total : 0;
  const { largest } = budget;
  const [cause] = budget.causes;
  const sentences = [
    `A step takes ${formatTime(total)} on average over ${plural(budget.steps.length, "step")} and ${plural(budget.devices.length, "device")}.`,
  ];
  if (largest?.part === HOST && cause) sentences.push(`${causeName(cause.name)} accounts for ${formatPercent(cause.percent)} of the step.`);
  const rest = total > 0 ? betweenTotal(budget) / (total * budget.steps.length * Math.max(1, budget.devices.length)) : 0;
  if (rest >= FAIR / 100) sentences.push(`The time between steps adds ${formatPercent(100 * rest)} to that of the steps.`);
  if (!largest)
    return {
      tone: "good",
      title: `The devices compute for ${formatPercent(compute)} of the step; no other cause takes ${FAIR}%`,
      sentences,
    };
  const what = SPENT[largest.part] ?? largest.part;
  return {
    tone: largest.percent >= BAD ? "bad" : "fair",
    title: `${formatPercent(largest.percent)} of the step is ${what}; ${formatPercent(compute)} is computation`,
    sentences,
  };
}

function betweenTotal(budget: Budget): number {
  return sum(budget.betweenPs.map(sum));
}

function stack(budget: Budget, x: string, labels: readonly string[], bars: readonly (readonly number[])[], unordered: boolean): StackChart {
  const used = budget.parts
    .map((part, i) => ({ part, values: bars.map((bar) => bar[i] ?? 0) }))
    .filter(({ values }) => values.some((value) => value > 0));
  return {
    kind: "stack",
    x: { name: x, unit: null, labels },
    y: { name: "Time", unit: "ps" },
    series: filledSeries(used.map(({ part, values }) => ({ name: part.name, values, ...lookOf(part.id) }))),
    total: "Step",
    unordered,
  };
}

/** One bar per step. */
export function stepsChart(budget: Budget, device: number | null): StackChart {
  return stack(
    budget,
    "Step",
    budget.steps.map(({ name }) => name),
    budget.steps.map((_, step) => partsOf(budget, step, device)),
    false,
  );
}

/** One bar per device: its average step. */
export function devicesChart(budget: Budget): StackChart {
  return stack(
    budget,
    "Device",
    budget.devices.map(({ label }) => label),
    budget.devices.map((_, device) => averageParts(budget, device)),
    true,
  );
}

/** One row per part: time and share in the average step, and between steps. */
export function partsTable(budget: Budget, device: number | null): TableData {
  const times = averageParts(budget, device);
  const total = sum(times);
  const rows = device === null ? budget.betweenPs : budget.betweenPs.slice(device, device + 1);
  const between = budget.parts.map((_, part) => sum(rows.map((row) => row[part] ?? 0)) / Math.max(1, rows.length));
  const { text, number } = columnsOf(budget.parts);
  const columns = [
    text("part", "Part", "What the device does, or why it does nothing.", ({ name }) => name),
    numberColumn("time", "Time per step", "ps", "Mean over the steps.\nSource: trace.", times),
    number("share", "Share of the step", "fraction", "Time per step divided by that of all parts.", (_, part) => {
      return total > 0 ? (times[part] ?? 0) / total : null;
    }),
    text("meaning", "Meaning", null, ({ help }) => help),
  ];
  if (sum(between) > 0)
    columns.splice(3, 0, numberColumn("between", "Between steps", "ps", "Time between successive steps, in all.\nSource: trace.", between));
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
  const [mine, theirs] = [sum(averageParts(budget, chooseDevice(budget, wanted))), sum(averageParts(base, deviceOf(base, wanted)))];
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
    number("share", "Share of the step", "percent", "Idle time divided by the time of the steps.", ({ percent }) => percent),
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
