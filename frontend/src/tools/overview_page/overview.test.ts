import { describe, expect, it } from "vitest";
import { readOverview, verdictOf } from "./decode";
import { headline } from "./headline";
import { inferredChart } from "./inferred";
import { latencyChart, sessionHistogram } from "./latency";
import { traceTarget } from "./step_card";
import { environment, performance } from "./summary";
import { links, statementsOf } from "./tips";

type Value = string | number | boolean | null;
const table = (cols: Record<string, string>, rows: Value[][] = [], p: Record<string, string> = {}) => ({
  cols: Object.entries(cols).map(([id, type]) => ({ id, label: id, type })),
  rows: rows.map((values) => ({ c: values.map((v) => ({ v })) })),
  p,
});
const STEP = {
  stepnum: "string",
  deviceComputeTimeMs: "number",
  hostComputeTimeMs: "number",
  infeedTimeMs: "number",
  otherTimeMs: "number",
  stepTimeMs: "number",
};
const STEPS = table(
  STEP,
  [
    ["train 1", 1, 2, 6, 1, 10],
    ["train 2", 1, 2, 6, 1, 10],
  ],
  {
    hardware_type: "CPU_ONLY",
    input_conclusion: "Your program is HIGHLY input-bound because 60.0% of the total step time sampled is waiting for input.",
  },
);
const NO_STEPS = table(STEP, [], { hardware_type: "TPU" });
const LATENCY = {
  percentile: "string",
  hostTimeMs: "number",
  deviceTimeMs: "number",
  communicationTimeMs: "number",
  totalTimeMs: "number",
};

function payload({
  steps = STEPS,
  general = {},
  environment: facts = {},
  latency = [],
  extras,
}: {
  steps?: unknown;
  general?: Record<string, string>;
  environment?: Record<string, string>;
  latency?: Value[][];
  extras?: unknown;
} = {}): unknown[] {
  const ops = table(
    { selfTimePercent: "number", cumulativeTimePercent: "number", category: "string", operation: "string", flopRate: "number" },
    [
      [0.75, 0.75, "MatMul", "dot", 12],
      [0.25, 1, "Unknown", "copy", 0],
    ],
    general,
  );
  const tips = table(
    { tip_type: "string", link: "string", description: "string" },
    [
      ["faq", "See the FAQ", "FAQ"],
      ["host", "input_pipeline_analyzer (Section 3)", "Host time"],
      ["device", "op_profile (ops)", "Device time"],
      ["doc", '<a href="https://www.tensorflow.org/guide/data" target="_blank">Guide</a>', "Resources"],
    ],
    { non_bottleneck_tip_types: "device", statement: "HIGHLY input-bound" },
  );
  const parts: unknown[] = [
    ops,
    steps,
    table({ host_id: "string" }, [], { host_count: "1", device_core_count: "0", device_type: "CPU", is_training: "true", ...facts }),
    tips,
    table(LATENCY, latency),
    {},
    table({ severity: "string", message: "string" }, [["WARNING", "careful"]]),
  ];
  return extras === undefined ? parts : [...parts, extras];
}

const verdict = (patch: Record<string, { level: string; percent: number }> = {}) => ({
  input: { level: "NOT", percent: 1 },
  output: { level: "no", percent: 0 },
  idle: { level: "no", percent: 0 },
  collectives: { level: "no", percent: 0 },
  kernel_launch: { level: "no", percent: 0 },
  all_others: { level: "no", percent: 0 },
  ...patch,
});
const extras = (patch: Record<string, unknown> = {}) => ({
  steps: null,
  inferred_steps: null,
  efficiency: { peak_flops_percent: null, flop_rate_percent: null, memory_bw_percent: null, goodput_percent: 5.7, over: "steps" },
  session: null,
  statements: [],
  functions: [],
  hosts: { step_ms: {}, slowest_in: {}, over_others: {}, stragglers: [] },
  verdict: verdict(),
  xprof_input: { level: "NOT", percent: 1 },
  recording: null,
  spans: null,
  ...patch,
});
const INFERRED = {
  host: "h",
  evidence: {
    source: "device program",
    event: "jit_f(1)",
    line: "XLA Modules",
    plane: "/device:TPU:0",
    occurrences: 2,
    period_ms: 10,
    variation: 0.1,
    coverage: 0.8,
  },
  table: table({ stepnum: "string", beginMs: "number", stepTimeMs: "number", deviceBusyMs: "number", deviceIdleMs: "number" }, [
    ["0", 0, 10, 8, 2],
    ["1", 10, 10, 7, 3],
  ]),
  statistics: { average: 10, deviation: 0, minimum: 10, maximum: 10, count: 2 },
};

describe("the response", () => {
  it("is decoded with and without the additions of `extended`", () => {
    const plain = readOverview(payload());
    expect(plain.extras).toBeNull();
    expect(verdictOf(plain).input).toEqual({ level: "HIGHLY", percent: 60 });
    expect(plain.messages).toEqual([{ severity: "warning", text: "careful" }]);
    expect(plain.ops.columns[0]).toMatchObject({ label: "Time", unit: "fraction" });
    expect(
      readOverview(payload({ extras: extras({ spans: { hosts: ["h", "h"], begin_ps: [5, 20], end_ps: [15, 30] } }) })).extras?.spans?.endPs,
    ).toEqual([15, 30]);
  });

  it("is rejected if malformed", () => {
    expect(() => readOverview({})).toThrow("the overview is not a list");
    expect(() => readOverview([])).toThrow("0 tables in place of 7");
    expect(() => readOverview(payload({ extras: extras({ session: { requests: "many" } }) }))).toThrow(
      "requests of the session is not a number",
    );
  });
});

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

describe("recommendations", () => {
  it("lead to tools with data and to documents", () => {
    const advice = [
      { text: "which ops", tool: "op_profile", url: null },
      { text: "what ran", tool: "trace_viewer", url: null },
      { text: "which kernels", tool: "kernel_stats", url: null },
      { text: "Guide", tool: null, url: "https://x.org" },
    ];
    const overview = readOverview(
      payload({ extras: extras({ advice, statements: [{ topic: "input", level: "NOT", text: "Input takes 1.0%." }] }) }),
    );
    const tools = new Map([
      ["op_profile", "Op Profile"],
      ["trace_viewer@", "Trace viewer"],
    ]);
    expect(links(overview, tools).map(({ tool, title, url }) => [tool, title, url])).toEqual([
      ["op_profile", "Op Profile", null],
      ["trace_viewer@", "Trace viewer", null],
      [null, null, "https://x.org"],
    ]);
    expect(statementsOf(overview).map(({ text }) => text)).toEqual(["Input takes 1.0%."]);
    expect(statementsOf(readOverview(payload())).map(({ text }) => text)).toEqual(["HIGHLY input-bound"]);
  });

  it("know the HLO category where the framework op is unknown", () => {
    const { ops } = readOverview(payload({ extras: extras({ op_categories: ["fusion", "copy-done"] }) }));
    expect(ops.columns[2]?.values).toEqual(["MatMul", "copy-done"]);
  });
});

describe("charts and links", () => {
  it("stacks host, device and communication", () => {
    const { latency } = readOverview(payload({ latency: [["Avg", 2.5, 0.4, 0.1, 3]] }));
    expect(latencyChart(latency).series.map(({ name, values }) => [name, values])).toEqual([
      ["Host", [2.5]],
      ["Device", [0.4]],
      ["Communication", [0.1]],
    ]);
  });

  it("counts requests by latency", () => {
    const session = {
      requests: 3,
      average_ms: 3,
      host_ms: 1,
      device_ms: 1,
      communication_ms: 1,
      histogram: { edges_ms: [1, 2.5, 4], counts: [2, 1] },
    };
    const found = readOverview(payload({ extras: extras({ session }) })).extras?.session;
    const chart = found ? sessionHistogram(found) : null;
    expect([chart?.x.labels, chart?.series[0]?.values]).toEqual([
      ["1 ms to 2.500 ms", "2.500 ms to 4 ms"],
      [2, 1],
    ]);
  });

  it("shows inferred steps busy and idle", () => {
    const inferred = readOverview(payload({ steps: NO_STEPS, extras: extras({ inferred_steps: INFERRED }) })).extras?.inferred;
    expect(inferred && inferredChart(inferred).series.map(({ values }) => values)).toEqual([
      [8, 7],
      [2, 3],
    ]);
  });

  it("opens the trace viewer at a step, by its time or by its name", () => {
    const overview = readOverview(payload({ extras: extras({ spans: { hosts: ["g", "h"], begin_ps: [100, 300], end_ps: [200, 400] } }) }));
    expect(traceTarget(overview, 1)).toEqual({ window: "295,405", host: "h" });
    expect(traceTarget(overview, 0)).toEqual({ window: "95,205", host: "g" });
    expect(traceTarget(readOverview(payload()), 1)).toEqual({ find: "train 2" });
    expect(traceTarget(readOverview(payload()), 7)).toBeNull();
  });

  it("finds the time of a step that only one of the readings has", () => {
    const merged = table(STEP, [["train 2", 1, 2, 6, 1, 10]], { hardware_type: "CPU_ONLY" });
    const overview = readOverview(payload({ extras: extras({ steps: merged, spans: { hosts: ["h"], begin_ps: [300], end_ps: [400] } }) }));
    expect(traceTarget(overview, 1)).toEqual({ window: "295,405", host: "h" });
    expect(traceTarget(overview, 0)).toEqual({ find: "train 1" });
    const shown = overview.extras?.steps;
    expect(shown && traceTarget(overview, 0, shown)).toEqual({ window: "295,405", host: "h" });
  });
});
