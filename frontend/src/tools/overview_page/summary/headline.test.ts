import { describe, expect, it } from "vitest";
import type { StepReading } from "../../../base/documents";
import { decomposed, noReading, readingOf } from "../../../base/steps/testing";
import { headline } from "./headline";
import { OVERVIEW, overviewOf, REQUESTS, XPROF } from "../testing";

const of = (steps: Partial<StepReading> = {}) => headline(overviewOf({ steps: readingOf(steps) }));

describe("the summary", () => {
  it("names the input if it is the limit, over the segments of the decomposition", () => {
    const { tone, title, sentences, segments, barLabel } = of();
    expect([tone, title]).toEqual(["bad", "Input-bound: 35.0% of the time from step to step waits for input"]);
    expect(sentences).toEqual(["2 steps, 10 ms on average (8 ms to 12 ms).", "GPU 1 takes part in no step and is not averaged in."]);
    expect(barLabel).toBe("Of the time from step to step: 20 ms = 10 ms step + 10 ms between steps, mean over the devices that take part");
    expect(segments.map(({ id }) => id)).toEqual(["device_compute", "input", "idle_other", "between_steps"]);
  });

  it("names the largest category of other programs", () => {
    const input = { bottleneck: "device", level: "NOT", percent: 1 };
    expect(of({ input }).title).toBe("50.0% of the time from step to step is between steps");
    const decomposition = decomposed({ base: "step", base_ps: 10e9, average_ps: { compute: 9e9, idle_other: 1e9 } });
    expect(of({ input, decomposition })).toMatchObject({ tone: "none", title: "90.0% of the step is device compute" });
  });

  it("says what the server notes of the steps", () => {
    expect(of({ notes: ["Steps are inferred."] }).sentences[1]).toBe("Steps are inferred.");
  });

  it("falls back to requests, then to busy time and ops", () => {
    const without = overviewOf({ steps: noReading() });
    expect(headline({ ...without, requests: REQUESTS }).title).toBe("A request takes 3 ms; 84.0% of it is on the host");
    const none = headline(without);
    expect([none.title, none.parts.map(({ name }) => name)]).toEqual(["No steps in this profile", ["dot", "copy"]]);
    const busy = headline({ ...OVERVIEW, utilization: { ...OVERVIEW.utilization, duty_cycle_percent: 86.5 } });
    expect(busy.title).toBe("Devices busy for 86.5% of the time; no steps recorded");
  });

  it("is XProf's conclusion over XProf's average step in its reading", () => {
    const { tone, title, sentences, barLabel, segments } = headline(XPROF);
    expect([tone, title, sentences, barLabel]).toEqual([
      "none",
      "HIGHLY input-bound",
      ["2 steps, 10 ms each."],
      "The average step in XProf's categories",
    ]);
    expect(segments.map(({ name, share, ps }) => [name, share, ps])).toEqual([
      ["Device compute", 0.3, 3e9],
      ["Input", 0.6, 6e9],
      ["All others", 0.1, 1e9],
    ]);
  });
});
