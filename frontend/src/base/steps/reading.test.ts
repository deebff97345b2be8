import { describe, expect, it } from "vitest";
import { hostLine } from "./reading";

const hosts = (ms: Record<string, number>, over: Record<string, number> = {}, slowest: Record<string, number> = {}) => ({
  stepMs: new Map(Object.entries(ms)),
  slowestIn: new Map(Object.entries(slowest)),
  overOthers: new Map(Object.entries(over)),
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
});
