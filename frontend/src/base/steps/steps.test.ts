import { describe, expect, it } from "vitest";
import { CATEGORIES } from "./step_category";
import { inputLimit, statisticsOf, stepChart, describeTime } from "./steps";
import type { StepBreakdown } from "./steps";

const part = (category: string, ms: number[]) => ({ category, name: category, help: "", ms });
const steps: StepBreakdown = {
  labels: ["train 0", "train 1"],
  totalMs: [4, 4],
  time: null,
  parts: [part("device_compute", [3, 1]), part("input", [1, 3]), part("compilation", [0, 0])],
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
      "950.8 ms on average (782.1 ms to 1.113 s)",
    );
    expect(describeTime({ average: 2, deviation: null, minimum: 2, maximum: 2 })).toBe("2 ms on average");
    expect(describeTime({ average: 2, deviation: 0, minimum: 2, maximum: 2 })).toBe("2 ms each");
  });

  it("uses XProf's colours: green for compute, red and striped for waiting for input", () => {
    const { series, x } = stepChart(steps);
    expect(x.labels).toEqual(["train 0", "train 1"]);
    expect(series.map(({ name, striped }) => [name, striped])).toEqual([
      ["device_compute", false],
      ["input", true],
    ]);
    expect(series[0]?.colour).toBe(CATEGORIES.device_compute.colour);
    expect(new Set(Object.values(CATEGORIES).map(({ colour }) => colour.light)).size).toBe(Object.keys(CATEGORIES).length - 1); // other and idle are one grey
  });

  it("names the limit by the server's class", () => {
    expect(inputLimit("HIGHLY", 24.76, "step")).toEqual({ tone: "bad", title: "Input-bound: 24.8% of the step waits for input" });
    expect(inputLimit("POTENTIALLY", 21, "recording")?.title).toBe("Possibly input-bound: 21.0% of the recording is unexplained");
    expect(inputLimit("NOT", 1, "step")).toBeNull();
  });
});
