import { describe, expect, it } from "vitest";
import { environment, performance } from "./summary";
import type { HardwareUse } from "../../../base/documents";
import { readingOf } from "../../../base/steps/testing";
import { OVERVIEW, overviewOf, XPROF } from "../testing";

describe("lists of metrics", () => {
  it("shows the categories with their shares of the base, and the parts of device compute", () => {
    const items = performance(overviewOf());
    expect(items.slice(0, 8).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Average step time", "10 ms", "σ 2.828 ms, 8 ms to 12 ms"],
      ["Time from step to step", "20 ms", undefined],
      ["Between steps", "10 ms (50.0%)", undefined],
      ["All others", "1 ms (5.0%)", undefined],
      ["Input", "7 ms (35.0%)", undefined],
      ["Device compute", "2 ms (10.0%)", undefined],
      ["Device compute: ops", "1.500 ms (7.5%)", undefined],
      ["Device compute: data movement", "500 us (2.5%)", undefined],
    ]);
  });

  it("compares hosts", () => {
    const hosts = { step_ms: { a: 14, b: 13 }, slowest_in: { a: 1, b: 1 }, median_ms: 13.5, over_others: {}, stragglers: [] };
    const shown = performance(overviewOf({ steps: readingOf({ hosts }) })).filter(({ name }) => name.startsWith("Step time of"));
    expect(shown.map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time of a", "14 ms", "slowest in 1 of 2 steps"],
      ["Step time of b", "13 ms", "slowest in 1 of 2 steps"],
    ]);
  });

  it("has XProf's figures as it sends them in its reading, the last part of the step first", () => {
    expect(performance(XPROF).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Average step time", "10 ms", "the same in every step"],
      ["All others", "1 ms", undefined],
      ["Input", "6 ms", "σ 1.414 ms"],
      ["Device compute", "3 ms", "σ 1.414 ms"],
      ["TF op placement: host", "0.0%", undefined],
    ]);
  });

  it("shows no share of eager execution where nothing tells eager ops from others", () => {
    const shares = (functions: { name: string; calls: number; self_ps: number; expensive_ps: number }[]) =>
      performance(overviewOf({ functions }))
        .filter(({ name }) => name.startsWith("Eager"))
        .map(({ value }) => value);
    expect(shares([])).toEqual([null, null]);
    expect(shares([{ name: "train_step", calls: 5, self_ps: 2, expensive_ps: 0 }])).toEqual(["0.0%", "0.0%"]);
  });

  const tpu = (utilization: Partial<HardwareUse>, more: Parameters<typeof overviewOf>[0] = {}) =>
    performance(overviewOf({ hardware: "TPU", utilization: { ...OVERVIEW.utilization, ...utilization }, ...more }));

  it("distinguishes missing counters from zero on TPUs", () => {
    const items = Object.fromEntries(tpu({ hbm_percent: 12.5, duty_cycle_percent: 63.2 }).map(({ name, value }) => [name, value]));
    expect(items).toMatchObject({
      "TPU matrix unit utilisation": null,
      "Device compute precision: up to 16 bits": null,
      "HBM bandwidth utilisation, counted": "12.5%",
      "TPU duty cycle": "63.2%",
      "Program goodput efficiency": "5.7%",
      "FLOP rate relative to the roofline": null,
    });
  });

  it("estimates the use of the matrix units without counters, and shows the precision by ops", () => {
    const efficiency = { peak_flops_percent: 41.5, flop_rate_percent: 50, memory_bw_percent: 1, goodput_percent: 2, over: "steps" };
    const of = (matrix_units_percent: number | null) =>
      tpu({ matrix_units_percent }, { efficiency, precision: { narrow_percent: 75, wide_percent: 25 } })
        .filter(({ name }) => /matrix|precision/.test(name))
        .map(({ value, detail }) => [value, detail]);
    expect(of(null)).toEqual([
      ["75.0%", undefined],
      ["25.0%", undefined],
      ["41.5%", "estimated from op costs"],
    ]);
    expect(of(12)[2]).toEqual(["12.0%", "from hardware counters"]);
  });

  it("describes the environment of the profile", () => {
    const of = (patch: Partial<Parameters<typeof environment>[0]["environment"]>) =>
      Object.fromEntries(
        environment({ ...OVERVIEW, environment: { ...OVERVIEW.environment, ...patch } }).map(({ name, value }) => [name, value]),
      );
    expect(of({ hosts: 1, device_cores: 0, duration_ms: 784 })).toMatchObject({
      ...{ Hosts: "1", Tasks: "0", "Device cores": null, Program: "training", "Profiler was on for": "784 ms" },
    });
    // Its steps alone last 20 ms.
    const briefly = overviewOf({ steps: readingOf(), environment: { ...OVERVIEW.environment, duration_ms: 9 } });
    expect(environment(briefly).find(({ name }) => name === "Profiler was on for")?.value).toBeNull();
    expect(of({ hosts: 2, tasks: 5 })).toMatchObject({ Hosts: "2", Tasks: "5 (num tasks per host = 2)", "Device cores": "4" });
  });
});
