import { describe, expect, it } from "vitest";
import type { BandChart, StackChart } from "./chart_spec";
import { cut } from "./chart_data";
import { outlierNote, outliersOf } from "./outliers";

const steps = (values: readonly number[], cutsOutliers = true): StackChart => ({
  kind: "stack",
  x: { name: "Step", unit: null, labels: values.map((_, i) => String(i)) },
  y: { name: "Step time", unit: "ms" },
  series: [
    { name: "A", colour: 0, values: values.map((value) => value / 2) },
    { name: "B", colour: 1, values: values.map((value) => value / 2) },
  ],
  cutsOutliers,
});
const even = (count: number): number[] => Array.from({ length: count }, () => 10);

describe("outliers", () => {
  it("are what is above the 99th percentile, if the largest is far above it", () => {
    const values = even(1000);
    for (const place of [3, 500]) values[place] = 2000;
    values[7] = 12;
    expect(outliersOf(steps(values))).toEqual({ top: 10, most: 2000, places: [3, 7, 500] });
    expect(outlierNote(steps(values))).toBe("3 of 1,000 steps are above 10 ms, up to 2 s: cut, drag over it to see all");
    expect(outliersOf(steps(values, false))).toBeNull();
    expect(outliersOf(steps([...even(298), 900, 900, 900]))?.places).toEqual([298, 299, 300]);
    expect(outliersOf(steps([...even(297), 900, 900, 900, 900, 900]))).toBeNull();
  });

  it("are none where the others can be seen beside them, nor among few steps", () => {
    expect(outliersOf(steps([...even(200), 39]))).toBeNull();
    expect(outliersOf(steps([1, 1, 1, 100]))).toBeNull();
    expect(outliersOf(steps(even(200).fill(0)))).toBeNull();
    expect(outlierNote(steps(even(200)))).toBe("");
  });

  it("are the largest alone of fewer than a hundred steps", () => {
    expect(outlierNote(steps([...even(11), 5000]))).toBe("1 of 12 steps is 5 s: cut, drag over it to see all");
    expect(outliersOf(steps([...even(11), 5000, 5000]))).toBeNull();
  });

  it("are seen whole where the chart is zoomed to them", () => {
    const values = even(300);
    values[150] = 9000;
    expect(outliersOf(cut(steps(values), 149, 151))).toBeNull();
  });

  it("of a band are those of its upper edge", () => {
    const band: BandChart = {
      kind: "band",
      x: { name: "Step", unit: null, labels: even(10).map(String) },
      y: { name: "Step time", unit: "us" },
      line: { name: "Mean", colour: 0, values: even(10) },
      low: even(10),
      high: [...even(9), 900],
      cutsOutliers: true,
    };
    expect(outliersOf(band)?.places).toEqual([9]);
  });
});
