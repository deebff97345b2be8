import { describe, expect, it } from "vitest";
import { inferredChart } from "./inferred";
import { latencyChart, sessionHistogram } from "./latency";
import { traceTarget } from "./step_card";
import { INFERRED, overviewOf, REQUESTS, XPROF } from "../testing";

describe("charts and links", () => {
  it("stacks host, device and communication", () => {
    expect(latencyChart(REQUESTS.percentiles).series.map(({ name, values }) => [name, values])).toEqual([
      ["Host", [2.52]],
      ["Device", [0.4]],
      ["Communication", [0.08]],
    ]);
  });

  it("counts requests by latency", () => {
    const chart = sessionHistogram(REQUESTS.histogram);
    expect([chart?.x.labels, chart?.series[0]?.values]).toEqual([
      ["1 ms to 2.500 ms", "2.500 ms to 4 ms"],
      [2, 1],
    ]);
  });

  it("shows inferred steps busy and idle", () => {
    expect(inferredChart(INFERRED).series.map(({ values }) => values)).toEqual([
      [8, 7],
      [2, 3],
    ]);
  });

  it("opens the trace viewer at a step, by its time or, in XProf's reading, by its name", () => {
    expect(traceTarget(overviewOf(), 1)).toEqual({ window: "299400000000,312600000000", host: "h" });
    expect(traceTarget(XPROF, 1)).toEqual({ find: "train 2" });
    expect(traceTarget(XPROF, 7)).toBeNull();
  });
});
