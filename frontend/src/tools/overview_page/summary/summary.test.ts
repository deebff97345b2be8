import { describe, expect, it } from "vitest";
import { readOverview } from "../decode";
import { environment, performance } from "./summary";
import { NO_STEPS, payload, extras } from "../testing_answer";

describe("lists of metrics", () => {
  it("shows the categories with their shares of the base, and the parts of device compute", () => {
    const items = performance(readOverview(payload({ extras: extras() })));
    expect(items.map(({ name, value, detail }) => [name, value, detail])).toEqual([
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
    const hosts = { step_ms: { a: 14, b: 13 }, slowest_in: { a: 1, b: 1 }, over_others: { a: 0.077, b: -0.07 }, stragglers: [] };
    const shown = performance(readOverview(payload({ extras: extras({ hosts }) }))).filter(({ name }) => name.startsWith("Step time of"));
    expect(shown.map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time of a", "14 ms", "slowest in 1 of 2 steps"],
      ["Step time of b", "13 ms", "slowest in 1 of 2 steps"],
    ]);
  });

  it("has XProf's figures as it sends them in its reading, the last part of the step first", () => {
    const general = { host_tf_op_percent: "0.0%", device_op_time_eager_percent: "12.0%", device_compute_16bit_percent: "5.0%" };
    const items = performance(readOverview(payload({ general })));
    expect(items.map(({ name, value }) => [name, value])).toEqual([
      ["Average step time", "10 ms"],
      ["otherTimeMs", "1 ms"],
      ["infeedTimeMs", "6 ms"],
      ["hostComputeTimeMs", "2 ms"],
      ["deviceComputeTimeMs", "1 ms"],
      ["TF op placement: host", "0.0%"],
      ["Op time spent on eager execution: device", "12.0%"],
      ["Device compute precisions: 16 bit", "5.0%"],
    ]);
  });

  it("shows no share of eager execution where nothing tells eager ops from others", () => {
    const general = { host_op_time_eager_percent: "0.0%", device_op_time_eager_percent: "0.0%" };
    const shares = (functions: object[]) =>
      performance(readOverview(payload({ general, extras: extras({ functions }) })))
        .filter(({ name }) => name.startsWith("Eager"))
        .map(({ value }) => value);
    expect(shares([])).toEqual([null, null]);
    expect(shares([{ name: "train_step", calls: 5, self_ms: 2, expensive_share: 0 }])).toEqual(["0.0%", "0.0%"]);
  });

  it("distinguishes missing counters from zero on TPUs", () => {
    const overview = readOverview(
      payload({
        steps: NO_STEPS,
        general: { mxu_utilization_percent: "0.0%", hbm_utilization_percent: "12.5%", device_duty_cycle_percent: "63.2%" },
        environment: { device_core_count: "8" },
        extras: extras(),
      }),
    );
    const items = Object.fromEntries(performance(overview).map(({ name, value }) => [name, value]));
    expect(items).toMatchObject({
      "TPU matrix unit utilisation": null,
      "Device compute precision: up to 16 bits": null,
      "HBM bandwidth utilisation": "12.5%",
      "TPU duty cycle": "63.2%",
      "Program goodput efficiency": "5.7%",
      "FLOP rate relative to the roofline": null,
    });
  });

  it("estimates the use of the matrix units without counters, and shows the precision by ops", () => {
    const efficiency = { peak_flops_percent: 41.5, flop_rate_percent: 50, memory_bw_percent: 1, goodput_percent: 2, over: "steps" };
    const of = (general: Record<string, string>) =>
      performance(
        readOverview(
          payload({ steps: NO_STEPS, general, extras: extras({ efficiency, precision: { narrow_percent: 75, wide_percent: 25 } }) }),
        ),
      )
        .filter(({ name }) => /matrix|precision/.test(name))
        .map(({ value, detail }) => [value, detail]);
    expect(of({})).toEqual([
      ["75.0%", undefined],
      ["25.0%", undefined],
      ["41.5%", "estimated from op costs"],
    ]);
    expect(of({ mxu_utilization_percent: "12.0%" })[2]).toEqual(["12.0%", "from hardware counters"]);
  });

  it("describes the environment of the profile", () => {
    const items = Object.fromEntries(
      environment(readOverview(payload({ environment: { duration_ms: "784" } }))).map(({ name, value }) => [name, value]),
    );
    expect(items).toMatchObject({ Hosts: "1", "Device cores": null, Program: "training", "Profile covers": "784 ms" });
  });
});
