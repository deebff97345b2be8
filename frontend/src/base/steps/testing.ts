// For tests: the decomposition of two steps of 10 ms on two devices, with 10 ms between them.
import type { BudgetCategory, BudgetPart, Decomposition, StepReading, XprofReading } from "../documents";

const MS = 1e9;

const part = (id: string, name: string, help: string, parts: readonly BudgetPart[] = []): BudgetCategory => ({ id, name, help, parts });

export const GROUPS: readonly BudgetCategory[] = [
  part("device_compute", "Device compute", "The device runs ops.", [
    part("compute", "Ops", "Ops."),
    part("data_movement", "Data movement", "Copies in one memory."),
  ]),
  part("host_compute", "Host compute", "Code of the host.", [part("idle_host", "Waits for host code", "Code.")]),
  part("input", "Input", "Waits for input.", [part("idle_input", "Waits for input", "Input.")]),
  part("other", "All others", "The rest.", [part("exposed_copy", "Host copies", "Copies."), part("idle_other", "Unexplained", "Unknown.")]),
  part("between_steps", "Between steps", "Until the next step."),
];

export const decomposed = (patch: Partial<Decomposition> = {}): Decomposition => ({
  base: "time from step to step",
  base_ps: 20 * MS,
  step_ps: 10 * MS,
  source: "device",
  left_out: 0,
  groups: GROUPS,
  average_ps: { compute: 1.5 * MS, data_movement: 0.5 * MS, idle_input: 7 * MS, idle_other: MS, between_steps: 10 * MS },
  steps: {
    name: ["train 1", "train 2"],
    number: [1, 2],
    duration_ps: [8 * MS, 12 * MS],
    parts_ps: { compute: [MS, 2 * MS], data_movement: [0, MS], idle_input: [6 * MS, 8 * MS], idle_other: [MS, MS] },
    devices: [1, 1],
    slowest: [0, 0],
    begin_ps: [100 * MS, 300 * MS],
    end_ps: [108 * MS, 312 * MS],
  },
  devices: [
    { name: "GPU 0", host: "h", kind: "gpu", steps: 2 },
    { name: "GPU 1", host: "h", kind: "gpu", steps: 0 },
  ],
  ...patch,
});

/** A run without steps and devices. */
export const NOTHING = decomposed({
  base: "step",
  base_ps: 0,
  step_ps: 0,
  source: "",
  average_ps: {},
  steps: { name: [], number: [], duration_ps: [], parts_ps: {}, devices: [], slowest: [], begin_ps: [], end_ps: [] },
  devices: [],
});

/** The steps that the overview and the input pipeline page receive. */
export const readingOf = (patch: Partial<StepReading> = {}): StepReading => ({
  decomposition: decomposed(),
  input: { bottleneck: "host", level: "HIGHLY", percent: 35 },
  hosts: { step_ms: { h: 10 }, slowest_in: { h: 2 }, median_ms: 10, over_others: {}, stragglers: [] },
  recording: null,
  notes: [],
  ...patch,
});
export const noReading = (patch: Partial<StepReading> = {}): StepReading =>
  readingOf({
    decomposition: NOTHING,
    input: { bottleneck: "unknown", level: "", percent: 0 },
    hosts: { step_ms: {}, slowest_in: {}, median_ms: 0, over_others: {}, stragglers: [] },
    ...patch,
  });

const xprofPart = (id: string, name: string): BudgetCategory => part(id, name, `${name}.`, [part(id, name, `${name}.`)]);

/** Two steps of 10 ms in XProf's reading. */
export const XPROF_STEPS: StepReading = noReading({
  decomposition: {
    ...NOTHING,
    base_ps: 10 * MS,
    step_ps: 10 * MS,
    source: "host",
    groups: [xprofPart("device_compute", "Device compute"), xprofPart("input", "Input"), xprofPart("other", "All others")],
    average_ps: { device_compute: 3 * MS, input: 6 * MS, other: MS },
    steps: {
      ...NOTHING.steps,
      name: ["train 1", "train 2"],
      number: [0, 1],
      duration_ps: [10 * MS, 10 * MS],
      parts_ps: { device_compute: [2 * MS, 4 * MS], input: [7 * MS, 5 * MS], other: [MS, MS] },
    },
  },
  input: { bottleneck: "host", level: "HIGHLY", percent: 60 },
});
export const xprofReading = (patch: Partial<XprofReading> = {}): XprofReading => ({
  step_time_ms: { average: 10, deviation: 0, minimum: 10, maximum: 10, count: 2 },
  statements: ["HIGHLY input-bound"],
  tips: [],
  figures: [],
  waiting: null,
  ...patch,
});
