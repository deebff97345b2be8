import { describe, expect, it } from "vitest";
import { CATEGORIES, categoryOfColumn, categoryOfName } from "./step_category";
import { averageShares, inputLimit, statisticsOf, stepChart, describeTime } from "./steps";
import type { StepBreakdown } from "./steps";

const part = (id: string, ms: number[]) => {
  const category = categoryOfColumn(id) ?? "other";
  return { id, category, name: category, help: "", ms };
};
const steps: StepBreakdown = {
  hardware: "GPU",
  labels: ["train 0", "train 1"],
  totalMs: [4, 4],
  time: null,
  waiting: null,
  properties: {},
  parts: [part("deviceComputeTimeMs", [3, 1]), part("infeedTimeMs", [1, 3]), part("compileTimeMs", [0, 0])],
};

describe("steps", () => {
  it("sums up: sample deviation, none of a single step", () => {
    expect(statisticsOf([1, 2, 3])).toEqual({ average: 2, deviation: 1, minimum: 1, maximum: 3 });
    expect(statisticsOf([5])?.deviation).toBeNull();
    expect(statisticsOf([])).toBeNull();
    expect(statisticsOf([0.1 + 0.2, 0.3, 0.3])?.deviation).toBe(0);
  });

  it("describes step times", () => {
    expect(describeTime({ average: 950.78, deviation: 111.07, minimum: 782.11, maximum: 1112.6 })).toBe(
      "950.8 ms on average (σ 111.1 ms, from 782.1 ms to 1.113 s)",
    );
    expect(describeTime({ average: 2, deviation: null, minimum: 2, maximum: 2 })).toBe("2 ms on average");
    expect(describeTime({ average: 2, deviation: 0, minimum: 2, maximum: 2 })).toBe("2 ms each");
  });

  it("divides the average step", () => {
    expect(averageShares(steps).map(({ category, ms, share }) => [category, ms, share])).toEqual([
      ["device_compute", 2, 0.5],
      ["input", 2, 0.5],
    ]);
  });

  it("uses XProf's colours: green for compute, red and striped for waiting for input", () => {
    const { series, x } = stepChart(steps);
    expect(x.labels).toEqual(["train 0", "train 1"]);
    expect(series.map(({ name, striped }) => [name, striped])).toEqual([
      ["device_compute", false],
      ["input", true],
    ]);
    expect(series[0]?.colour).toBe(CATEGORIES.device_compute.colour);
    expect(categoryOfColumn("tcInfeedTimeMs")).toBe(categoryOfColumn("infeedTimeMs"));
    expect(categoryOfName("All others")).toBe("other");
    expect(categoryOfName("Device collective communication")).toBe("collectives");
    expect(new Set(Object.values(CATEGORIES).map(({ colour }) => colour.light)).size).toBe(Object.keys(CATEGORIES).length - 1); // other and idle are one grey
  });

  it("names the limit by the server's class", () => {
    expect(inputLimit("HIGHLY", 24.76, "step")).toEqual({ tone: "bad", title: "Input-bound: 24.8% of the step waits for input" });
    expect(inputLimit("POTENTIALLY", 21, "recording")?.title).toBe(
      "Possibly input-bound: 21.0% of the recording is unexplained or host copies",
    );
    expect(inputLimit("NOT", 1, "step")).toBeNull();
  });
});
