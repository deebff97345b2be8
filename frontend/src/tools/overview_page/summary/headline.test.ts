import { describe, expect, it } from "vitest";
import { decomposed } from "../../../base/steps/testing";
import { readOverview } from "../decode";
import { headline } from "./headline";
import { extras, noSteps, payload, NO_STEPS } from "../testing_answer";

const of = (more: unknown) => headline(readOverview(payload({ extras: more })));

describe("the summary", () => {
  it("names the input if it is the limit, over the segments of the decomposition", () => {
    const { tone, title, sentences, segments, barLabel } = of(extras());
    expect([tone, title]).toEqual(["bad", "Input-bound: 35.0% of the time from step to step waits for input"]);
    expect(sentences).toEqual([
      "2 steps, 10 ms on average (σ 2.828 ms, from 8 ms to 12 ms).",
      "GPU 1 takes part in no step and is not averaged in.",
    ]);
    expect(barLabel).toBe("Of the time from step to step: 20 ms = 10 ms step + 10 ms between steps, mean over the devices that take part");
    expect(segments.map(({ id }) => id)).toEqual(["device_compute", "input", "other", "between_steps"]);
  });

  it("names the largest category of other programs", () => {
    const input = { bottleneck: "device", level: "NOT", percent: 1 };
    expect(of(extras({ input })).title).toBe("50.0% of the time from step to step is between steps");
    const decomposition = decomposed({ base: "step", base_ps: 10e9, average_ps: { compute: 9e9, idle_other: 1e9 } });
    expect(of(extras({ input, decomposition }))).toMatchObject({ tone: "none", title: "90.0% of the step is device compute" });
  });

  it("says what the server notes of the steps", () => {
    expect(of(extras({ notes: ["Steps are inferred."] })).sentences[1]).toBe("Steps are inferred.");
  });

  it("falls back to requests, then to busy time and ops", () => {
    const session = { requests: 5, average_ms: 3, host_ms: 2.52, device_ms: 0.4, communication_ms: 0.08 };
    expect(of(noSteps({ session })).title).toBe("A request takes 3 ms; 84.0% of it is on the host");
    const none = of(noSteps());
    expect([none.title, none.parts.map(({ name }) => name)]).toEqual(["No steps in this profile", ["dot", "copy"]]);
    const general = { device_duty_cycle_percent: "86.5%" };
    const busy = headline(readOverview(payload({ steps: NO_STEPS, general, environment: { device_core_count: "4" }, extras: noSteps() })));
    expect(busy.title).toBe("Devices busy for 86.5% of the time; no steps recorded");
  });

  it("is XProf's conclusion over XProf's average step in its reading", () => {
    const { tone, title, sentences, barLabel, parts, segments } = headline(readOverview(payload()));
    expect([tone, title, sentences, barLabel]).toEqual([
      "none",
      "HIGHLY input-bound",
      ["2 steps, 10 ms each."],
      "The average step in XProf's categories",
    ]);
    expect(segments).toEqual([]);
    expect(parts.map(({ name, share, text }) => [name, share, text])).toEqual([
      ["deviceComputeTimeMs", 0.1, "1 ms"],
      ["hostComputeTimeMs", 0.2, "2 ms"],
      ["infeedTimeMs", 0.6, "6 ms"],
      ["otherTimeMs", 0.1, "1 ms"],
    ]);
  });
});
