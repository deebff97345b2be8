// Steps and the breakdown of their time, shared by the overview and the input pipeline page. Pure.
import type { StackChart } from "../chart/chart_spec";
import { filledSeries } from "../chart/chart_data";
import { formatPercent, formatQuantity } from "../format";
import { lookOf } from "./step_category";

/** Statistics over steps, in the unit of the values. */
export interface Statistics {
  average: number;
  /** Sample standard deviation; null of a single step. */
  deviation: number | null;
  minimum: number;
  maximum: number;
}

export interface StepPart {
  /** Id of the category, whose look it has. */
  category: string;
  name: string;
  help: string;
  ms: readonly number[];
}

export interface StepBreakdown {
  labels: readonly string[];
  /** In documented order; the first is at the bottom of the graph. */
  parts: readonly StepPart[];
  totalMs: readonly number[];
  /** In ms; null without steps. */
  time: Statistics | null;
}

/** 0 for deviations that come from rounding errors of sums only. */
function rounded(deviation: number, average: number): number {
  return deviation < Math.abs(average) * 1e-9 ? 0 : deviation;
}

/** Average, sample standard deviation, minimum and maximum; null without values. */
export function statisticsOf(values: readonly number[]): Statistics | null {
  const count = values.length;
  if (count === 0) return null;
  const average = values.reduce((a, b) => a + b, 0) / count;
  const squares = values.reduce((all, value) => all + (value - average) ** 2, 0);
  return {
    average,
    deviation: count > 1 ? rounded(Math.sqrt(squares / (count - 1)), average) : null,
    minimum: values.reduce((a, b) => Math.min(a, b)),
    maximum: values.reduce((a, b) => Math.max(a, b)),
  };
}

/** The step-time graph. */
export function stepChart(steps: StepBreakdown): StackChart {
  const series = steps.parts.map(({ name, category, ms }) => ({ name, values: ms, ...lookOf(category) }));
  return {
    kind: "stack",
    x: { name: "Step", unit: null, labels: steps.labels },
    y: { name: "Step time", unit: "ms" },
    series: filledSeries(series),
    total: "All parts",
    cutsOutliers: true,
  };
}

/** "950.8 ms on average (σ 111.1 ms, from 782.1 ms to 1.113 s)"; "2 ms each" if all are equal. */
export function describeTime({ average, deviation, minimum, maximum }: Statistics, unit = "ms"): string {
  const text = (value: number): string => formatQuantity(value, unit);
  if (deviation === 0) return `${text(average)} each`;
  const spread = deviation === null ? "" : ` (${text(minimum)} to ${text(maximum)})`;
  return `${text(average)} on average${spread}`;
}

export type Tone = "good" | "fair" | "bad" | "none";

export interface Limit {
  tone: Tone;
  title: string;
}

/** The headline for a program that the server classifies as input-bound; null for others. `base`: what the share is of. */
export function inputLimit(level: string, percent: number, base: string): Limit | null {
  const share = `${formatPercent(percent)} of the ${base}`;
  switch (level) {
    case "HIGHLY":
      return { tone: "bad", title: `Input-bound: ${share} waits for input` };
    case "MODERATELY":
      return { tone: "fair", title: `Moderately input-bound: ${share} waits for input` };
    case "POTENTIALLY":
      return { tone: "fair", title: `Possibly input-bound: ${share} is unexplained` };
    default:
      return null;
  }
}
