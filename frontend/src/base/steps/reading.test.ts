import { describe, expect, it } from "vitest";
import { breakdownIn, hostLine, statisticsFrom } from "./reading";
import { readingOf, XPROF_STEPS, xprofReading } from "./testing";

const hosts = (ms: Record<string, number>, over: Record<string, number> = {}, slowest: Record<string, number> = {}) => ({
  step_ms: ms,
  slowest_in: slowest,
  over_others: over,
  stragglers: Object.keys(over),
});
describe("the reading of the steps", () => {
  it("compares hosts", () => {
    expect(hostLine(hosts({ a: 10 }))).toBeNull();
    expect(hostLine(hosts({ a: 10, b: 10.5 }, {}, { b: 7 }))).toEqual({
      warn: false,
      text: "2 hosts, no straggler: average step times from 10 ms (a) to 10.50 ms (b, the slowest in 7 steps), 5.0% apart.",
    });
    expect(hostLine(hosts({ a: 10, b: 13 }, { b: 0.3 }))).toEqual({ warn: true, text: "Straggler: b (13 ms, 30.0% over the other host)." });
    expect(hostLine(hosts({ a: 10, b: 13, c: 10 }, { b: 0.3 }))?.text).toBe(
      "Straggler: b (13 ms, 30.0% over the median of the other hosts).",
    );
  });

  it("has XProf's statistics in its reading, none of no step, and no deviation of one", () => {
    const own = breakdownIn({ steps: readingOf(), xprof: null });
    expect([own.time?.average, own.time?.maximum]).toEqual([10, 12]);
    const step_time_ms = { average: 11, deviation: 0, minimum: 11, maximum: 11, count: 1 };
    const xprof = breakdownIn({ steps: XPROF_STEPS, xprof: xprofReading({ step_time_ms }) });
    expect([xprof.time, xprof.parts.map(({ name, ms }) => [name, ms])]).toEqual([
      { average: 11, deviation: null, minimum: 11, maximum: 11 },
      [
        ["Device compute", [2, 4]],
        ["Input", [7, 5]],
        ["All others", [1, 1]],
      ],
    ]);
    expect(statisticsFrom({ ...step_time_ms, count: 0 })).toBeNull();
  });
});
