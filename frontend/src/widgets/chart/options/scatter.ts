// ECharts options of points on logarithmic axes under guide lines.
import type { CustomSeriesRenderItem } from "echarts";
import type { EChartsCoreOption } from "echarts/core";
import type { GuideLine, ScatterChart, Shape } from "../../../base/chart/chart_spec";
import { fill } from "../style";
import type { ChartStyle } from "../style";
import { base, logAxis } from "./axes";

/** SVG paths in a square from -1 to 1. */
export const SHAPES: Readonly<Record<Shape, string>> = {
  circle: "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0z",
  square: "M-.9 -.9h1.8v1.8h-1.8z",
  diamond: "M0 -1L1 0L0 1L-1 0z",
  triangle: "M0 -1L1 .8L-1 .8z",
  star: "M0 -1L.25 -.34L.95 -.31L.4 .13L.59 .81L0 .42L-.59 .81L-.4 .13L-.95 -.31L-.25 -.34z",
};

/** A guide line whose first segment is shorter than this has no label. */
const MIN_LABELLED_PX = 60;

function guides(lines: readonly GuideLine[], style: ChartStyle): CustomSeriesRenderItem {
  return (params, api) => {
    const line = lines[params.dataIndex];
    if (!line) return null;
    const points = line.corners.map((corner) => api.coord([...corner]) as [number, number]);
    const start: [number, number] = points[0] ?? [0, 0];
    const next: [number, number] = points[1] ?? start;
    const [dx, dy] = [next[0] - start[0], next[1] - start[1]];
    const labelled = line.label !== null && dx > MIN_LABELLED_PX;
    return {
      type: "group",
      children: [
        {
          type: "polyline",
          shape: { points },
          style: {
            fill: "none",
            stroke: line.colour === null ? style.text : fill(line.colour, style.theme),
            lineWidth: 1.5,
            lineDash: line.dash ? [...line.dash] : false,
          },
        },
        ...(labelled
          ? [
              {
                type: "text" as const,
                x: start[0] + dx * line.labelAt,
                y: start[1] + dy * line.labelAt,
                rotation: -Math.atan2(dy, dx),
                style: {
                  text: line.label ?? "",
                  verticalAlign: line.labelBelow ? ("top" as const) : ("bottom" as const),
                  padding: [7, 0, 3, 0], // capitals reach the upper edge of a text, and few letters its lower one
                  fill: style.text,
                  stroke: style.background,
                  lineWidth: 3,
                  fontSize: 11,
                  fontFamily: style.font,
                },
              },
            ]
          : []),
      ],
    };
  };
}

export function scatterOption(spec: ScatterChart, style: ChartStyle): EChartsCoreOption {
  return {
    ...base(style),
    xAxis: { ...logAxis(spec.x, style), nameLocation: "middle", nameGap: 24 },
    yAxis: { ...logAxis(spec.y, style), nameGap: 10, nameTextStyle: { color: style.dim, align: "left", padding: [0, 0, 0, -8] } },
    series: [
      ...spec.series.map(({ name, colour, shape, points }) => ({
        type: "scatter",
        name,
        symbol: `path://${SHAPES[shape]}`,
        data: points.map(({ x, y, size }) => ({ value: [x, y], symbolSize: size })),
        itemStyle: { color: fill(colour, style.theme), borderColor: style.background, borderWidth: 1, opacity: 0.9 },
        emphasis: { scale: 1.2, itemStyle: { borderColor: style.text, borderWidth: 2, opacity: 1 } },
        // The pointer finds the nearest point, not only the one exactly under it.
        silent: true,
        z: 3,
      })),
      {
        type: "custom",
        silent: true,
        clip: true,
        z: 2,
        data: spec.guides.map(({ corners }) => [...(corners[0] ?? [1, 1])]),
        renderItem: guides(spec.guides, style),
      },
    ],
  };
}
