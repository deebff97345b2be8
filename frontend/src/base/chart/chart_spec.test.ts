import { describe, expect, it } from "vitest";
import { axisUnit, cut, filledSeries, largest } from "./chart_data";
import { sentence, tableOf } from "./chart_text";
import type { BandChart, PieChart, StackChart } from "./chart_spec";

const stack: StackChart = {
  kind: "stack",
  x: { name: "Step", unit: null, labels: ["0", "1", "2"] },
  y: { name: "Step time", unit: "ms" },
  series: [
    { name: "A", colour: 0, values: [1, 2, 3] },
    { name: "B", colour: 1, values: [10, null, 30] },
  ],
  total: "All",
};
const band: BandChart = {
  kind: "band",
  x: stack.x,
  y: { name: "Share", unit: "percent" },
  line: { name: "Mean", colour: 0, values: [1, 2, 3] },
  low: [0, 1, 2],
  high: [2, 3, 40],
};
const pie: PieChart = {
  kind: "pie",
  name: "Self time",
  unit: "us",
  slices: [
    { name: "x", value: 3, colour: 0 },
    { name: "y", value: 1, colour: 1 },
  ],
};

describe("charts as data", () => {
  it("computes the range of the axis", () => {
    expect([largest(stack), largest(band), largest(pie)]).toEqual([33, 40, 4]);
    expect(axisUnit(1112, "ms")).toEqual({ unit: "s", factor: 0.001 });
    expect(axisUnit(0.04, "ms")).toEqual({ unit: "us", factor: 1000 });
    expect(axisUnit(40, "percent")).toEqual({ unit: "%", factor: 1 });
    expect(axisUnit(0, "ms")).toEqual({ unit: "ms", factor: 1 });
    expect(axisUnit(96165, "GFLOP/s")).toEqual({ unit: "TFLOP/s", factor: 0.001 });
  });

  it("cuts a range out of every series", () => {
    const part = cut(stack, 1, 2) as StackChart;
    expect(part.x.labels).toEqual(["1", "2"]);
    expect(part.series.map(({ values }) => values)).toEqual([
      [2, 3],
      [null, 30],
    ]);
    const other = cut(band, 0, 0) as BandChart;
    expect([other.line.values, other.low, other.high]).toEqual([[1], [0], [2]]);
    expect(cut(pie, 0, 0)).toBe(pie);
  });

  it("makes the table of a chart", () => {
    const table = tableOf(stack);
    expect(table.columns.map(({ label, unit, values }) => [label, unit, values])).toEqual([
      ["Step", null, ["0", "1", "2"]],
      ["A", "ms", [1, 2, 3]],
      ["B", "ms", [10, null, 30]],
      ["All", "ms", [11, 2, 33]],
    ]);
    expect(tableOf(pie).columns[2]?.values).toEqual([0.75, 0.25]);
    expect(tableOf(band).columns).toHaveLength(4);
  });

  it("describes itself in a sentence, and drops empty series", () => {
    expect(sentence(stack)).toBe("Step time by step: 3 bars of 2 parts, at most 33 ms.");
    expect(filledSeries([{ name: "z", colour: 0, values: [0, null] }, ...stack.series])).toHaveLength(2);
  });
});
