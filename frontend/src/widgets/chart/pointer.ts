// Conversion between pixels of a drawn chart and its places.
import type { EChartsType } from "echarts/core";
import { places } from "../../base/chart/chart_data";
import type { ChartSpec, ScatterChart } from "../../base/chart/chart_spec";
import { lastAtMost } from "../../base/chart/search";
import { inColumns } from "./options/category";

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A chart as it is drawn. */
export interface Drawn {
  chart: EChartsType;
  spec: ChartSpec;
  /** The plot within the canvas. */
  area: Rect;
}

/** A point of a scatter chart is found within this distance. */
const REACH_PX = 14;
const GRID = { gridIndex: 0 } as const;

const inside = ({ x, y, width, height }: Rect, px: number, py: number): boolean =>
  px >= x && px <= x + width && py >= y && py <= y + height;
const clamp = (value: number, from: number, to: number): number => Math.max(from, Math.min(to, value));

/** The place at a pixel. Null outside the plot and for kinds whose hits ECharts reports (slices, rectangles). */
export function placeAt({ chart, spec, area }: Drawn, px: number, py: number): number | null {
  if (spec.kind === "pie" || spec.kind === "treemap" || spec.kind === "blocks") return null;
  if (!inside(area, px, py)) return null;
  if (spec.kind === "scatter") return nearestPoint(chart, spec, px, py);
  const axisValue = axisValueAt({ chart, spec, area }, px, py);
  if (spec.kind !== "steps") return axisValue;
  const place = lastAtMost(spec.at, axisValue);
  return place < 0 ? null : place;
}

/** The value of x at a pixel: the index of a label, or a number within the axis. */
export function axisValueAt({ chart, spec }: Drawn, px: number, py: number): number {
  const gridPoint = chart.convertFromPixel(GRID, [px, py]);
  const value = (spec.kind === "bars" ? gridPoint[1] : gridPoint[0]) ?? Number.NaN;
  if (spec.kind === "steps" || spec.kind === "blocks") return clamp(value, spec.x.from, spec.x.to);
  return clamp(Math.round(value), 0, places(spec).length - 1);
}

function nearestPoint(chart: EChartsType, spec: ScatterChart, px: number, py: number): number | null {
  let best: number | null = null;
  let least = REACH_PX;
  for (const { points } of spec.series) {
    for (const { place, x, y } of points) {
      const [cx = 0, cy = 0] = chart.convertToPixel(GRID, [x, y]);
      const distance = Math.hypot(cx - px, cy - py);
      if (distance > least) continue;
      least = distance;
      best = place;
    }
  }
  return best;
}

/** The position of the tip for a place that was reached by key. */
export function anchorOf({ chart, spec, area }: Drawn, place: number): readonly [number, number] {
  const pixelOf = (x: number, y: number): readonly [number, number] => chart.convertToPixel(GRID, [x, y]) as [number, number];
  switch (spec.kind) {
    case "pie":
    case "treemap":
      return [area.x + area.width / 2, area.y + area.height / 2];
    case "blocks": {
      const block = spec.blocks[place];
      return block ? pixelOf(clamp(block.x[0], spec.x.from, spec.x.to), block.y[1]) : [area.x, area.y];
    }
    case "scatter": {
      const point = spec.series.flatMap(({ points }) => points).find((one) => one.place === place);
      return point ? pixelOf(point.x, point.y) : [area.x, area.y];
    }
    case "bars":
      return [area.x + 40, pixelOf(0, place)[1]];
    case "steps":
      return [pixelOf(clamp(spec.at[place] ?? 0, spec.x.from, spec.x.to), 0)[0], area.y];
    case "stack":
    case "band":
      return [pixelOf(place, 0)[0], area.y];
  }
}

/** The mark of a place: a band behind a column or bar, or a line; null for kinds that highlight the element itself. */
export function cursorOf(drawn: Drawn, place: number): Rect | null {
  const { spec, area } = drawn;
  const [x, y] = anchorOf(drawn, place);
  switch (spec.kind) {
    case "bars": {
      const height = area.height / Math.max(1, spec.x.labels.length);
      return { x: area.x, y: y - height / 2, width: area.width, height };
    }
    case "stack":
      if (!inColumns(spec)) return { x, y: area.y, width: 1, height: area.height };
      return { x: x - area.width / spec.x.labels.length / 2, y: area.y, width: area.width / spec.x.labels.length, height: area.height };
    case "band":
    case "steps":
      return { x, y: area.y, width: 1, height: area.height };
    case "pie":
    case "scatter":
    case "blocks":
    case "treemap":
      return null;
  }
}

/** The series element to highlight for a place; null for charts with a cursor. */
export function itemOf(spec: ChartSpec, place: number): { seriesIndex: number; dataIndex: number } | null {
  if (spec.kind === "blocks") return { seriesIndex: 0, dataIndex: place };
  if (spec.kind === "scatter") {
    for (const [seriesIndex, { points }] of spec.series.entries()) {
      const dataIndex = points.findIndex((point) => point.place === place);
      if (dataIndex >= 0) return { seriesIndex, dataIndex };
    }
  }
  if (spec.kind === "treemap") {
    let dataIndex = 0; // the root of all groups
    for (const { tiles } of spec.groups) {
      dataIndex++;
      for (const tile of tiles) {
        dataIndex++;
        if (tile.place === place) return { seriesIndex: 0, dataIndex };
      }
    }
  }
  return null;
}
