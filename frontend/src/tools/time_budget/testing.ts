// A document about two devices and two steps, for tests.
import type { BudgetPart, Decomposition, TimeBudget } from "../../base/documents";
import { tableOf } from "../../base/testing";

const CATEGORIES = ["compute", "exposed_communication", "idle_host"];
const group = (id: string, name: string, parts: readonly BudgetPart[]) => ({ id, name, help: "", parts });
const GROUPS = [
  group("device_compute", "Device compute", [{ id: "compute", name: "Ops", help: "Ops." }]),
  group("collectives", "Collective communication", [{ id: "exposed_communication", name: "Exposed collectives", help: "Collectives." }]),
  group("host_compute", "Host compute", [{ id: "idle_host", name: "Waits for host code", help: "Host." }]),
  group("between_steps", "Between steps", []),
];
/** The average steps of devices, by category and between steps. */
export function averages(of: Readonly<Record<string, readonly (number | null)[]>>) {
  const rows = Object.entries(of).flatMap(([device, times]) =>
    [...CATEGORIES, "between_steps"].map((id, i) => [device, id, times[i] ?? null] as const),
  );
  return tableOf({ device: rows.map(([name]) => name), category: rows.map(([, id]) => id), time_ps: rows.map(([, , ps]) => ps) });
}
/** The decomposition of the average step, with changes. */
export const decomposed = (patch: Partial<Decomposition>): Decomposition => ({
  base: "time from step to step",
  base_ps: 200,
  step_ps: 150,
  source: "device",
  left_out: 0,
  groups: GROUPS,
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
  ...patch,
});

export const ANSWER: TimeBudget = {
  steps: {
    number: [0, 1],
    name: ["train 0", "train 1"],
    begin_ps: [
      [1000, 1000],
      [2000, 2000],
    ],
    duration_ps: [
      [100, 100],
      [200, 200],
    ],
  },
  devices: [
    { label: "TPU 0", name: "TPU 0", host: "h", kind: "tpu" },
    { label: "TPU 1", name: "TPU 1", host: "h", kind: "tpu" },
  ],
  categories: CATEGORIES,
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
  average: averages({ "TPU 0": [80, 0, 70, 50], "TPU 1": [115, 35, 0, 50] }),
  decomposition: decomposed({}),
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
  largest: { category: "idle_host", percent: 23.3 },
  notes: ["A note."],
  left_out: [],
};

/** The steps of a run without any. */
export const NO_STEPS: TimeBudget["steps"] = { number: [], name: [], begin_ps: [], duration_ps: [] };

export const NOTHING: TimeBudget = {
  ...ANSWER,
  average: averages({}),
  takes_part: [],
  decomposition: decomposed({
    base: "step",
    base_ps: 0,
    step_ps: 0,
    average_ps: {},
    steps: { name: [], number: [], duration_ps: [], parts_ps: {}, devices: [], slowest: [], begin_ps: [], end_ps: [] },
    devices: [],
  }),
  steps: NO_STEPS,
  devices: [],
  time_ps: [],
  between: { duration_ps: [], time_ps: [] },
  causes: [],
  largest: null,
  notes: [],
};
