import { describe, expect, it } from "vitest";
import { coverageText, dispatchLimit, hostLine } from "./reading";
import { readingsDiffer } from "./steps";
import type { StepBreakdown } from "./steps";

const hosts = (ms: Record<string, number>, over: Record<string, number> = {}, slowest: Record<string, number> = {}) => ({
  stepMs: new Map(Object.entries(ms)),
  slowestIn: new Map(Object.entries(slowest)),
  overOthers: new Map(Object.entries(over)),
  stragglers: Object.keys(over),
});
const steps = (input: number[], other: number[]): StepBreakdown => ({
  hardware: "GPU",
  labels: input.map(String),
  totalMs: input.map((one, i) => one + (other[i] ?? 0)),
  time: null,
  waiting: null,
  slowest: null,
  properties: {},
  parts: [
    { id: "a", category: "input", name: "Input", help: "", ms: input },
    { id: "b", category: "other", name: "Other", help: "", ms: other },
  ],
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

  it("tells what lies outside only if that is much", () => {
    const recording = {
      host: "h",
      lengthMs: 100,
      stepsMs: 60,
      beforeMs: 40,
      afterMs: 0,
      workOutsideMs: null,
      linked: true,
      outside: [],
      dispatch: null,
    };
    expect(coverageText(recording)).toBeNull();
    expect(coverageText({ ...recording, stepsMs: 40, beforeMs: 1, afterMs: 9 })).toBe(
      "The steps cover 40 ms of the 100 ms recorded (40.0%): 50 ms between them, 9 ms after the last belong to no step.",
    );
  });

  it("measures the work of markers that no kernel is linked to", () => {
    const recording = {
      host: "h",
      lengthMs: 100,
      stepsMs: 20,
      beforeMs: 0,
      afterMs: 80,
      workOutsideMs: null,
      linked: false,
      outside: [],
      dispatch: { steps: 4, stepsMs: 20, workMs: 100 },
    };
    expect(dispatchLimit({ recording, steps: null })).toEqual({
      title: "Steps are dispatch times: the work of a step takes 25 ms",
      sentence:
        "No kernel is linked to the 4 step markers on the host, so steps cannot be broken down. Their work ends 80 ms after the last marker.",
    });
    expect(dispatchLimit({ recording: { ...recording, dispatch: null }, steps: null })).toBeNull();
  });

  it("knows whether two readings differ", () => {
    expect(readingsDiffer(steps([1, 2], [3, 4]), steps([1, 2], [3, 4]))).toBe(false);
    expect(readingsDiffer(steps([1, 2], [3, 4]), steps([2, 2], [2, 4]))).toBe(true);
    expect(readingsDiffer(steps([1], [3]), steps([1, 2], [3, 4]))).toBe(true);
  });
});
