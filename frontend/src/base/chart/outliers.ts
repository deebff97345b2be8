// Places of a chart that are far above all others: the axis ends at the 99th percentile, and they are marked.
import { formatQuantity, plural } from "../format";
import { totalAt } from "./chart_data";
import type { BandChart, ChartSpec, StackChart } from "./chart_spec";

interface Outliers {
  /** The 99th percentile: where the axis ends. */
  readonly top: number;
  readonly most: number;
  /** Ascending. */
  readonly places: readonly number[];
}

/** The axis is cut only if the largest value is this many times the 99th percentile. */
const FAR = 4;
/** Of fewer places none is far from the others. */
const FEWEST = 5;

/** What a chart cuts; null if it cuts nothing. Of fewer than 100 places the largest alone may be cut. */
export function outliersOf(spec: ChartSpec): Outliers | null {
  if ((spec.kind !== "stack" && spec.kind !== "band") || !spec.cutsOutliers) return null;
  const values = heights(spec);
  if (values.length < FEWEST) return null;
  const sorted = Float64Array.from(values).sort();
  const most = sorted[sorted.length - 1] ?? 0;
  const top = sorted[sorted.length - 1 - Math.ceil(sorted.length / 100)] ?? 0;
  if (!(top > 0) || most < FAR * top) return null;
  return { top, most, places: values.flatMap((value, place) => (value > top ? [place] : [])) };
}

/** "94 of 9,500 steps are above 1.266 s, up to 20.49 s"; "" if nothing is cut. */
export function outlierNote(spec: ChartSpec): string {
  const cut = outliersOf(spec);
  if (!cut || (spec.kind !== "stack" && spec.kind !== "band")) return "";
  const [top, most] = [cut.top, cut.most].map((value) => formatQuantity(value, spec.y.unit));
  const count = cut.places.length;
  const all = plural(spec.x.labels.length, spec.x.name.toLowerCase());
  return `${count.toLocaleString("en-US")} of ${all} ${count === 1 ? `is ${most}` : `are above ${top}, up to ${most}`}: cut, drag over it to see all`;
}

function heights(spec: StackChart | BandChart): number[] {
  if (spec.kind === "stack") return spec.x.labels.map((_, place) => totalAt(spec, place));
  return spec.x.labels.map((_, place) => Math.max(spec.high?.[place] ?? 0, spec.line.values[place] ?? 0));
}
