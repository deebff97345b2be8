// For tests: the comparison of two runs of one program whose ops were numbered anew.
import type { ComparedRuns, Difference } from "../../base/documents";
import { tableOf } from "../../base/testing";
import type { Cell, TableData } from "../../base/table/table_data";

const US = 1e6;

/** A table of rows; columns whose ids end in `_ps`, `_ps_per_step` or `_bytes` have these units. */
function table(ids: readonly string[], rows: readonly (readonly Cell[])[]): TableData {
  const data = tableOf(Object.fromEntries(ids.map((id, i) => [id, rows.map((row) => row[i] ?? null)])));
  const unit = (id: string): string | null => (/_ps(_per_step)?$/.test(id) ? "ps" : id.endsWith("_bytes") ? "bytes" : null);
  return { ...data, columns: data.columns.map((column) => ({ ...column, unit: unit(column.id) })) };
}

/** Times in us. */
const time = (base: number, run: number, low: number, high: number): Difference => ({
  base: base * US,
  run: run * US,
  delta: (run - base) * US,
  low: low * US,
  high: high * US,
});

const SIDE = { steps: 6, recorded_steps: 6, matched: 0.9, median_ps: 900 * US, single_steps: [], excess_ps_per_step: 0, period: null };

export const COMPARISON: ComparedRuns = {
  compared: "step",
  length: time(900, 990, 80, 100),
  step: time(900, 990, 80, 100),
  parts: { compute: time(350, 440, 89, 91), idle_other: time(550, 550, 0, 0) },
  base: SIDE,
  run: { ...SIDE, steps: 4, recorded_steps: 4, matched: 0.95, median_ps: 990 * US },
  caution: null,
  contributions: table(
    [
      ...["what", "kind", "delta_ps_per_step", "base_ps_per_step", "run_ps_per_step", "where", "part", "low_ps", "high_ps", "certain"],
      ...["ops", "event", "base_event"],
    ],
    [
      [
        "jit_f: fusion.11 (mul)",
        "slower",
        120 * US,
        200 * US,
        320 * US,
        "Device compute",
        null,
        119 * US,
        121 * US,
        true,
        "fusion.11",
        "fusion.11",
        "fusion.1",
      ],
      ["jit_f: gone.3", "removed", -50 * US, 50 * US, 0, "Device compute", null, null, null, true, "gone.3", null, "gone.3"],
      [
        "Waits for launches (Kernel launch)",
        "slower",
        15 * US,
        0,
        15 * US,
        "Kernel launch",
        "idle_launch",
        1 * US,
        29 * US,
        false,
        null,
        null,
        null,
      ],
      ["Rest", "rest", 5 * US, 0, 0, null, null, null, null, false, null, null, null],
    ],
  ),
  programs: table(
    ["program", "base_program", "kind", "base_ps_per_step", "run_ps_per_step", "delta_ps_per_step", "ops", "matched"],
    [["jit_f_again", "jit_f", "renamed", 350 * US, 440 * US, 90 * US, 3, 2]],
  ),
  ops: table(
    [
      ...["name", "base_name", "program", "category", "framework_op", "source", "kind"],
      ...["base_ps_per_step", "run_ps_per_step", "delta_ps_per_step", "base_runs", "run_runs", "module", "base_module"],
    ],
    [
      ...[["fusion.11", "fusion.1", "mul", "same", 200 * US, 320 * US, 120 * US, 1, 1, "jit_f_again(9)", "jit_f(7)"]],
      ...[["gone.3", "gone.3", null, "removed", 50 * US, 0, -50 * US, 1, 0, null, "jit_f(7)"]],
      ...[["fresh.13", null, null, "added", 0, 20 * US, 20 * US, 0, 1, "jit_f_again(9)", null]],
      ...[["a.1, a.2", "a.3", null, "split", 1, 1, 0, 1, 1, "jit_f_again(9)", "jit_f(7)"]],
      ...[["b.1, b.2", "b.5, b.6", null, "same", 1, 1, 0, 1, 1, "jit_f_again(9)", "jit_f(7)"]],
    ].map(([name = null, base = null, framework = null, ...more]) => [name, base, "jit_f", "loop fusion", framework, null, ...more]),
  ),
  memory: table(["program", "base_bytes", "run_bytes", "delta_bytes"], []),
  environment: table(["what", "base", "run", "same"], [["Devices", "1", "1", true]]),
  headline: "10.0% slower (900.0 to 990.0 us): fusion.11 (mul) takes 120.0 us more.",
  tone: "slower",
  floor_ps: 9 * US,
  groups: [
    {
      id: "device_compute",
      name: "Device compute",
      help: "The device computes.",
      parts: [
        { id: "compute", name: "Ops", help: "Ops." },
        { id: "data_movement", name: "Copies", help: "Copies." },
      ],
    },
    { id: "kernel_launch", name: "Kernel launch", help: "", parts: [{ id: "idle_launch", name: "Waits for launches", help: "Launches." }] },
    { id: "other", name: "All others", help: "Anything else.", parts: [{ id: "idle_other", name: "Unexplained", help: "Nothing tells." }] },
    { id: "between_steps", name: "Between steps", help: "To the next step.", parts: [] },
  ],
  notes: ["The number of hosts differs: 2 in the base, 1 here."],
  left_out: [],
};

/** A base without steps. */
export const UNKNOWN: ComparedRuns = {
  ...COMPARISON,
  length: { base: null, run: 990 * US, delta: null, low: null, high: null },
  parts: {},
  contributions: table(
    COMPARISON.contributions.columns.map(({ id }) => id),
    [],
  ),
  headline: "The base has no device with steps, so step times cannot be compared.",
  tone: "unknown",
  floor_ps: 0,
  base: { ...SIDE, steps: 0, recorded_steps: null },
};
