// An answer about two devices and two steps, for tests.
const LABELS = {
  compute: { name: "Ops", help: "Ops." },
  exposed_communication: { name: "Exposed collectives", help: "Collectives." },
  idle_host: { name: "Waits for host code", help: "Host." },
};
const GROUPS = [
  { id: "device_compute", name: "Device compute", help: "", parts: ["compute"] },
  { id: "collectives", name: "Collective communication", help: "", parts: ["exposed_communication"] },
  { id: "host_compute", name: "Host compute", help: "", parts: ["idle_host"] },
  { id: "between_steps", name: "Between steps", help: "", parts: [] },
];
const average = (device: string, ...times: (number | null)[]) =>
  ["compute", "exposed_communication", "idle_host", "between_steps"].map((id, i) => ({
    c: [{ v: device }, { v: id }, { v: times[i] ?? null }],
  }));
export const averages = (...rows: ReturnType<typeof average>[]) => ({
  cols: [
    { id: "device", label: "", type: "string" },
    { id: "category", label: "", type: "string" },
    { id: "time_ps", label: "", type: "number" },
  ],
  rows: rows.flat(),
});
const DECOMPOSITION = {
  base: "time from step to step",
  base_ps: 200,
  step_ps: 150,
  source: "device",
  groups: GROUPS,
  labels: LABELS,
  average_ps: { compute: 97.5, exposed_communication: 17.5, idle_host: 35, between_steps: 50 },
  steps: {
    name: ["train 0", "train 1"],
    number: [0, 1],
    duration_ps: [100, 200],
    parts_ps: { compute: [70, 125] },
    devices: [2, 2],
    slowest: [0, 0],
    begin_ps: [1000, 2000],
    end_ps: [1100, 2200],
  },
  devices: [
    { name: "TPU 0", host: "h", kind: "tpu", steps: 2 },
    { name: "TPU 1", host: "h", kind: "tpu", steps: 2 },
  ],
};
/** The same with other steps. */
export const decomposed = (patch: Record<string, unknown>) => ({ ...DECOMPOSITION, ...patch });
export { average };

export const ANSWER = {
  steps: [
    { number: 0, name: "train 0", begin_ps: 1000, duration_ps: [100, 100] },
    { number: 1, name: "train 1", begin_ps: 2000, duration_ps: [200, 200], device_begin_ps: [2000, 2000] },
  ],
  devices: [
    { name: "TPU 0", host: "h", kind: "tpu" },
    { name: "TPU 1", host: "h", kind: "tpu" },
  ],
  categories: ["compute", "exposed_communication", "idle_host"],
  time_ps: [
    [
      [60, 0, 40],
      [80, 20, 0],
    ],
    [
      [100, 0, 100],
      [150, 50, 0],
    ],
  ],
  average: averages(average("TPU 0", 80, 0, 70, 50), average("TPU 1", 115, 35, 0, 50)),
  decomposition: DECOMPOSITION,
  takes_part: [
    [true, true],
    [true, true],
  ],
  between: {
    duration_ps: [50, 50],
    time_ps: [
      [0, 0, 50],
      [0, 0, 50],
    ],
  },
  causes: [{ name: "$train.py:9 load_batch", inner: "$random.py:3 shuffle", host: "h", time_ps: 35, percent: 23.3 }],
  labels: LABELS,
  steps_from: "device",
  largest: { category: "idle_host", percent: 23.3 },
  notes: ["A note."],
};

export const NOTHING = {
  ...ANSWER,
  average: averages(),
  takes_part: [],
  decomposition: decomposed({
    base: "step",
    base_ps: 0,
    step_ps: 0,
    average_ps: {},
    steps: { name: [], number: [], duration_ps: [], parts_ps: {}, devices: [], slowest: [], begin_ps: [], end_ps: [] },
    devices: [],
  }),
  steps: [],
  devices: [],
  time_ps: [],
  between: { duration_ps: [], time_ps: [] },
  causes: [],
  steps_from: null,
  largest: null,
  notes: [],
};
