import { describe, expect, it } from "vitest";
import { baseText, breakdownOf, countSteps, idleDevices, segmentsOf, segmentWith, traceOf } from "./decomposition";
import { contrast } from "../colour";
import { CATEGORIES, lookOf } from "./step_category";
import { decomposed, NOTHING } from "./testing";

const found = decomposed();
const segments = segmentsOf(found);

describe("the decomposition of step time", () => {
  it("divides the base into categories with any time, each into its parts", () => {
    expect(segments.map(({ id, name, ps, share }) => [id, name, ps, share])).toEqual([
      ["device_compute", "Device compute", 2e9, 0.1],
      ["input", "Input", 7e9, 0.35],
      ["idle_other", "Unexplained", 1e9, 0.05],
      ["between_steps", "Between steps", 10e9, 0.5],
    ]);
    expect(segments[0]?.parts.map(({ id, share }) => [id, share])).toEqual([
      ["compute", 0.075],
      ["data_movement", 0.025],
    ]);
    expect([segmentWith(segments, "idle_input")?.id, segmentWith(segments, "between_steps")?.id, segmentWith(segments, "gone")]).toEqual([
      "input",
      "between_steps",
      null,
    ]);
  });

  it("has every step by category, whose average is that over steps and devices", () => {
    const { labels, parts, totalMs, time } = breakdownOf(found);
    expect([labels, totalMs, time?.average, time?.maximum]).toEqual([["train 1", "train 2"], [8, 12], 10, 12]);
    expect(parts.map(({ name, ms }) => [name, ms])).toEqual([
      ["Device compute", [1, 3]],
      ["Input", [6, 8]],
      ["Unexplained", [1, 1]],
    ]);
  });

  it("counts the marked steps that are left out", () => {
    expect([countSteps(8, 2), countSteps(1, 0)]).toEqual(["8 steps (10 marked, the first and last left out)", "1 step"]);
  });

  it("shows a recording without steps in the bar, not as a step", () => {
    const whole = decomposed({ base: "recording", source: "recording", average_ps: { compute: 20e9 } });
    expect([breakdownOf(whole).labels, breakdownOf(whole).time, baseText(whole)]).toEqual([[], null, "recording: 20 ms"]);
    expect([segmentsOf(NOTHING), breakdownOf(NOTHING).time]).toEqual([[], null]);
  });

  it("says what the base is, and who takes no part", () => {
    expect(baseText(found)).toBe("time from step to step: 20 ms = 10 ms step + 10 ms between steps");
    expect(baseText({ ...found, base: "step", base_ps: 10e9, average_ps: {} })).toBe("average step: 10 ms");
    expect(idleDevices(found)).toBe("GPU 1 takes part in no step and is not averaged in.");
    expect(idleDevices({ ...found, devices: found.devices.slice(0, 1) })).toBeNull();
  });

  it("leads to a step in the trace of its slowest device's host", () => {
    expect(traceOf(found, 1)).toEqual({ window: "299400000000,312600000000", host: "h" });
    expect(traceOf(found, 2)).toBeNull();
  });

  it("has one colour per category; parts have shades of it", () => {
    expect(segments.map(({ colour, striped }) => [colour, striped])).toEqual([
      [CATEGORIES.device_compute.colour, false],
      [CATEGORIES.input.colour, true],
      [CATEGORIES.other.colour, false],
      [CATEGORIES.between_steps.colour, true],
    ]);
    expect(lookOf("compute").colour).toEqual(CATEGORIES.device_compute.colour);
    expect(new Set(["compute", "data_movement", "move_wait"].map((id) => lookOf(id).colour.light)).size).toBe(3);
    for (const part of ["compute", "data_movement", "move_wait", "idle_peer", "exposed_copy", "idle_gap", "output_copy"]) {
      expect(contrast(lookOf(part).colour.dark, "#1d232b")).toBeGreaterThan(3); // the page's background
    }
    expect(lookOf("unheard_of").colour).toEqual(CATEGORIES.other.colour);
  });
});
