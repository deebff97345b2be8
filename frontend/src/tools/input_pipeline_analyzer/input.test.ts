import { describe, expect, it } from "vitest";
import type { InputPipeline, StepReading } from "../../base/documents";
import { noReading, readingOf, XPROF_STEPS, xprofReading } from "../../base/steps/testing";
import { tableOf } from "../../base/testing";
import { barOf, hostParts, limitOf, sentences, stepFigures, usefulTips, waitingChart, waitingTable, describeWaiting } from "./model";

const kind = (name: string, us: number) => ({ kind: name, name, help: "", us, tip: `[${name}](https://x.org)` });
const inputOf = (steps: Partial<StepReading> = {}, patch: Partial<InputPipeline> = {}): InputPipeline => ({
  steps: readingOf(steps),
  ops: tableOf({ opName: ["Iterator::Root"], count: [20] }),
  processing: [kind("other", 0), kind("demanded", 0), kind("advanced", 300), kind("preprocessing", 600), kind("enqueue", 100)],
  messages: [],
  next: "Look there.",
  no_ops: "No stages.",
  xprof: null,
  left_out: [],
  ...patch,
});
const CONCLUSION = "Your program is MODERATELY input-bound because 12.0% of the total step time sampled is waiting for input.";
const XPROF = inputOf(XPROF_STEPS, {
  xprof: xprofReading({
    step_time_ms: { average: 15, deviation: Math.SQRT2 * 5, minimum: 10, maximum: 20, count: 2 },
    statements: [CONCLUSION, "HIGHLY output-bound"],
    waiting: {
      average: [10, 10],
      minimum: [0, 1],
      maximum: [12, 14],
      longest: { average: 13, deviation: Math.SQRT2, minimum: 12, maximum: 14, count: 2 },
      cores: ["h:3", "h:2"],
    },
  }),
});
const waitingOf = (cores: string[]): InputPipeline => {
  const { waiting } = XPROF.xprof ?? xprofReading();
  return { ...XPROF, xprof: xprofReading({ waiting: waiting && { ...waiting, cores } }) };
};

describe("input pipeline", () => {
  it("says at once how much of the time waits for input", () => {
    const data = inputOf();
    expect(limitOf(data)).toEqual({ tone: "bad", title: "Input-bound: 35.0% of the time from step to step waits for input" });
    expect(barOf(data).map(({ id, share }) => [id, share])).toEqual([
      ["device_compute", 0.1],
      ["input", 0.35],
      ["idle_other", 0.05],
      ["between_steps", 0.5],
    ]);
  });

  it("summarises the waiting cores", () => {
    expect(describeWaiting(XPROF)).toBe("h:2 waits longest in 1 of 2 steps; 1 other core in the other steps.");
    expect(waitingTable(XPROF)?.columns.map(({ values }) => values)).toEqual([
      ["train 1", "train 2"],
      ["h:3", "h:2"],
    ]);
    expect(describeWaiting(waitingOf(["h:3", "h:3"]))).toBe("h:3 waits longest in 2 of 2 steps.");
    expect(describeWaiting(waitingOf(["unknown"]))).toBe("No core waits for input in any step.");
  });

  it("has statistics of the wait in each step", () => {
    const data = inputOf();
    expect(stepFigures(data).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time", "10 ms", "2 steps, σ 2.828 ms, 8 ms to 12 ms"],
      ["Step time waiting for input", "35.0%", "7 ms of 20 ms"],
      ["Wait for input per step", "7 ms", "σ 1.414 ms, 6 ms to 8 ms"],
    ]);
    expect([waitingChart(data), waitingTable(data)]).toEqual([null, null]);
    expect(sentences(data)).toEqual(["GPU 1 takes part in no step and is not averaged in."]);
  });

  it("knows the wait also where other time may be input, and where there is none", () => {
    const of = (level: string, percent: number) => inputOf({ input: { bottleneck: "both", level, percent } });
    expect(limitOf(of("NOT", 1.2))).toEqual({
      tone: "good",
      title: "Not input-bound: 1.2% waits for input, 50.0% of the time from step to step is between steps",
    });
    expect(limitOf(of("POTENTIALLY", 21)).title).toBe("Possibly input-bound: 21.0% of the time from step to step is unexplained");
    // The share of input itself, not the one that decided.
    expect(stepFigures(of("POTENTIALLY", 21))[1]?.value).toBe("35.0%");
  });

  it("shows XProf's conclusion, statistics and band in its reading", () => {
    expect(limitOf(XPROF)).toEqual({ tone: "none", title: CONCLUSION });
    expect([barOf(XPROF), sentences(XPROF)]).toEqual([[], ["HIGHLY output-bound"]]);
    expect(stepFigures(XPROF).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time", "15 ms", "2 steps, σ 7.071 ms, 10 ms to 20 ms"],
      ["Step time waiting for input", "13.0%", "σ 1.4%, 12.0% to 14.0%"],
    ]);
    const chart = waitingChart(XPROF);
    expect([chart?.line.values, chart?.low, chart?.high]).toEqual([
      [10, 10],
      [0, 1],
      [12, 14],
    ]);
  });

  it("gives tips on what takes time only", () => {
    expect(usefulTips(inputOf())).toEqual(["[enqueue](https://x.org)", "[preprocessing](https://x.org)", "[advanced](https://x.org)"]);
  });

  it("splits the host's input processing", () => {
    expect(hostParts(inputOf()).map(({ name, share, text }) => [name, share, text])).toEqual([
      ["advanced", 0.3, "300 us"],
      ["preprocessing", 0.6, "600 us"],
      ["enqueue", 0.1, "100 us"],
    ]);
    expect(hostParts(inputOf({}, { processing: [kind("other", 0)] }))).toEqual([]);
  });

  it("has no figures without steps", () => {
    const data = inputOf(noReading());
    expect(limitOf(data).title).toBe("No steps in this profile: only the host's side is known");
    expect(limitOf({ ...data, ops: tableOf({ opName: [] }) }).title).toBe("No steps and no input ops");
    expect([barOf(data), waitingChart(data), stepFigures(data)]).toEqual([[], null, []]);
  });
});
