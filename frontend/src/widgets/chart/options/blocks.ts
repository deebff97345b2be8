// ECharts options of rectangles over two axes, and of treemaps.
import type { CustomSeriesRenderItem } from "echarts";
import type { EChartsCoreOption } from "echarts/core";
import type { BlocksChart, TreemapChart } from "../../../base/chart/chart_spec";
import { textOn } from "../../../base/colour";
import { cutMiddle } from "../../../base/format";
import type { ChartStyle } from "../style";
import { base, numberAxis, valueAxis } from "./axes";

const CHAR_PX = 6.8;
/** Least height in px and room in letters of a block with a label. */
const MIN_LABELLED = { height: 13, letters: 3 } as const;

function blockItems(spec: BlocksChart, style: ChartStyle): CustomSeriesRenderItem {
  return (params, api) => {
    const block = spec.blocks[params.dataIndex];
    const area = params.coordSys as unknown as { x: number; width: number };
    if (!block) return null;
    const [left, bottom] = api.coord([block.x[0], block.y[0]]) as [number, number];
    const [right, top] = api.coord([block.x[1], block.y[1]]) as [number, number];
    const [from, to] = [Math.max(area.x, left), Math.min(area.x + area.width, right)];
    if (to < area.x || from > area.x + area.width) return null;
    const letters = Math.floor((to - from - 8) / CHAR_PX);
    const height = bottom - top;
    const labelled = block.colour !== null && height > MIN_LABELLED.height && letters >= MIN_LABELLED.letters;
    return {
      type: "rect",
      shape: { x: from + 0.5, y: top, width: Math.max(1, to - from - 1), height: Math.max(0.5, height - 0.5) },
      style: block.colour === null ? { fill: style.sunken, stroke: style.border } : { fill: block.colour, opacity: block.opacity },
      emphasis: { style: { stroke: style.text, lineWidth: 3 } },
      ...(block.colour === null ? { silent: true } : {}),
      ...(labelled
        ? {
            textContent: {
              type: "text",
              style: { text: cutMiddle(block.name, letters), fill: textOn(block.colour ?? ""), fontSize: 12, fontFamily: style.font },
            },
            textConfig: { position: "insideLeft" },
          }
        : {}),
    };
  };
}

export function blocksOption(spec: BlocksChart, style: ChartStyle): EChartsCoreOption {
  const most = spec.blocks.reduce((all, { y }) => Math.max(all, y[1]), 0);
  return {
    ...base(style),
    xAxis: numberAxis(spec.x, style),
    yAxis: valueAxis(spec.y, most, style),
    series: [
      {
        type: "custom",
        clip: true,
        z: 2,
        data: spec.blocks.map(({ x, y }) => [...x, ...y]),
        encode: { x: [0, 1], y: [2, 3] },
        renderItem: blockItems(spec, style),
      },
    ],
  };
}

const HEAD_PX = 18;

export function treemapOption(spec: TreemapChart, style: ChartStyle): EChartsCoreOption {
  const label = { fontSize: 12, lineHeight: 15, fontFamily: style.font, position: "insideTopLeft", padding: 4, overflow: "truncate" };
  return {
    ...base(style),
    series: [
      {
        type: "treemap",
        left: 0,
        right: 0,
        top: 0,
        bottom: 0,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        sort: "desc",
        upperLabel: { show: true, height: HEAD_PX, color: style.text, fontWeight: 600, fontFamily: style.font },
        itemStyle: { gapWidth: 1, borderWidth: 1, borderColor: style.border },
        levels: [
          { itemStyle: { gapWidth: 1, borderWidth: 0 }, upperLabel: { show: false } },
          { itemStyle: { gapWidth: 1, borderWidth: 1, borderColor: style.sunken } },
        ],
        data: spec.groups.map(({ name, text, tiles }) => ({
          name: `${name}, ${text}`,
          itemStyle: { color: style.sunken },
          children: tiles.map((tile) => ({
            name: tile.name,
            value: tile.value,
            place: tile.place,
            itemStyle: { color: tile.colour, opacity: tile.faded ? 0.22 : 1 },
            label: { ...label, color: textOn(tile.colour), formatter: `${tile.name}\n${tile.text}` },
            emphasis: { itemStyle: { borderColor: style.text, borderWidth: 3 } },
          })),
        })),
      },
    ],
  };
}
