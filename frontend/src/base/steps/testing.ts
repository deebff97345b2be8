// For tests: an answer with the decomposition of two steps of 10 ms on two devices, with 10 ms between them.
const MS = 1e9;

export const GROUPS = [
  { id: "device_compute", name: "Device compute", help: "The device runs ops.", parts: ["compute", "data_movement"] },
  { id: "host_compute", name: "Host compute", help: "Code of the host.", parts: ["idle_host"] },
  { id: "input", name: "Input", help: "Waits for input.", parts: ["idle_input"] },
  { id: "other", name: "All others", help: "The rest.", parts: ["exposed_copy", "idle_other"] },
  { id: "between_steps", name: "Between steps", help: "Until the next step.", parts: [] },
];
export const LABELS = {
  compute: { name: "Ops", help: "Ops." },
  data_movement: { name: "Data movement", help: "Copies in one memory." },
  idle_host: { name: "Waits for host code", help: "Code." },
  idle_input: { name: "Waits for input", help: "Input." },
  exposed_copy: { name: "Host copies", help: "Copies." },
  idle_other: { name: "Unexplained", help: "Unknown." },
};

export const decompositionAnswer = (patch: Record<string, unknown> = {}) => ({
  base: "time from step to step",
  base_ps: 20 * MS,
  step_ps: 10 * MS,
  source: "device",
  groups: GROUPS,
  labels: LABELS,
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
export const NOTHING = decompositionAnswer({
  base: "step",
  base_ps: 0,
  step_ps: 0,
  source: "",
  average_ps: {},
  steps: { name: [], number: [], duration_ps: [], parts_ps: {}, devices: [], slowest: [], begin_ps: [], end_ps: [] },
  devices: [],
});

/** The object that the overview and the input pipeline page receive. */
export const readingAnswer = (patch: Record<string, unknown> = {}) => ({
  decomposition: decompositionAnswer(),
  input: { bottleneck: "host", level: "HIGHLY", percent: 35 },
  hosts: { step_ms: { h: 10 }, slowest_in: { h: 2 }, over_others: {}, stragglers: [] },
  recording: null,
  notes: [],
  ...patch,
});
export const noReading = (patch: Record<string, unknown> = {}) =>
  readingAnswer({
    decomposition: NOTHING,
    input: { bottleneck: "unknown", level: "", percent: 0 },
    hosts: { step_ms: {}, slowest_in: {}, over_others: {}, stragglers: [] },
    ...patch,
  });
