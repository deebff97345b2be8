// For tests: answers of the server about findings, and about an overview without steps.
import { readFindings } from "../../api/payload/findings";
import type { Findings } from "../../api/payload/findings";
import { noReading } from "../../base/steps/testing";

export const SLOW = {
  id: "slow_host_code",
  title: "Devices wait 28.9% of the step for code on the host: augment.py:7 random_crop",
  share: 0.289,
  saving_ps_per_step: 550e6,
  segments: [{ id: "idle_host", name: "Waits for host code", ps: 600e6, percent: 31.6 }],
  formula: "idle time that one event covers",
  confidence: "high",
  advice: "Move it to another thread. Then it runs in time.",
  hosts: ["h1"],
  help: "Slow code on the host\n\nSpeaks from 10% of the step.",
  evidence: [
    {
      label: "Devices idle because of code on the host, of the step",
      value: 28.947,
      unit: "%",
      tool: "time_budget",
      query: { part: "idle_host" },
    },
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
  segments: [],
  formula: "none",
  confidence: "low",
  advice: "Compute them again.",
  hosts: [],
  evidence: [{ label: "Activations", value: 3072, unit: "MiB", tool: "memory_viewer", query: {} }],
};
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
  base: "step",
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
