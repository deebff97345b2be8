// For tests: the answer of the tool `compare` about two runs of one program whose ops were numbered anew.
const column = (id: string, type = "string", unit = "") => ({ id, label: id, type, ...(unit ? { unit } : {}) });
const cells = (rows: readonly (readonly unknown[])[]) => rows.map((row) => ({ c: row.map((v) => ({ v })) }));
const time = (id: string) => column(id, "number", "ps");
const US = 1e6;

export const COMPARISON = {
  summary: {
    compared_ps: { base: 900 * US, run: 990 * US, delta: 90 * US, low: 80 * US, high: 100 * US },
    step_time_ps: { base: 900 * US, run: 990 * US, delta: 90 * US, low: 80 * US, high: 100 * US },
    compute_ps: { base: 350 * US, run: 440 * US, delta: 90 * US, low: 89 * US, high: 91 * US },
    idle_other_ps: { base: 550 * US, run: 550 * US, delta: 0, low: 0, high: 0 },
  },
  compared: "step",
  matched: { base: 0.9, run: 0.95 },
  caution: null,
  contributions: {
    cols: [
      column("what"),
      column("kind"),
      time("delta_ps_per_step"),
      time("base_ps_per_step"),
      time("run_ps_per_step"),
      column("where"),
      column("part"),
      time("low_ps"),
      time("high_ps"),
      column("certain", "boolean"),
      column("ops"),
    ],
    rows: cells([
      ["jit_f: fusion.11 (mul)", "slower", 120 * US, 200 * US, 320 * US, "device_compute", "", 119 * US, 121 * US, true, "fusion.11"],
      ["jit_f: gone.3", "removed", -50 * US, 50 * US, 0, "device_compute", "", null, null, true, "gone.3"],
      ["Waits for launches (Kernel launch)", "slower", 15 * US, 0, 15 * US, "kernel_launch", "idle_launch", 1 * US, 29 * US, false, ""],
      ["Rest", "rest", 5 * US, 0, 0, "", "", null, null, false, ""],
    ]),
  },
  programs: {
    cols: [
      column("program"),
      column("base_program"),
      column("kind"),
      time("base_ps_per_step"),
      time("run_ps_per_step"),
      time("delta_ps_per_step"),
      column("ops", "number"),
      column("matched", "number"),
    ],
    rows: cells([["jit_f_again", "jit_f", "renamed", 350 * US, 440 * US, 90 * US, 3, 2]]),
  },
  ops: {
    cols: [
      column("name"),
      column("base_name"),
      column("program"),
      column("category"),
      column("framework_op"),
      column("source"),
      column("kind"),
      time("base_ps_per_step"),
      time("run_ps_per_step"),
      time("delta_ps_per_step"),
      column("base_runs", "number"),
      column("run_runs", "number"),
      column("module"),
      column("base_module"),
    ],
    rows: cells([
      [
        "fusion.11",
        "fusion.1",
        "jit_f",
        "loop fusion",
        "mul",
        "",
        "same",
        200 * US,
        320 * US,
        120 * US,
        1,
        1,
        "jit_f_again(9)",
        "jit_f(7)",
      ],
      ["gone.3", "gone.3", "jit_f", "loop fusion", "", "", "removed", 50 * US, 0, -50 * US, 1, 0, "", "jit_f(7)"],
      ["fresh.13", "", "jit_f", "loop fusion", "", "", "added", 0, 20 * US, 20 * US, 0, 1, "jit_f_again(9)", ""],
      ["a.1, a.2", "a.3", "jit_f", "loop fusion", "", "", "split", 1, 1, 0, 1, 1, "jit_f_again(9)", "jit_f(7)"],
      ["b.1, b.2", "b.5, b.6", "jit_f", "loop fusion", "", "", "same", 1, 1, 0, 1, 1, "jit_f_again(9)", "jit_f(7)"],
    ]),
  },
  memory: {
    cols: [
      column("program"),
      column("base_bytes", "number", "bytes"),
      column("run_bytes", "number", "bytes"),
      column("delta_bytes", "number", "bytes"),
    ],
    rows: [],
  },
  environment: {
    cols: [column("what"), column("base"), column("run"), column("same", "boolean")],
    rows: cells([["Devices", "1", "1", true]]),
  },
  headline: { text: "10.0% slower (900.0 to 990.0 us): fusion.11 (mul) takes 120.0 us more.", tone: "slower" },
  noise: { floor_ps: 9 * US, steps: { base: 6, run: 4 } },
  recorded_steps: { base: 6, run: 4 },
  labels: {
    device_compute: { name: "Device compute", help: "The device computes." },
    kernel_launch: { name: "Kernel launch", help: "Launches." },
    other: { name: "All others", help: "Anything else." },
    between_steps: { name: "Between steps", help: "To the next step." },
    compute: { name: "Ops", help: "Ops." },
    idle_other: { name: "Unexplained", help: "Nothing tells." },
    idle_launch: { name: "Waits for launches", help: "Launches." },
  },
  groups: [
    { id: "device_compute", name: "Device compute", help: "", parts: [{ id: "compute" }, { id: "data_movement" }] },
    { id: "kernel_launch", name: "Kernel launch", help: "", parts: [{ id: "idle_launch" }] },
    { id: "other", name: "All others", help: "", parts: [{ id: "idle_other" }] },
    { id: "between_steps", name: "Between steps", help: "", parts: [] },
  ],
  notes: ["The number of hosts differs: 2 in the base, 1 here."],
};

/** A run without steps. */
export const UNKNOWN = {
  ...COMPARISON,
  summary: { compared_ps: { base: null, run: 990 * US, delta: null, low: null, high: null } },
  contributions: { ...COMPARISON.contributions, rows: [] },
  headline: { text: "The base has no device with steps, so step times cannot be compared.", tone: "unknown" },
  noise: { floor_ps: 0, steps: { base: 0, run: 4 } },
  recorded_steps: { base: null, run: 4 },
};
