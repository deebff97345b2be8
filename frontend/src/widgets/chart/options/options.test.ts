import { describe, expect, it } from "vitest";
import { places, withoutSeries, zoomed } from "../../../base/chart/chart_data";
import type { BandChart, BlocksChart, ScatterChart, StackChart, StepsChart, TreemapChart } from "../../../base/chart/chart_spec";
import { tipOf, tipText } from "../../../base/chart/chart_text";
import { itemOf } from "../pointer";
import type { ChartStyle } from "../style";
import { labelAxis, labelStep, niceStep, slanted } from "./axes";
import { MAX_COLUMNS } from "./category";
import { optionOf } from "./options";

const style: ChartStyle = {
  theme: "light",
  text: "#000",
  dim: "#555",
  border: "#ccc",
  background: "#fff",
  sunken: "#eee",
  accent: "#00f",
  font: "sans-serif",
  width: 600,
};
const chart = (places: number): StackChart => ({
  kind: "stack",
  x: { name: "Step", unit: null, labels: Array.from({ length: places }, (_, i) => String(i)) },
  y: { name: "Step time", unit: "ms" },
  series: [
    { name: "A <b>", colour: { light: "#123456", dark: "#abcdef" }, values: Array.from({ length: places }, () => 1), striped: true },
    { name: "B", colour: 1, values: Array.from({ length: places }, () => 2) },
  ],
  total: "All",
});
interface Drawn {
  series: { type: string; stack?: string; itemStyle: { color: string; decal?: unknown } }[];
  yAxis: { name: string; max: number; interval: number; axisLabel: { formatter: (v: number) => string } };
}
const drawn = (spec: Parameters<typeof optionOf>[0], theme: "light" | "dark" = "light"): Drawn =>
  optionOf(spec, { ...style, theme }) as unknown as Drawn;

describe("options", () => {
  it("draws columns for few steps and areas for many, stacked in order", () => {
    expect(drawn(chart(3)).series.map(({ type, stack }) => [type, stack])).toEqual([
      ["bar", "all"],
      ["bar", "all"],
    ]);
    expect(drawn(chart(MAX_COLUMNS + 1)).series[0]?.type).toBe("line");
    expect(drawn({ ...chart(MAX_COLUMNS + 1), unordered: true }).series[0]?.type).toBe("bar");
  });

  it("uses the colours of the theme, and stripes for marked series", () => {
    expect(drawn(chart(2)).series[0]?.itemStyle.color).toBe("#123456");
    expect(drawn(chart(2), "dark").series[0]?.itemStyle.color).toBe("#abcdef");
    expect(drawn(chart(2)).series.map(({ itemStyle }) => "decal" in itemStyle)).toEqual([true, false]);
  });

  it("ends the axis below a few steps that are far longer, and marks them there", () => {
    const long = (cutsOutliers: boolean) => {
      const values = Array.from({ length: 200 }, (_, i) => (i === 150 ? 20_490 : 780));
      return drawn({ ...chart(200), series: [{ name: "A", colour: 0, values }], cutsOutliers });
    };
    expect([long(true).yAxis.max, long(false).yAxis.max]).toEqual([800, 25_000]);
    const marks = long(true).series.at(-1) as unknown as { symbol: string; data: (number | null)[] };
    expect([marks.symbol, marks.data.indexOf(800), marks.data.filter((y) => y !== null)]).toEqual(["triangle", 150, [800]]);
    expect(long(false).series).toHaveLength(1);
  });

  it("names the axis with the unit it shows, in whole steps of it", () => {
    const spec = { ...chart(2), series: [{ name: "A", colour: 0, values: [1100, 400] }] };
    const { yAxis } = drawn(spec);
    expect(yAxis.name).toBe("Step time (s)");
    expect([yAxis.interval, yAxis.max]).toEqual([200, 1200]);
    expect(yAxis.axisLabel.formatter(400)).toBe("0.4");
    expect([niceStep(1), niceStep(97), niceStep(0)]).toEqual([0.2, 20, 1]);
  });

  it("shows a band as its lower edge and its width", () => {
    const band: BandChart = {
      kind: "band",
      x: chart(2).x,
      y: { name: "Share", unit: "percent" },
      line: { name: "Mean", colour: 0, values: [5, 6] },
      low: [1, 2],
      high: [9, 10],
    };
    const { series } = optionOf(band, style) as unknown as { series: { data: number[] }[] };
    expect(series.map(({ data }) => data)).toEqual([
      [1, 2],
      [8, 8],
      [5, 6],
    ]);
  });

  it("rotates names that do not fit, but not numbers", () => {
    expect(slanted(Array(20).fill("tpu-host-0:0"), 600)).toBe(true);
    expect(slanted(Array(30).fill("tpu-host-0:0"), 600)).toBe(false);
    expect(slanted(["a", "b"], 600)).toBe(false);
    expect(slanted(Array(400).fill("123"), 600)).toBe(false);
  });

  it("are shown at even distances, the last one inside", () => {
    const steps = Array.from({ length: 95 }, (_, i) => String(i));
    expect([350, 640, 2000, 9000].map((width) => labelStep(steps, width))).toEqual([10, 5, 2, 1]);
    expect([labelStep([], 600), labelStep(["a very long name of a step"], 100)]).toEqual([1, 1]);
    const names = Array.from({ length: 301 }, (_, i) => `train ${String(i)}`);
    const label = (count: number, columns: boolean) =>
      labelAxis({ name: "Step", unit: null, labels: names.slice(0, count) }, columns, { ...style, width: 700 })["axisLabel"];
    expect(label(301, false)).toMatchObject({ interval: 49, alignMaxLabel: "right" });
    for (const inside of [label(300, false), label(301, true)]) expect(inside).not.toHaveProperty("alignMaxLabel");
  });
});

describe("tips", () => {
  it("lists every part, largest first, with units and share", () => {
    expect(tipOf(chart(2), 1)).toEqual({
      title: "Step 1",
      lines: [
        { name: "All", text: "3 ms", colour: null },
        { name: "B", text: "2 ms (66.7%)", colour: 1, striped: false },
        { name: "A <b>", text: "1 ms (33.3%)", colour: { light: "#123456", dark: "#abcdef" }, striped: true },
      ],
    });
    expect(tipOf(chart(2), 2)).toBeNull();
  });

  it("read as one line", () => {
    const tip = tipOf(chart(2), 0);
    expect(tip && tipText(tip)).toBe("Step 0: All 3 ms, B 2 ms (66.7%), A <b> 1 ms (33.3%)");
  });
});

const described = { sentence: "", tip: () => null, table: () => ({ columns: [], rowCount: 0, properties: {} }) };
const steps: StepsChart = {
  ...described,
  kind: "steps",
  x: { name: "Time", unit: null, from: 0, to: 10 },
  y: { name: "Memory", unit: "bytes" },
  right: { name: "Share", unit: "percent", max: 100 },
  at: [0, 5, 5],
  series: [
    { name: "a", colour: 0, draw: "area", values: [1, 2, 3] },
    { name: "b", colour: 1, draw: "area", values: [1, 1, 1], striped: true },
    { name: "c", colour: 2, draw: "line", values: [50, 60, 70], right: true },
  ],
};
const scatter: ScatterChart = {
  ...described,
  kind: "scatter",
  x: { name: "x", unit: null, from: 0, to: 2 },
  y: { name: "y", unit: null, from: 0, to: 3 },
  guides: [],
  series: [
    {
      name: "s",
      colour: 0,
      shape: "circle",
      points: [
        { place: 7, x: 50, y: 2, size: 8 },
        { place: 3, x: 2, y: 900, size: 8 },
      ],
    },
    { name: "t", colour: 1, shape: "star", points: [{ place: 9, x: 20, y: 1, size: 8 }] },
  ],
};
const blocks: BlocksChart = {
  ...described,
  kind: "blocks",
  x: { name: "x", unit: null, from: 0, to: 5 },
  y: { name: "y", unit: "bytes" },
  blocks: [{ name: "b", x: [0, 1], y: [0, 64], colour: "#123456", opacity: 1 }],
};
const tile = (place: number) => ({ place, name: "t", text: "1 B", value: 1, colour: "#123456", faded: false });
const treemap: TreemapChart = {
  ...described,
  kind: "treemap",
  groups: [
    { name: "g", text: "2 B", tiles: [tile(4), tile(2)] },
    { name: "h", text: "1 B", tiles: [tile(5)] },
  ],
};

describe("charts over numbers", () => {
  it("extend the last value and keep equal times apart, so that areas stack", () => {
    const { series } = optionOf(steps, style) as unknown as {
      series: { data: [number, number][]; stack?: string; yAxisIndex?: number; step?: string }[];
    };
    expect(series[0]?.data).toEqual([
      [0, 1],
      [5, 2],
      [6, 3],
      [10, 3],
    ]);
    expect(series.slice(0, 3).map(({ stack, yAxisIndex, step }) => [stack, yAxisIndex, step])).toEqual([
      ["areas", 0, "end"],
      ["areas", 0, "end"],
      [undefined, 1, "end"],
    ]);
    expect((optionOf(steps, style) as unknown as { yAxis: { max: number }[] }).yAxis.map(({ max }) => max)).toEqual([4, 100]);
  });

  it("visit points in the order of x, only those within the zoom", () => {
    expect(places(steps)).toEqual([0, 1, 2]);
    expect(places(zoomed(steps, [6, 8]))).toEqual([2]);
    expect(places(scatter)).toEqual([3, 9, 7]);
    expect(places(treemap)).toEqual([4, 2, 5]);
    expect(zoomed(treemap, [0, 1])).toBe(treemap);
  });

  it("hide series", () => {
    expect(places(withoutSeries(scatter, new Set(["s"])))).toEqual([9]);
    expect(withoutSeries(blocks, new Set(["b"]))).toBe(blocks);
  });

  it("map a place to its element", () => {
    expect(itemOf(scatter, 9)).toEqual({ seriesIndex: 1, dataIndex: 0 });
    expect(itemOf(treemap, 2)).toEqual({ seriesIndex: 0, dataIndex: 3 });
    expect(itemOf(treemap, 5)).toEqual({ seriesIndex: 0, dataIndex: 5 });
    expect([itemOf(steps, 1), itemOf(scatter, 1)]).toEqual([null, null]);
    expect(itemOf(blocks, 0)).toEqual({ seriesIndex: 0, dataIndex: 0 });
  });

  it("label powers of ten", () => {
    const { xAxis } = optionOf(scatter, style) as unknown as {
      xAxis: { min: number; max: number; axisLabel: { formatter: (v: number) => string } };
    };
    expect([xAxis.min, xAxis.max]).toEqual([1, 100]);
    expect([0.001, 0.01, 1000, 1e6].map(xAxis.axisLabel.formatter)).toEqual(["10⁻³", "0.01", "1,000", "10⁶"]);
  });
});
