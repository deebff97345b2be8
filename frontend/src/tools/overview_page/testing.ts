// For tests: documents of findings and of the overview.
import type { Check, Finding, InferredTimes, Latency, Overview, Proof, RequestLatency, RunFindings } from "../../base/documents";
import { noReading, readingOf, xprofReading, XPROF_STEPS } from "../../base/steps/testing";
import { tableOf } from "../../base/testing";

const proof = (label: string, value: number | string, unit: string, tool: string, query: Record<string, string> = {}): Proof => ({
  ...{ label, value, unit, tool, query },
  ...{ op: null, file: null, line: null },
});
export const SLOW: Finding = {
  id: "slow_host_code",
  title: "Devices wait 28.9% of the step for code on the host: augment.py:7 random_crop",
  share: 0.289,
  saving_ps_per_step: 550e6,
  segments: [{ id: "idle_host", name: "Waits for host code", ps: 600e6, percent: 31.6 }],
  formula: "idle time that one event covers",
  confidence: "high",
  advice: "Move it to another thread. Then it runs in time.",
  hosts: ["h1"],
  help: "Slow code on the host\nSpeaks from 10% of the step.",
  evidence: [
    proof("Devices idle because of code on the host, of the step", 28.947, "%", "time_budget", { part: "idle_host" }),
    proof("The longest wait", 0.55, "ms", "trace_viewer@", { host: "h1", window: "405000000,2495000000" }),
    proof("The code", "$augment.py:7 random_crop", "", ""),
    proof("Steps", 6, "", "overview_page", { host: "h1" }),
    proof("Op", "fusion.3", "", "hlo_stats", { filter: "fusion.3" }),
  ],
};
export const MEMORY: Finding = {
  id: "kept",
  title: "Activations take 3 GiB",
  share: 0,
  saving_ps_per_step: 0,
  segments: [],
  formula: "none",
  confidence: "low",
  advice: "Compute them again.",
  hosts: [],
  help: "",
  evidence: [proof("Activations", 3072, "MiB", "memory_viewer")],
};
export const SILENT: Check[] = [
  { id: "transfers", looks_for: "Transfers in the loop", reason: "The profile has no transfer.", state: "unknown", help: "Transfers." },
  { id: "exposed_communication", looks_for: "Exposed communication", reason: "It takes 8.4% of the step.", state: "passed", help: "" },
];
export const FAILED: Check = {
  id: "padding",
  looks_for: "Padding in matrix units",
  reason: "The rule failed: no shape.",
  state: "failed",
  help: "",
};

/** The findings that the server sends. */
export const findingsOf = (patch: Partial<RunFindings> = {}): RunFindings => ({
  headline: { title: SLOW.title, tone: "bad", finding: SLOW.id },
  findings: [SLOW, MEMORY],
  silent: SILENT,
  base: "step",
  base_ps: 1900e6,
  step_ps: 1900e6,
  steps: 6,
  steps_left_out: 0,
  notes: [],
  groups: [],
  healthy: false,
  problems: [],
  left_out: [],
  ...patch,
});

const OPS = tableOf({
  selfTimePercent: [0.75, 0.25],
  cumulativeTimePercent: [0.75, 1],
  category: ["MatMul", "fusion"],
  operation: ["dot", "copy"],
  flopRate: [12, null],
});
/** Two steps on a host without devices. */
export const overviewOf = (patch: Partial<Overview> = {}): Overview => ({
  steps: readingOf(),
  hardware: "CPU_ONLY",
  environment: {
    hosts: 1,
    tasks: 0,
    device_type: "CPU",
    devices_recorded: true,
    device_cores: 0,
    is_training: true,
    begin_ms: null,
    duration_ms: null,
  },
  utilization: {
    matrix_units_percent: null,
    hbm_percent: null,
    duty_cycle_percent: null,
    ops_on_host_percent: 0,
    ops_on_device_percent: 0,
    eager_on_host_percent: 0,
    eager_on_device_percent: 0,
    sparse_cores: null,
  },
  efficiency: { peak_flops_percent: null, flop_rate_percent: null, memory_bw_percent: null, goodput_percent: 5.7, over: "steps" },
  precision: null,
  ops: OPS,
  requests: null,
  inferred: null,
  frameworks: [],
  cpu_ops: false,
  functions: [],
  messages: [{ severity: "warning", text: "careful" }],
  xprof: null,
  left_out: [],
  ...patch,
});
/** The same in XProf's reading. */
export const XPROF: Overview = overviewOf({
  steps: XPROF_STEPS,
  xprof: xprofReading({
    tips: [
      { heading: "FAQ", text: "See the FAQ" },
      { heading: "Host time", text: "input_pipeline_analyzer (Section 3)" },
      { heading: "Device time", text: "op_profile (ops)" },
      { heading: "Resources", text: "[Guide](https://www.tensorflow.org/guide/data)" },
    ],
    figures: [{ name: "TF op placement: host", value: "0.0%", property: "host_tf_op_percent" }],
  }),
});
/** An overview of two hosts without steps or ops. */
export const OVERVIEW: Overview = overviewOf({
  steps: noReading(),
  hardware: "TPU",
  environment: { ...overviewOf().environment, hosts: 2, device_cores: 4, device_type: "TPU v4" },
  ops: tableOf({ selfTimePercent: [], cumulativeTimePercent: [], category: [], operation: [] }),
  frameworks: ["JAX"],
  messages: [],
});
const MEAN: Latency = { label: "Avg", host_ms: 2.52, device_ms: 0.4, communication_ms: 0.08, total_ms: 3 };
export const REQUESTS: RequestLatency = { requests: 5, percentiles: [MEAN], histogram: { edges_ms: [1, 2.5, 4], counts: [2, 1] } };
export const INFERRED: InferredTimes = {
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
  table: tableOf({ stepnum: ["0", "1"], beginMs: [0, 10], stepTimeMs: [10, 10], deviceBusyMs: [8, 7], deviceIdleMs: [2, 3] }),
  statistics: { average: 10, deviation: 0, minimum: 10, maximum: 10, count: 2 },
};
export const RUN_INFO = {
  tools: [
    ["overview_page", "Overview Page"],
    ["time_budget", "Time budget"],
    ["source_view", "Source"],
    ["trace_viewer@", "Trace viewer"],
    ["hlo_stats", "HLO Op Stats"],
  ].map(([id, title]) => ({ id, title, available: true })),
};
