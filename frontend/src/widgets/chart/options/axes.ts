// ECharts options of grids and axes.
import type { EChartsCoreOption } from "echarts/core";
import { axisUnit } from "../../../base/chart/chart_data";
import type { Axis, NumberAxis } from "../../../base/chart/chart_spec";
import { cutMiddle } from "../../../base/format";
import type { ChartStyle } from "../style";

export type Option = Record<string, unknown>;

/** Above the plot: room for the name of the y axis. */
const TOP = 26;
const LABEL_CHARS = 22;
/** Shorter if there are many, so that the outer ones do not shrink the plot. */
const SHORT_CHARS = 14;

/** "Step time (ms)". */
function axisName(axis: Axis, unit: string | null): string {
  const shown = unit === "percent" ? "%" : unit;
  return shown && shown !== "fraction" ? `${axis.name} (${shown})` : axis.name;
}

function tick(value: number, factor: number): string {
  const shown = value * factor;
  return Number(shown.toPrecision(6)).toLocaleString("en-US", { maximumSignificantDigits: 6 });
}

/** The plot and, around it, the bounds of labels; `below` is the room for the name of the x axis. */
export function grid(below: number, right = 12): Option {
  return {
    left: 4,
    right,
    top: TOP,
    bottom: below + 4,
    outerBoundsMode: "same",
    outerBounds: { left: 4, right: 4, top: TOP, bottom: below },
    outerBoundsContain: "axisLabel",
  };
}

export function base(style: ChartStyle): EChartsCoreOption {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: style.font, fontSize: 12, color: style.text },
    grid: grid(26),
  };
}

/** About five steps of 1, 2, 2.5 or 5 times a power of ten. */
export function niceStep(most: number): number {
  if (!(most > 0)) return 1;
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 2.5, 5]) if (factor * power >= rough * 0.85) return factor * power;
  return 10 * power;
}

/** A maximum above the last step by less than this fraction of a step does not add another step. */
const TOLERANCE = 0.005;

/** Ends and step of a value axis. Steps are round in the displayed unit, not in that of the data. */
function valueRange(
  { unit, max, from = 0 }: Axis & { max?: number; from?: number },
  most: number,
): { min: number; max: number; interval: number; unit: string | null; factor: number } {
  const shown = axisUnit(most, unit);
  const interval = niceStep(((max ?? most) - from) * shown.factor) / shown.factor;
  const end = max ?? (most > 0 ? Math.ceil(most / interval - TOLERANCE) * interval : 1);
  return { ...shown, min: Math.floor(from / interval) * interval, max: end, interval: most > 0 || max !== undefined ? interval : 1 };
}

export function valueAxis(axis: Axis & { max?: number; from?: number }, most: number, style: ChartStyle): Option {
  const { min, max, interval, unit, factor } = valueRange(axis, most);
  return {
    type: "value",
    name: axisName(axis, unit),
    nameTextStyle: { color: style.dim, align: "left", padding: [0, 0, 0, -8] },
    nameGap: 10,
    min,
    max,
    interval,
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { color: style.dim, formatter: (value: number) => tick(value, factor) },
    splitLine: { lineStyle: { color: style.border } },
  };
}

/** A second value axis on the right, without grid lines of its own. */
export function rightAxis(axis: Axis & { max: number }, style: ChartStyle): Option {
  return {
    ...valueAxis(axis, axis.max, style),
    position: "right",
    nameTextStyle: { color: style.dim, align: "right" },
    splitLine: { show: false },
  };
}

/** Numbers along x, from `from` to `to` exactly. */
export function numberAxis({ name, from, to, labelFactor = 1 }: NumberAxis, style: ChartStyle): Option {
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: 24,
    nameTextStyle: { color: style.dim },
    min: from,
    max: to > from ? to : from + 1,
    axisLine: { show: true, onZero: false, lineStyle: { color: style.dim } },
    axisTick: { show: true, lineStyle: { color: style.dim } },
    // the ends of a zoomed axis are not round numbers
    axisLabel: {
      color: style.dim,
      hideOverlap: true,
      showMinLabel: from === 0,
      showMaxLabel: false,
      formatter: (value: number) => tick(value, labelFactor),
    },
    splitLine: { show: false },
  };
}

function powerText(power: number): string {
  if (power >= -2 && power <= 3) return (10 ** power).toLocaleString("en-US");
  return `10${String(power).replace(/[-\d]/g, (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)] ?? "")}`;
}

/** Whole powers of ten, from `from` to `to` (exponents). */
export function logAxis({ name, from, to }: Axis & { from: number; to: number }, style: ChartStyle): Option {
  return {
    type: "log",
    name,
    nameTextStyle: { color: style.dim },
    min: 10 ** from,
    max: 10 ** to,
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { color: style.dim, formatter: (value: number) => powerText(Math.round(Math.log10(value))) },
    splitLine: { lineStyle: { color: style.border } },
  };
}

const CHAR_PX = 6.5;
const LABEL_GAP_PX = 14;
const MAX_SLANTED = 40;
/** Room for each slanted label. */
const SLANTED_PX = 22;

/** Whether names (not numbers) do not fit side by side and are slanted, so that all are shown. */
export function slanted(labels: readonly string[], width: number): boolean {
  const names =
    labels.length <= MAX_SLANTED && labels.length * SLANTED_PX <= width - 80 && labels.some((label) => !/^[\d.%]+$/.test(label));
  const longest = labels.reduce((most, label) => Math.max(most, Math.min(LABEL_CHARS, label.length)), 0);
  return names && (longest * CHAR_PX + 8) * labels.length > width - 80;
}

const shownChars = (labels: readonly string[]): number => (labels.length > MAX_SLANTED ? SHORT_CHARS : LABEL_CHARS);

const NICE = [1, 2, 5];

/** Every how many labels one is shown, a round number, so that all that are shown fit side by side. */
export function labelStep(labels: readonly string[], width: number): number {
  const longest = labels.reduce((most, label) => Math.max(most, Math.min(shownChars(labels), label.length)), 0);
  const room = Math.max(1, Math.floor((width - 80) / (longest * CHAR_PX + LABEL_GAP_PX)));
  for (let power = 1; ; power *= 10) for (const nice of NICE) if (labels.length <= nice * power * room) return nice * power;
}

/** Labels along x, in columns or at points. */
export function labelAxis(axis: Axis & { labels: readonly string[] }, columns: boolean, style: ChartStyle): Option {
  const slant = slanted(axis.labels, style.width);
  const step = labelStep(axis.labels, style.width);
  return {
    type: "category",
    data: [...axis.labels],
    name: slant ? "" : axis.name,
    nameLocation: "middle",
    nameGap: 24,
    nameTextStyle: { color: style.dim },
    boundaryGap: columns,
    axisTick: { show: false },
    axisLine: { lineStyle: { color: style.dim } },
    axisLabel: {
      color: style.dim,
      ...(slant ? { interval: 0, rotate: 32 } : { interval: step - 1 }),
      // centred at the last point, it would end outside
      ...(!slant && !columns && (axis.labels.length - 1) % step === 0 ? { alignMaxLabel: "right" } : {}),
      formatter: (label: string) => cutMiddle(label, shownChars(axis.labels)),
    },
  };
}

/** Stripes over a fill, so that it is recognisable without colour. */
export function stripes(style: ChartStyle): Option {
  return {
    color: style.theme === "dark" ? "rgba(0,0,0,0.3)" : "rgba(255,255,255,0.4)",
    dashArrayX: [1, 0],
    dashArrayY: [2, 5],
    rotation: -Math.PI / 4,
  };
}
