// What the page of the trend shows of a series: charts, marks, tables, and the baseline. Pure.
import type { TrendAnswer, TrendChange, TrendPlace, TrendRuns, TrendSeries } from "../../api/trend";
import type { BandChart, Mark, StackChart } from "../../base/chart/chart_spec";
import { formatDate, formatPercent, formatTime, plural } from "../../base/format";
import { median } from "../../base/median";
import { lookOf } from "../../base/steps/step_category";
import { columnsOf, makeTable, textColumn } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";

/** Characters of a commit that tell it from others. */
const COMMIT = 10;
const LABEL = "label:";

/** What the axis of runs can show: ids for the address, and their names. */
export function axesOf(runs: TrendRuns): { id: string; name: string }[] {
  const labels = Object.keys(runs.labels).map((key) => ({ id: LABEL + key, name: key }));
  return [{ id: "run", name: "Run" }, { id: "date", name: "Date" }, ...labels];
}

/** The texts of the axis, one per run of a series. */
export function axisLabels(runs: TrendRuns, series: TrendSeries, axis: string): string[] {
  const key = axis.startsWith(LABEL) ? axis.slice(LABEL.length) : null;
  return series.rows.map((row) => {
    if (key !== null) return runs.labels[key]?.[row]?.slice(0, key === "commit" ? COMMIT : undefined) || "-";
    const written = runs.written_ms[row] ?? 0;
    return axis === "date" ? (written ? formatDate(written).slice(0, 16) : "-") : (runs.run[row] ?? "");
  });
}

/** The part of a series between two positions, inclusive, that others are compared with. */
export interface Baseline {
  from: number;
  to: number;
}

/** The baseline as a text of the address: the names of its first and last run. */
export const writeBaseline = (names: readonly string[], { from, to }: Baseline): string =>
  [names[from], names[to]].map((name) => encodeURIComponent(name ?? "")).join(",");

/** The baseline of the address; null if the series lacks its runs. */
export function readBaseline(names: readonly string[], text: string | null): Baseline | null {
  const [from = -1, to = -1] = (text ?? "").split(",").map((name) => names.findIndex((one) => encodeURIComponent(one) === name));
  return from < 0 || to < from ? null : { from, to };
}

/** The newest run against the median of the baseline, in a sentence. */
export function againstBaseline(names: readonly string[], values: readonly number[], { from, to }: Baseline): string {
  const usual = median(values.slice(from, to + 1));
  const newest = values.at(-1) ?? 0;
  const change = usual > 0 ? `, ${signed((100 * (newest - usual)) / usual)}` : "";
  const runs =
    from === to ? (names[from] ?? "") : `the median of ${plural(to - from + 1, "run")}, ${names[from] ?? ""} to ${names[to] ?? ""}`;
  return `The newest run takes ${formatTime(newest)} against ${formatTime(usual)} of ${runs}${change}.`;
}

/** A percentage with its sign. */
export const signed = (percent: number): string => `${percent > 0 ? "+" : ""}${formatPercent(percent)}`;

/** Steps over runs. */
export function stepChart(series: TrendSeries, labels: readonly string[], axis: string, adjusted: boolean): BandChart {
  const values = adjusted ? series.adjusted_ps : series.step_ps;
  return {
    kind: "band",
    x: { name: axis, unit: null, labels },
    y: { name: "Step time", unit: "ps", from: lowest(values) },
    line: { name: "Step time", colour: 0, values },
  };
}

/** Where an axis begins so that changes of a few percent can be seen: 0 if the values reach near it. */
function lowest(values: readonly number[]): number {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return values.length === 0 || least < most / 3 ? 0 : Math.max(least - (most - least) / 3, 0);
}

/** Lines at the changes with the intervals of their sizes, and the baseline as a span. */
export function marksOf(series: TrendSeries, baseline: Baseline | null): Mark[] {
  const changes = series.changes.map(({ index, kind, change_percent: change, low_percent: low, high_percent: high }): Mark => {
    const mark = { from: index, colour: null };
    if (change === null || low === null || high === null) return mark;
    const what = `${kind === "machine" ? "all ops " : ""}${signed(change)}`;
    return { ...mark, label: `${what}\n${signed(low)} to ${signed(high)}` };
  });
  return baseline === null ? changes : [{ from: baseline.from, to: baseline.to, colour: null, label: "baseline" }, ...changes];
}

/** The parts of the step over runs. */
export function partsChart(series: TrendSeries, labels: readonly string[], axis: string): StackChart {
  return {
    kind: "stack",
    x: { name: axis, unit: null, labels },
    y: { name: "Step time", unit: "ps" },
    series: series.parts.map(({ id, name, ps }) => ({ name, values: ps, ...lookOf(id) })),
    total: "Step",
  };
}

/** A place over runs. */
export function placeChart(place: TrendPlace, labels: readonly string[], axis: string): BandChart {
  return {
    kind: "band",
    x: { name: axis, unit: null, labels },
    y: { name: "Per step", unit: "ps", from: lowest(place.ps) },
    line: { name: place.name, colour: 0, values: place.ps },
  };
}

const KINDS: Readonly<Record<TrendChange["kind"], string>> = {
  step: "step",
  moved: "places, the step takes as long",
  places: "places",
  machine: "all ops together",
};

/** The changes of a series, a row each. */
export function changesTable({ changes }: TrendSeries, names: readonly string[]): TableData {
  const of = columnsOf(changes);
  return makeTable([
    of.text("since", "Since", "First run that has the change.", ({ index }) => names[index]),
    of.text("kind", "What", "What takes longer or shorter.", ({ kind }) => KINDS[kind]),
    of.number("before_ps", "Before", "ps", "Step before, without what all ops share.", (one) => one.before_ps),
    of.number("after_ps", "After", "ps", "Step afterwards, without what all ops share.", (one) => one.after_ps),
    { ...of.number("change_percent", "Change", "percent", "Of the level before.", (one) => one.change_percent), signed: true },
    { ...of.number("low_percent", "Low", "percent", "Lower end of its 95% interval.", (one) => one.low_percent), signed: true },
    { ...of.number("high_percent", "High", "percent", "Upper end of its 95% interval.", (one) => one.high_percent), signed: true },
    of.text("until", "Until", "First run in which the step is back at the level before.", ({ gone }) =>
      gone === null ? null : names[gone],
    ),
    of.text("places", "Places", "Where the time went, the largest difference first.", ({ parts }) =>
      parts.map(({ name, before_ps, after_ps }) => `${name} ${formatTime(before_ps)} to ${formatTime(after_ps)}`).join(", "),
    ),
    of.text("labels", "Labels", "Labels that differ between the runs on both sides.", ({ labels }) => labels),
  ]);
}

/** The runs of a series, a row each. */
export function runsTable(runs: TrendRuns, series: TrendSeries): TableData {
  const of = columnsOf(series.rows);
  return makeTable([
    of.text("run", "Run", "Name of the run.", (row) => runs.run[row]),
    of.text("recorded", "Recorded", "When it was recorded, local time.", (row) =>
      runs.written_ms[row] ? formatDate(runs.written_ms[row]) : null,
    ),
    of.number("step_ps", "Step", "ps", "Mean of its ordinary steps.", (_, at) => series.step_ps[at] ?? null),
    of.number("adjusted_ps", "Adjusted", "ps", "The step without what all ops of a run share.", (_, at) => series.adjusted_ps[at] ?? null),
    of.number("steps", "Steps", null, "Recorded steps.", (row) => runs.steps[row] ?? null),
    of.number(
      "memory_bytes",
      "Memory peak",
      "bytes",
      "The largest of its programs; missing if unknown.",
      (row) => runs.memory_bytes[row] || null,
    ),
    ...Object.entries(runs.labels).map(([key, values]) =>
      textColumn(
        `label_${key}`,
        key,
        "A label of the run.",
        series.rows.map((row) => values[row]),
      ),
    ),
  ]);
}

/** The series of a run, else the one with most runs. */
export function usualSeries({ runs, series }: TrendAnswer, run: string | null): number {
  const row = run === null ? -1 : runs.run.indexOf(run);
  const own = series.findIndex(({ rows }) => rows.includes(row));
  return own >= 0 ? own : series.reduce((best, one, at) => (one.rows.length > (series[best]?.rows.length ?? 0) ? at : best), 0);
}

/** The runs that are in no series, with the reasons, and what is odd about others. */
export function remarksTable({ run, problem, note }: TrendRuns): TableData {
  const rows = run.flatMap((_, row) => (problem[row] || note[row] ? [row] : []));
  const of = columnsOf(rows);
  return makeTable([
    of.text("run", "Run", "Name of the run.", (row) => run[row]),
    of.text("followed", "In a series", "Whether it is in a series.", (row) => (problem[row] ? "no" : "yes")),
    of.text("why", "Why", "Why it has no figures, or what is odd about it.", (row) => problem[row] || note[row]),
  ]);
}

/** How many runs are left out, and how many are odd. */
export function remarksTitle({ problem, note }: TrendRuns): string {
  const out = problem.filter(Boolean).length;
  const odd = note.filter((text, row) => text && !problem[row]).length;
  return [out ? `Left out: ${plural(out, "run")}` : "", odd ? `Odd: ${plural(odd, "run")}` : ""].filter(Boolean).join(". ");
}
