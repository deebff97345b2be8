// For tests: answers of the server about findings, and about an overview without steps.
import type { Check, Finding, Proof, RunFindings } from "../../base/documents";
import { noReading } from "../../base/steps/testing";

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
  { ...noReading(), inferred_steps: null, frameworks: ["JAX"] },
];
export const RUN_INFO = {
  tools: [
    ["overview_page", "Overview Page"],
    ["time_budget", "Time budget"],
    ["source_view", "Source"],
    ["trace_viewer@", "Trace viewer"],
    ["hlo_stats", "HLO Op Stats"],
  ].map(([id, title]) => ({ id, title, available: true })),
};
