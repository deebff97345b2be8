// An answer about two devices and two steps, for tests.
const LABELS = {
  compute: { name: "Compute", help: "Ops." },
  exposed_communication: { name: "Exposed communication", help: "Collectives." },
  idle_host: { name: "Idle: host code", help: "Host." },
};

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
  average: { cols: [], rows: [] },
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
  steps: [],
  devices: [],
  time_ps: [],
  between: { duration_ps: [], time_ps: [] },
  causes: [],
  steps_from: null,
  largest: null,
  notes: [],
};
