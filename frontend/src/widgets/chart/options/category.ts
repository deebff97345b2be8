// ECharts options of charts over labels.
import type { EChartsCoreOption } from "echarts/core";
import { largest, totalAt } from "../../../base/chart/chart_data";
import type { BandChart, BarsChart, PieChart, Series, StackChart } from "../../../base/chart/chart_spec";
import { outliersOf } from "../../../base/chart/outliers";
import { cutMiddle, formatQuantity } from "../../../base/format";
import { fill } from "../style";
import type { ChartStyle } from "../style";
import { base, grid, labelAxis, slanted, stripes, valueAxis } from "./axes";
import type { Option } from "./axes";

/** More places than this are drawn as areas, because columns would be only a pixel or two wide. */
export const MAX_COLUMNS = 64;

/** Name of the series of marks. */
const CUT = "cut";

/** Whether a stack is drawn as columns. */
export function inColumns(spec: StackChart): boolean {
  return spec.unordered === true || spec.x.labels.length <= MAX_COLUMNS;
}

function stackSeries(one: Series, columns: boolean, style: ChartStyle): Option {
  const color = fill(one.colour, style.theme);
  const decal = one.striped ? { decal: stripes(style) } : {};
  const shared = { name: one.name, stack: "all", data: [...one.values], emphasis: { disabled: true } };
  return columns
    ? {
        ...shared,
        type: "bar",
        itemStyle: { color, ...decal },
        barMaxWidth: 48,
        barCategoryGap: one.values.length > MAX_COLUMNS ? "0%" : "20%",
      }
    : { ...shared, type: "line", symbol: "none", lineStyle: { width: 0 }, itemStyle: { color }, areaStyle: { color, opacity: 1 } };
}

export function stackOption(spec: StackChart, style: ChartStyle): EChartsCoreOption {
  const columns = inColumns(spec);
  // room for the sums above the columns
  const cut = outliersOf(spec);
  const most = (cut?.top ?? largest(spec)) * (spec.showTotal && columns ? 1.1 : 1);
  const yAxis = valueAxis(spec.y, most, style);
  const series = spec.series.map((one) => stackSeries(one, columns, style));
  if (cut) series.push(cutMarks(spec.x.labels.length, cut.places, yAxis, style));
  if (spec.showTotal && columns) {
    series.push({
      // ECharts attaches labels to symbols, so there is a transparent one.
      type: "line",
      name: "",
      data: spec.x.labels.map((_, place) => totalAt(spec, place)),
      symbol: "circle",
      symbolSize: 1,
      itemStyle: { color: "transparent" },
      lineStyle: { width: 0 },
      silent: true,
      label: {
        show: true,
        position: "top",
        color: style.text,
        formatter: ({ value }: { value: number }) => formatQuantity(value, spec.y.unit),
      },
    });
  }
  return {
    ...base(style),
    grid: grid(slanted(spec.x.labels, style.width) ? 2 : 26),
    xAxis: labelAxis(spec.x, columns, style),
    yAxis,
    series,
  };
}

/** A triangle at the end of the axis for each place that is cut there. */
function cutMarks(count: number, places: readonly number[], yAxis: Option, style: ChartStyle): Option {
  const data: unknown[] = Array.from({ length: count }, () => null);
  for (const place of places) data[place] = yAxis["max"];
  return {
    type: "line",
    name: CUT,
    data,
    symbol: "triangle",
    symbolSize: [8, 6],
    symbolOffset: [0, 3],
    showAllSymbol: true,
    lineStyle: { width: 0 },
    itemStyle: { color: style.text },
    silent: true,
    z: 5,
  };
}

export function bandOption(spec: BandChart, style: ChartStyle): EChartsCoreOption {
  const color = fill(spec.line.colour, style.theme);
  const single = spec.x.labels.length === 1;
  const edge = (data: readonly (number | null)[]): Option => ({
    type: "line",
    name: "",
    stack: "band",
    data: [...data],
    symbol: "none",
    lineStyle: { width: 0 },
    silent: true,
  });
  const { low, high } = spec;
  const width = low && high?.map((most, i) => (most === null ? null : most - (low[i] ?? 0)));
  const cut = outliersOf(spec);
  const yAxis = valueAxis(spec.y, cut?.top ?? largest(spec), style);
  return {
    ...base(style),
    xAxis: labelAxis(spec.x, single, style),
    yAxis,
    series: [
      ...(low && width ? [edge(low), { ...edge(width), areaStyle: { color, opacity: 0.22 } }] : []),
      {
        type: "line",
        name: spec.line.name,
        data: [...spec.line.values],
        symbol: "circle",
        symbolSize: 5,
        showSymbol: spec.x.labels.length <= MAX_COLUMNS,
        lineStyle: { width: 2, color },
        itemStyle: { color },
      },
      ...(cut ? [cutMarks(spec.x.labels.length, cut.places, yAxis, style)] : []),
    ],
  };
}

export function barsOption(spec: BarsChart, style: ChartStyle): EChartsCoreOption {
  return {
    ...base(style),
    grid: {
      left: 4,
      right: 24,
      top: 40,
      bottom: 4,
      outerBoundsMode: "same",
      outerBounds: { left: 4, right: 12, top: 20, bottom: 4 },
      outerBoundsContain: "axisLabel",
    },
    xAxis: {
      ...valueAxis(spec.y, largest(spec), style),
      position: "top",
      nameLocation: "middle",
      nameGap: 22,
      nameTextStyle: { color: style.dim, align: "center" },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: [...spec.x.labels],
      axisTick: { show: false },
      axisLine: { lineStyle: { color: style.dim } },
      axisLabel: { color: style.text, formatter: (label: string) => cutMiddle(label, 34) },
    },
    series: [
      {
        type: "bar",
        name: spec.y.name,
        data: [...spec.values],
        itemStyle: { color: fill(spec.colour, style.theme) },
        barMaxWidth: 18,
        emphasis: { disabled: true },
      },
    ],
  };
}

export function pieOption(spec: PieChart, style: ChartStyle): EChartsCoreOption {
  return {
    ...base(style),
    series: [
      {
        type: "pie",
        radius: ["38%", "96%"],
        center: ["50%", "50%"],
        startAngle: 90,
        label: { show: false },
        labelLine: { show: false },
        itemStyle: { borderColor: style.background, borderWidth: 1 },
        emphasis: { scale: false },
        data: spec.slices.map(({ name, value, colour }) => ({ name, value, itemStyle: { color: fill(colour, style.theme) } })),
      },
    ],
  };
}
