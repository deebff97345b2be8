// What a chart shows, as data: pages build it, the chart widget draws it.
import type { Theme } from "../colour";
import type { TableData } from "../table/table_data";

/** One colour per theme, or a hue of the categorical palette (0-based). */
export type Colour = Readonly<Record<Theme, string>> | number;

export interface Axis {
  name: string;
  unit: string | null;
}

export interface Series {
  name: string;
  colour: Colour;
  values: readonly (number | null)[];
  striped?: boolean;
}

/** Stacked parts per label; the first series is at the bottom. */
export interface StackChart {
  kind: "stack";
  x: Axis & { labels: readonly string[] };
  y: Axis;
  series: readonly Series[];
  /** Name of the sum in the tip; without it the tip shows no sum. */
  total?: string;
  /** The labels have no order (workers), so that they are drawn as columns, never as an area. */
  unordered?: boolean;
  /** Writes the sum above each column. */
  showTotal?: boolean;
  /** A few places far above all others are cut and marked, so that the others can be seen: `outliers.ts`. */
  cutsOutliers?: boolean;
}

/** A line, with its range if it has one. */
export interface BandChart {
  kind: "band";
  x: Axis & { labels: readonly string[] };
  /** `from`: where the axis begins, 0 unless given. */
  y: Axis & { max?: number; from?: number };
  line: Series;
  low?: readonly (number | null)[];
  high?: readonly (number | null)[];
  cutsOutliers?: boolean;
}

/** Horizontal bars in the order given. */
export interface BarsChart {
  kind: "bars";
  x: Axis & { labels: readonly string[] };
  y: Axis;
  colour: Colour;
  values: readonly (number | null)[];
}

export interface Slice {
  name: string;
  /** The name in full, for tips, where `name` is short. */
  full?: string;
  value: number;
  colour: Colour;
}

export interface PieChart {
  kind: "pie";
  /** What is divided, e.g. "Self time". */
  name: string;
  unit: string | null;
  slices: readonly Slice[];
}

/** Charts over labels. */
export type CategoryChart = StackChart | BandChart | BarsChart | PieChart;

export interface TipLine {
  name: string;
  text: string;
  colour: Colour | null;
  striped?: boolean;
}

/** The box beside one place of a chart: a label, a point, a block. */
export interface Tip {
  title: string;
  lines: readonly TipLine[];
}

/** Charts over numbers provide their own description, tips and table. */
interface Described {
  /** One sentence for screen readers. */
  sentence: string;
  tip: (place: number) => Tip | null;
  table: () => TableData;
}

export interface NumberAxis extends Axis {
  from: number;
  to: number;
  /** Factor from values to the numbers on the axis, which are in the unit of its name. */
  labelFactor?: number;
}

export interface StepsSeries extends Series {
  /** Areas are stacked, lines are drawn over them. */
  draw: "area" | "line";
  /** On the right axis. */
  right?: boolean;
  dashed?: boolean;
  /** 0 to 1. */
  opacity?: number;
  /** The area's upper edge is drawn as a line. */
  outlined?: boolean;
}

/** A highlighted span of x (numbers, or indexes of labels); without `to` a line. `height` is in units of y; without it the mark is as high as the plot. */
export interface Mark {
  from: number;
  to?: number;
  height?: number;
  /** Null: the colour of the text. */
  colour: string | null;
  label?: string;
}

/** Values that hold from their x to the next one. Places are indexes into `at`. */
export interface StepsChart extends Described {
  kind: "steps";
  x: NumberAxis;
  y: Axis;
  right?: Axis & { max: number };
  /** Ascending: where each value begins. */
  at: readonly number[];
  series: readonly StepsSeries[];
}

/** Shapes distinguish series in addition to colour. */
export type Shape = "circle" | "square" | "diamond" | "triangle" | "star";

interface ScatterPoint {
  /** Identifies the point to the page. */
  place: number;
  x: number;
  y: number;
  /** Diameter in px. */
  size: number;
}

export interface ScatterSeries {
  name: string;
  colour: Colour;
  shape: Shape;
  points: readonly ScatterPoint[];
}

/** A line through corners, with a label along its first segment, at a fraction of that segment's length. */
export interface GuideLine {
  label: string | null;
  labelAt: number;
  labelBelow?: boolean;
  corners: readonly (readonly [number, number])[];
  colour: Colour | null;
  dash?: readonly number[];
}

/** Points on logarithmic axes under guide lines. */
export interface ScatterChart extends Described {
  kind: "scatter";
  /** Powers of ten. */
  x: Axis & { from: number; to: number };
  y: Axis & { from: number; to: number };
  series: readonly ScatterSeries[];
  guides: readonly GuideLine[];
}

export interface Block {
  name: string;
  x: readonly [number, number];
  y: readonly [number, number];
  /** Null: an empty frame. */
  colour: string | null;
  /** 0 to 1. */
  opacity: number;
}

/** Rectangles over two axes. Places are indexes of blocks. */
export interface BlocksChart extends Described {
  kind: "blocks";
  x: NumberAxis;
  y: Axis;
  blocks: readonly Block[];
}

interface Tile {
  /** Identifies the tile to the page. */
  place: number;
  name: string;
  text: string;
  value: number;
  colour: string;
  faded: boolean;
}

/** Rectangles whose areas are sizes, in groups. Places are those of the tiles. */
export interface TreemapChart extends Described {
  kind: "treemap";
  groups: readonly { name: string; text: string; tiles: readonly Tile[] }[];
}

/** Charts over numbers. */
type NumericChart = StepsChart | ScatterChart | BlocksChart | TreemapChart;

export type ChartSpec = CategoryChart | NumericChart;

export function isNumeric(spec: ChartSpec): spec is NumericChart {
  return spec.kind === "steps" || spec.kind === "scatter" || spec.kind === "blocks" || spec.kind === "treemap";
}
