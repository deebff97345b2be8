import { describe, expect, it } from "vitest";
import { readOverview } from "../decode";
import { inferredChart } from "./inferred";
import { latencyChart, sessionHistogram } from "./latency";
import { traceTarget } from "./step_card";
import { NO_STEPS, payload, extras, INFERRED } from "../testing_answer";

describe("charts and links", () => {
  it("stacks host, device and communication", () => {
    const { latency } = readOverview(payload({ latency: [["Avg", 2.5, 0.4, 0.1, 3]] }));
    expect(latencyChart(latency).series.map(({ name, values }) => [name, values])).toEqual([
      ["Host", [2.5]],
      ["Device", [0.4]],
      ["Communication", [0.1]],
    ]);
  });

  it("counts requests by latency", () => {
    const session = {
      requests: 3,
      average_ms: 3,
      host_ms: 1,
      device_ms: 1,
      communication_ms: 1,
      histogram: { edges_ms: [1, 2.5, 4], counts: [2, 1] },
    };
    const found = readOverview(payload({ extras: extras({ session }) })).extras?.session;
    const chart = found ? sessionHistogram(found) : null;
    expect([chart?.x.labels, chart?.series[0]?.values]).toEqual([
      ["1 ms to 2.500 ms", "2.500 ms to 4 ms"],
      [2, 1],
    ]);
  });

  it("shows inferred steps busy and idle", () => {
    const inferred = readOverview(payload({ steps: NO_STEPS, extras: extras({ inferred_steps: INFERRED }) })).extras?.inferred;
    expect(inferred && inferredChart(inferred).series.map(({ values }) => values)).toEqual([
      [8, 7],
      [2, 3],
    ]);
  });

  it("opens the trace viewer at a step, by its time or, in XProf's reading, by its name", () => {
    const overview = readOverview(payload({ extras: extras() }));
    expect(traceTarget(overview, 1)).toEqual({ window: "299400000000,312600000000", host: "h" });
    expect(traceTarget(readOverview(payload()), 1)).toEqual({ find: "train 2" });
    expect(traceTarget(readOverview(payload()), 7)).toBeNull();
  });
});
