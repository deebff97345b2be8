// For tests: answers of the overview, built from the parts that a test is about.
import { noReading, readingAnswer } from "../../base/steps/testing";

type Value = string | number | boolean | null;
export const table = (cols: Record<string, string>, rows: Value[][] = [], p: Record<string, string> = {}) => ({
  cols: Object.entries(cols).map(([id, type]) => ({ id, label: id, type })),
  rows: rows.map((values) => ({ c: values.map((v) => ({ v })) })),
  p,
});
export const STEP = {
  stepnum: "string",
  deviceComputeTimeMs: "number",
  hostComputeTimeMs: "number",
  infeedTimeMs: "number",
  otherTimeMs: "number",
  stepTimeMs: "number",
};
export const STEPS = table(
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
export const NO_STEPS = table(STEP, [], { hardware_type: "TPU" });
const LATENCY = {
  percentile: "string",
  hostTimeMs: "number",
  deviceTimeMs: "number",
  communicationTimeMs: "number",
  totalTimeMs: "number",
};

export function payload({
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

export const extras = (patch: Record<string, unknown> = {}) => ({
  ...readingAnswer(),
  inferred_steps: null,
  efficiency: { peak_flops_percent: null, flop_rate_percent: null, memory_bw_percent: null, goodput_percent: 5.7, over: "steps" },
  session: null,
  functions: [],
  ...patch,
});
/** The same of a run without steps and devices. */
export const noSteps = (patch: Record<string, unknown> = {}) => extras({ ...noReading(), ...patch });
export const INFERRED = {
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
