import { describe, expect, it } from "vitest";
import { readOverview } from "../decode";
import { headline } from "./headline";
import { performance } from "./summary";
import { table, STEP, STEPS, NO_STEPS, payload, verdict, extras, INFERRED } from "../testing_answer";

describe("the summary", () => {
  it("names the input if it is the limit", () => {
    const { tone, title, sentences, parts } = headline(readOverview(payload()));
    expect([tone, title]).toEqual(["bad", "Input-bound: 60.0% of the step time is spent waiting for input"]);
    expect(sentences[0]).toBe("2 steps, 10 ms each.");
    expect(parts.map(({ name, share, text }) => [name, share, text])).toEqual([
      ["deviceComputeTimeMs", 0.1, "1 ms"],
      ["hostComputeTimeMs", 0.2, "2 ms"],
      ["infeedTimeMs", 0.6, "6 ms"],
      ["otherTimeMs", 0.1, "1 ms"],
    ]);
  });

  it.each([
    [{ output: { level: "high", percent: 30 } }, "Output-bound: 30.0% of the step time is output"],
    [{ collectives: { level: "high", percent: 18.7 } }, "Communication-bound: 18.7% of the step time is collectives between devices"],
    [{ idle: { level: "high", percent: 40 } }, "Devices wait for the host: 40.0% of the step time is device idle time"],
    [{}, "Not input-bound: the largest part of the step time, 60.0%, is infeedtimems"],
    [{ input: { level: "UNSEEN", percent: 0 } }, "The largest part of the step time, 60.0%, is infeedtimems"],
  ])("names the other limits: %j", (patch, title) => {
    expect(headline(readOverview(payload({ extras: extras({ verdict: verdict(patch) }) }))).title).toBe(title);
  });

  it("falls back to requests, inferred steps, busy time", () => {
    const session = { requests: 5, average_ms: 3, host_ms: 2.52, device_ms: 0.4, communication_ms: 0.08 };
    expect(headline(readOverview(payload({ steps: NO_STEPS, extras: extras({ session }) }))).title).toBe(
      "A request takes 3 ms; 84.0% of it is on the host",
    );
    const guess = headline(readOverview(payload({ steps: NO_STEPS, extras: extras({ inferred_steps: INFERRED }) })));
    expect(guess.title).toBe("Inferred steps: 10 ms on average");
    expect(guess.parts.map(({ share }) => share)).toEqual([0.75, 0.25]);
    const none = headline(readOverview(payload({ steps: NO_STEPS })));
    expect(none.title).toBe("No steps in this profile");
    expect(none.parts.map(({ name }) => name)).toEqual(["dot", "copy"]);
    const busy = headline(
      readOverview(payload({ steps: NO_STEPS, general: { device_duty_cycle_percent: "86.5%" }, environment: { device_core_count: "4" } })),
    );
    expect(busy.title).toBe("Devices busy for 86.5% of the time; steps unknown");
  });

  it("calls compute on the CPU and unexplained time by their names", () => {
    const of = (host: number, other: number) =>
      headline(
        readOverview(
          payload({ steps: table(STEP, [["0", 0, host, 0, other, host + other]], { hardware_type: "CPU_ONLY" }), extras: extras() }),
        ),
      ).title;
    expect(of(9, 1)).toBe("90.0% of the step time is compute on the CPU");
    expect(of(1, 9)).toBe("90.0% of the step time is not covered by any recorded event");
  });

  it("shows the steps of the slowest hosts: title, bar, statistics and parts have one base", () => {
    const own = table(
      {
        stepnum: "string",
        tcComputeTimeMs: "number",
        tcInfeedTimeMs: "number",
        tcIdleTimeMs: "number",
        stepTimeMs: "number",
        host: "string",
        core: "string",
        waitingPercent: "number",
        waitingPercentLeast: "number",
        waitingPercentMost: "number",
      },
      [
        ["0", 6, 2, 2, 10, "b", "1", 20, 0, 25],
        ["1", 10, 2, 8, 20, "a", "0", 10, 5, 10],
      ],
      { hardware_type: "TPU" },
    );
    const hosts = { step_ms: { a: 14, b: 13 }, slowest_in: { a: 1, b: 1 }, over_others: { a: 0.077, b: -0.07 }, stragglers: [] };
    const overview = readOverview(
      payload({
        steps: NO_STEPS,
        environment: { host_count: "2" },
        extras: extras({ steps: own, hosts, verdict: verdict({ input: { level: "MODERATELY", percent: 13.3 } }) }),
      }),
    );
    const { sentences, parts, barLabel } = headline(overview);
    expect(sentences[0]).toBe("2 steps, on the slowest host of each 15 ms on average (σ 7.071 ms, from 10 ms to 20 ms).");
    expect([barLabel, parts.map(({ text }) => text)]).toEqual(["The average step, on the slowest host of each", ["8 ms", "2 ms", "5 ms"]]);
    const figures = performance(overview)
      .slice(0, 6)
      .map(({ name, value, detail }) => [name, value, detail]);
    expect(figures).toEqual([
      ["Average step time, slowest host of each step", "15 ms", "σ 7.071 ms, 10 ms to 20 ms"],
      ["tcIdleTimeMs", "5 ms", "σ 4.243 ms"],
      ["tcInfeedTimeMs", "2 ms", undefined],
      ["tcComputeTimeMs", "8 ms", "σ 2.828 ms"],
      ["Step time of a", "14 ms", "slowest in 1 of 2 steps"],
      ["Step time of b", "13 ms", "slowest in 1 of 2 steps"],
    ]);
  });

  it("says what lies outside the steps, and that steps are dispatch times", () => {
    const recording = {
      host: "h",
      length_ms: 100,
      steps_ms: 20,
      before_ms: 30,
      after_ms: 50,
      work_outside_ms: 40,
      outside: [{ name: "compile", ms: 25 }],
      dispatch: null,
    };
    const of = (patch: Record<string, unknown>) =>
      headline(readOverview(payload({ extras: extras({ steps: STEPS, recording: { ...recording, ...patch } }) })));
    expect(of({}).sentences[1]).toBe(
      "The steps cover 20 ms of the 100 ms recorded (20.0%): 30 ms before the first, 50 ms after the last belong to no " +
        "step. Outside the steps, ops run for 40 ms. Longest there: compile (25 ms).",
    );
    const late = of({ dispatch: { steps: 2, steps_ms: 20, work_ms: 90 } });
    expect([late.tone, late.title]).toEqual(["fair", "Steps are dispatch times: 10 ms to start the work of a step, which takes 45 ms"]);
    expect(late.sentences.slice(1)).toEqual([
      "The work that the steps start goes on for 70 ms after the last of 2 steps. Until then a step takes 45 ms on " +
        "average. Block on the result inside the step marker to measure it.",
    ]);
  });
});
