// The roofline chart: points of ops or programs on logarithmic axes, and the roofs of the device. Pure.
import type { GuideLine, ScatterChart, ScatterSeries, Shape } from "../../base/chart/chart_spec";
import { MISSING, formatPercent, formatQuantity, formatTime } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { allowed, drawable, isStep } from "./model";
import type { RoofMemory } from "../../base/documents";
import type { Choice, Point, Roofline } from "./model";

/** Exponents of ten. */
type Decades = readonly [number, number];

/** The range of whole decades that contains the positive values. */
function decades(values: readonly number[]): Decades {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return [0, 1];
  const low = Math.floor(Math.log10(positive.reduce((a, b) => Math.min(a, b))) - 0.1);
  const high = Math.ceil(Math.log10(positive.reduce((a, b) => Math.max(a, b))) + 0.1);
  return [low, Math.max(low + 1, high)];
}

/** Decades of both axes: x covers all points and ridges, y all points and the peak. Roofs may start below the plot. */
export function extentOf(points: readonly Point[], roofs: readonly RoofMemory[], peak: number | null): { x: Decades; y: Decades } {
  const x = decades([...points.map(({ intensity }) => intensity), ...roofs.map(({ ridge_flops_per_byte }) => ridge_flops_per_byte)]);
  const rates = points.map(({ rate }) => rate).filter((rate) => rate > 0);
  const atLeft =
    peak === null || rates.length > 0
      ? []
      : roofs
          .map((roof) => allowed(roof, peak, 10 ** x[0]))
          .sort((a, b) => a - b)
          .slice(0, 1);
  return { x, y: decades([...rates, ...(peak === null ? [] : [peak]), ...atLeft]) };
}

/** Positions along the slope, staggered so that labels of neighbouring roofs do not overlap. */
const LABELS_AT = [0.3, 0.04, 0.55, 0.04, 0.55];
const READ_DASH = [7, 4];
const WRITE_DASH = [2, 3];

/** A roof: the slope from the left or bottom edge up to its ridge, then the peak. */
export function roofLine(roof: RoofMemory, peak: number, extent: { x: Decades; y: Decades }, index: number): GuideLine {
  const [left, floor] = [10 ** extent.x[0], 10 ** extent.y[0]];
  const atLeft = allowed(roof, peak, left);
  const start = atLeft >= floor ? left : left * (floor / atLeft);
  const slope: [number, number][] = start < roof.ridge_flops_per_byte ? [[start, allowed(roof, peak, start)]] : [];
  const style = roof.id.endsWith("_read")
    ? { colour: 5, dash: READ_DASH }
    : roof.id.endsWith("_write")
      ? { colour: 2, dash: WRITE_DASH }
      : { colour: null };
  return {
    label: `${roof.name} ${formatQuantity(roof.peak_gib_per_s, "GiB/s")}`,
    labelAt: LABELS_AT[index] ?? 0.3,
    labelBelow: roof.id === "hbm",
    corners: [...slope, [Math.max(start, roof.ridge_flops_per_byte), peak], [10 ** extent.x[1], peak]],
    ...style,
  };
}

/** The peak along the top, labelled at its right end. */
function peakLine(peak: number, { x }: { x: Decades }): GuideLine {
  return {
    label: `Peak ${formatQuantity(peak, "GFLOP/s")}`,
    labelAt: 0,
    corners: [
      [10 ** (x[0] + (x[1] - x[0]) * 0.8), peak],
      [10 ** x[1], peak],
    ],
    colour: null,
  };
}

const SHAPES: readonly Shape[] = ["circle", "square", "diamond", "triangle"];
const PROGRAM = "Program";

/** Diameter in px that grows with the square root of the time share. */
function sizeOf(point: Point): number {
  return point.program ? 16 : 8 + 18 * Math.sqrt(Math.min(1, Math.max(0, point.share)));
}

/** Eight hues in four shapes distinguish 32 series; stars are the program. Long ops come first, so that short ones are drawn on top. */
function seriesOf(name: string, points: readonly Point[], index: number): ScatterSeries {
  const mark =
    name === PROGRAM
      ? { shape: "star" as const, colour: 5 }
      : { shape: SHAPES[(index + Math.floor(index / 8)) % SHAPES.length] ?? "circle", colour: index };
  const ordered = [...points].sort((a, b) => b.share - a.share || Number(isStep(b)) - Number(isStep(a)));
  return { name, ...mark, points: ordered.map((point) => ({ place: point.row, x: point.intensity, y: point.rate, size: sizeOf(point) })) };
}

/** Series of points: ops by category, longest first, and the program; or the steps and the total. */
function groupPoints(points: readonly Point[], roofline: Roofline, { view, transfers }: Choice): Map<string, Point[]> {
  const grouped = new Map<string, Point[]>();
  const add = (name: string, point: Point): void => {
    if (!drawable(point)) return;
    const list = grouped.get(name);
    if (list) list.push(point);
    else grouped.set(name, [point]);
  };
  for (const point of points) add(view === "ops" ? point.category || "other" : isStep(point) ? "Steps" : point.step, point);
  if (view === "ops")
    for (const point of roofline.points) if (point.program && point.step === "Total" && point.transfers === transfers) add(PROGRAM, point);
  return grouped;
}

/** The chart of the selected points; indexes are rows of the response's table. */
export function rooflineChart(points: readonly Point[], roofline: Roofline, choice: Choice, table: () => TableData): ScatterChart {
  const { memories: roofs, peak_gflops_per_s: peak } = roofline.document;
  const groups = groupPoints(points, roofline, choice);
  const drawn = [...groups.values()].flat();
  const byRow = new Map(drawn.map((point) => [point.row, point]));
  const extent = extentOf(drawn, roofs, peak);
  return {
    kind: "scatter",
    x: { name: "Operational intensity (FLOP/byte), logarithmic", unit: null, from: extent.x[0], to: extent.x[1] },
    y: { name: "GFLOP/s, logarithmic", unit: null, from: extent.y[0], to: extent.y[1] },
    series: [...groups].map(([name, list], i) => seriesOf(name, list, i)),
    guides: peak === null ? [] : [...roofs.map((roof, i) => roofLine(roof, peak, extent, i)), peakLine(peak, extent)],
    sentence: `Roofline, both axes logarithmic: ${drawn.length} points, ${roofs.length} roofs. Enter shows the row of a point.`,
    tip: (place) => {
      const point = byRow.get(place);
      return point ? { title: titleOf(point), lines: pointLines(point).map(([name, text]) => ({ name, text, colour: null })) } : null;
    },
    table,
  };
}

function titleOf({ program, label, step, category }: Point): string {
  if (program) return `${label}, ${/^\d+$/.test(step) ? `step ${step}` : step.toLowerCase()}`;
  return category ? `${label} (${category})` : label;
}

function pointLines(point: Point): [string, string][] {
  return [
    ["FLOP rate", formatQuantity(point.rate, "GFLOP/s")],
    ["Intensity", formatQuantity(point.intensity, "FLOP/B")],
    ["Roofline efficiency", point.efficiency === null ? MISSING : formatPercent(point.efficiency * 100)],
    ["Closest limit", point.bound],
    ["Total time", formatTime(point.timeUs * 1e6)],
    ...(point.program ? [] : [["Self time share", formatPercent(point.share * 100)] as [string, string]]),
  ];
}
