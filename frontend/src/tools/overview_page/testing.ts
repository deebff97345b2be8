// For tests: answers of the server about findings, and about an overview without steps.
import { readFindings } from "../../api/payload/findings";
import type { Findings } from "../../api/payload/findings";

export const SLOW = {
  id: "slow_host_code",
  title: "Devices wait 28.9% of the step for code on the host: augment.py:7 random_crop",
  share: 0.289,
  saving_ps_per_step: 550e6,
  formula: "idle time that one event covers",
  confidence: "high",
  advice: "Move it to another thread. Then it runs in time.",
  hosts: ["h1"],
  help: "Slow code on the host\n\nSpeaks from 10% of the step.",
  evidence: [
    { label: "Idle because of host code, of the step", value: 28.947, unit: "%", tool: "time_budget", query: {} },
    { label: "The longest wait", value: 0.55, unit: "ms", tool: "trace_viewer@", query: { host: "h1", window: "405000000,2495000000" } },
    { label: "The code", value: "$augment.py:7 random_crop", unit: "", tool: "", query: {} },
    { label: "Steps", value: 6, unit: "", tool: "overview_page", query: { host: "h1" } },
    { label: "Op", value: "fusion.3", unit: "", tool: "hlo_stats", query: { filter: "fusion.3" } },
  ],
};
export const MEMORY = {
  id: "kept",
  title: "Activations take 3 GiB",
  share: 0,
  saving_ps_per_step: 0,
  formula: "none",
  confidence: "low",
  advice: "Compute them again.",
  hosts: [],
  evidence: [{ label: "Activations", value: 3072, unit: "MiB", tool: "memory_viewer", query: {} }],
};
const PARTS = [
  { category: "compute", name: "Compute", help: "Ops.", share: 0.62 },
  { category: "idle_host", name: "Idle: host code", help: "Code.", share: 0.289 },
  { category: "idle_other", name: "Idle: unexplained", help: "Unknown.", share: 0.091 },
];
export const SILENT = [
  { id: "transfers", looks_for: "Transfers in the loop", reason: "The profile has no transfer.", state: "unknown", help: "Transfers." },
  { id: "exposed_communication", looks_for: "Exposed communication", reason: "It takes 8.4% of the step.", state: "passed" },
];
export const FAILED = { id: "padding", looks_for: "Padding in matrix units", reason: "The rule failed: no shape.", state: "failed" };

/** An answer of the server. */
export const findingsAnswer = (patch: Record<string, unknown> = {}) => ({
  headline: { title: SLOW.title, tone: "bad", finding: SLOW.id },
  findings: [SLOW, MEMORY],
  silent: SILENT,
  step_ps: 1900e6,
  base: "step",
  parts: PARTS,
  ...patch,
});
/** A decoded answer of the server. */
export const findingsOf = (patch: Record<string, unknown> = {}): Findings => readFindings(findingsAnswer(patch));

const empty = (p: Record<string, string> = {}, cols: { id: string; label: string; type: string }[] = []) => ({ cols, rows: [], p });
const column = (id: string, type: string) => ({ id, label: id, type });
/** An overview of two hosts without steps or ops. */
export const OVERVIEW: unknown[] = [
  empty({}, [
    column("selfTimePercent", "number"),
    column("cumulativeTimePercent", "number"),
    column("category", "string"),
    column("operation", "string"),
    column("flopRate", "number"),
  ]),
  empty({ hardware_type: "TPU" }, [column("stepnum", "string"), column("stepTimeMs", "number")]),
  empty({ host_count: "2", device_core_count: "4", device_type: "TPU v4", is_training: "true" }),
  empty(),
  empty(
    {},
    ["percentile", "hostTimeMs", "deviceTimeMs", "communicationTimeMs", "totalTimeMs"].map((id) =>
      column(id, id === "percentile" ? "string" : "number"),
    ),
  ),
  {},
  empty({}, [column("severity", "string"), column("message", "string")]),
  { inferred_steps: null, frameworks: ["JAX"] },
];
export const RUN_INFO = {
  tools: [
    ["overview_page", "Overview Page"],
    ["time_budget", "Time budget"],
    ["trace_viewer@", "Trace viewer"],
    ["hlo_stats", "HLO Op Stats"],
  ].map(([id, title]) => ({ id, title, available: true })),
};
