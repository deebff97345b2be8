// ECharts options of values that hold until the next one, with marks over them.
import type { CustomSeriesRenderItem } from "echarts";
import type { EChartsCoreOption } from "echarts/core";
import { largest } from "../../../base/chart/chart_data";
import type { Mark, StepsChart, StepsSeries } from "../../../base/chart/chart_spec";
import { fill } from "../style";
import type { ChartStyle } from "../style";
import { base, numberAxis, rightAxis, stripes, valueAxis } from "./axes";
import type { Option } from "./axes";

/** Of more points than this, only the smallest and the largest of each pixel column are drawn. */
const MAX_POINTS = 4000;
const MIN_MARK_PX = { width: 2, height: 3 } as const;
/** Room for a label on the right of its mark: at least, and per character. */
const LABEL_PX = { least: 50, character: 7 } as const;
const MARKS_ID = "marks";

/** Strictly ascending values, because ECharts stacks points with equal x. */
function ascending(values: readonly number[]): number[] {
  let last = -Infinity;
  return values.map((value) => (last = value > last ? value : last + Math.max(1, Math.abs(last) * Number.EPSILON)));
}

/** Points of a series, with its last value extended to the end of the axis. */
function pointsOf(at: readonly number[], values: readonly (number | null)[], end: number): [number, number | null][] {
  const points = at.map((x, i): [number, number | null] => [x, values[i] ?? null]);
  const last = points.at(-1);
  return last && last[0] < end ? [...points, [end, last[1]]] : points;
}

function seriesOption(one: StepsSeries, at: readonly number[], end: number, style: ChartStyle): Option {
  const color = fill(one.colour, style.theme);
  const area = one.draw === "area";
  return {
    type: "line",
    name: one.name,
    step: "end",
    symbol: "none",
    silent: true,
    data: pointsOf(at, one.values, end),
    yAxisIndex: one.right ? 1 : 0,
    ...(area ? { stack: "areas" } : {}),
    ...(at.length > MAX_POINTS && !area ? { sampling: "minmax" } : {}),
    itemStyle: { color, ...(one.striped ? { decal: stripes(style) } : {}) },
    lineStyle: { color, width: area && !one.outlined ? 0 : 1.5, type: one.dashed ? [5, 3] : "solid" },
    ...(area ? { areaStyle: { color, opacity: one.opacity ?? 1 } } : {}),
    z: area ? 2 : 3,
  };
}

export function stepsOption(spec: StepsChart, style: ChartStyle): EChartsCoreOption {
  const ascendingAt = ascending(spec.at);
  const left = valueAxis(spec.y, largest(spec), style);
  return {
    ...base(style),
    xAxis: numberAxis(spec.x, style),
    yAxis: spec.right ? [left, rightAxis(spec.right, style)] : left,
    series: [...spec.series.map((one) => seriesOption(one, ascendingAt, spec.x.to, style)), marksSeries([], style)],
  };
}

/** The marks as a separate series, which can be replaced without rebuilding the others. */
export function marksSeries(marks: readonly Mark[], style: ChartStyle): Option {
  const renderItem: CustomSeriesRenderItem = (params, api) => {
    const mark = marks[params.dataIndex];
    const area = params.coordSys as unknown as { x: number; y: number; width: number; height: number };
    if (!mark) return null;
    const left = api.coord([mark.from, 0])[0] ?? 0;
    const right = api.coord([mark.to ?? mark.from, 0])[0] ?? left;
    const bottom = area.y + area.height;
    const top = mark.height === undefined ? area.y : Math.min(api.coord([0, mark.height])[1] ?? bottom, bottom - MIN_MARK_PX.height);
    const width = mark.to === undefined ? 1.5 : Math.max(MIN_MARK_PX.width, right - left);
    const colour = mark.colour ?? style.text;
    const letters = Math.max(0, ...(mark.label ?? "").split("\n").map((line) => line.length));
    const onRight = left + width < area.x + area.width - Math.max(LABEL_PX.least, letters * LABEL_PX.character);
    return {
      type: "group",
      children: [
        {
          type: "rect",
          shape: { x: left, y: top, width, height: bottom - top },
          style: {
            fill: colour,
            opacity: mark.to === undefined ? 1 : mark.colour === null ? 0.28 : 0.8,
            ...(mark.colour === null ? {} : { stroke: style.text }),
          },
        },
        ...(mark.label === undefined
          ? []
          : [
              {
                type: "text" as const,
                x: onRight ? left + width + 4 : left - 4,
                y: top + 2,
                style: {
                  text: mark.label,
                  align: onRight ? ("left" as const) : ("right" as const),
                  fill: style.text,
                  stroke: style.background,
                  lineWidth: 3,
                  fontSize: 12,
                  lineHeight: 15,
                  fontWeight: 600,
                  fontFamily: style.font,
                },
              },
            ]),
      ],
    };
  };
  return { id: MARKS_ID, type: "custom", silent: true, clip: true, z: 5, data: marks.map(({ from }) => [from, 0]), renderItem };
}
