import { describe, expect, it } from "vitest";
import { readOverview } from "../decode";
import { environment, performance } from "./summary";
import { NO_STEPS, payload, extras } from "../testing_answer";

describe("lists of metrics", () => {
  it("shows step parts on CPUs, the last first, without empty ones", () => {
    const items = performance(
      readOverview(
        payload({
          general: {
            host_tf_op_percent: "0.0%",
            device_tf_op_percent: "0.0%",
            host_op_time_eager_percent: "0.0%",
            device_op_time_eager_percent: "12.0%",
          },
        }),
      ),
    );
    expect(items.map(({ name, value }) => [name, value])).toEqual([
      ["Average step time", "10 ms"],
      ["otherTimeMs", "1 ms"],
      ["infeedTimeMs", "6 ms"],
      ["hostComputeTimeMs", "2 ms"],
      ["deviceComputeTimeMs", "1 ms"],
      ["Framework op placement: host", null],
      ["Framework op placement: device", null],
      ["Eager execution: host", "0.0%"],
      ["Eager execution: device", "12.0%"],
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
      ["41.5%", "estimated from op costs"],
      ["75.0%", undefined],
      ["25.0%", undefined],
    ]);
    expect(of({ mxu_utilization_percent: "12.0%", device_compute_16bit_percent: "5.0%", device_compute_32bit_percent: "95.0%" })).toEqual([
      ["12.0%", "from hardware counters"],
      ["75.0%", "XProf: 5.0%, by kernel names within steps"],
      ["25.0%", "XProf: 95.0%, by kernel names within steps"],
    ]);
  });

  it("describes the environment of the profile", () => {
    const items = Object.fromEntries(
      environment(readOverview(payload({ environment: { duration_ms: "784" } }))).map(({ name, value }) => [name, value]),
    );
    expect(items).toMatchObject({ Hosts: "1", "Device cores": null, Program: "training", "Profile covers": "784 ms" });
  });
});
