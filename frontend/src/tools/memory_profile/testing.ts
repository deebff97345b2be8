// For tests: a document about two allocators.
import type { AllocatorMemory, MemoryProfile } from "../../base/documents";
import type { Cell } from "../../base/table/table_data";
import { tableOf } from "../../base/testing";

const LABELS: Readonly<Record<string, string>> = { event: "Event", allocation: "Allocation size", op: "Op", used: "Memory in use" };

function labelled(values: Record<string, Cell[]>) {
  const table = tableOf(values);
  return { ...table, columns: table.columns.map((column) => ({ ...column, label: LABELS[column.id] ?? column.id })) };
}

const TIMELINE = {
  time: [1e9, 2e9, 5e9],
  event: ["allocation", "allocation", "deallocation"],
  requested: [199, 299, -299],
  allocation: [200, 300, -300],
  op: ["model/conv/Conv2D", null, null],
  step: ["7", "0", "0"],
  region: ["output", null, null],
  dtype: ["float", null, null],
  shape: ["[2,3]", null, null],
  used: [300, 600, 300],
  stack: [100, 100, 100],
  heap: [200, 500, 200],
  free: [700, 400, 700],
  fragmentation: [0.25, 0.5, 0.25],
};
const first = (values: Record<string, Cell[]>, count: number) =>
  labelled(Object.fromEntries(Object.entries(values).map(([id, cells]) => [id, cells.slice(0, count)])));

export const MEMORY: AllocatorMemory = {
  id: "0",
  device: "TPU 0",
  peak: {
    time_ps: 2e9,
    stack: 100,
    heap: 500,
    used: 600,
    free: 400,
    capacity: 1000,
    lifetime: 900,
    fragmentation: 0.5,
    segments: null,
    largest_free: null,
  },
  timeline: labelled(TIMELINE),
  live: labelled({
    op: [null, "model/conv/Conv2D", "stack"],
    allocation: [300, 200, 100],
    requested: [299, 199, 100],
    occurrences: [1, 2, 1],
    region: [null, "output", "stack"],
    source: [null, null, null],
  }),
};

export const PROFILE: MemoryProfile = {
  memories: [
    MEMORY,
    {
      id: "1",
      device: "",
      peak: {
        time_ps: 1e9,
        stack: 0,
        heap: 10,
        used: 10,
        free: 990,
        capacity: 1000,
        lifetime: 0,
        fragmentation: 0,
        segments: null,
        largest_free: null,
      },
      timeline: first(TIMELINE, 1),
      live: tableOf({ op: [], allocation: [], occurrences: [], source: [] }),
    },
  ],
  has_modules: true,
  modules: tableOf({ device: [] }),
  left_out: [],
};

/** The answer when the runs of programs are asked for: one of each device. */
export const MODULES: MemoryProfile = {
  memories: [],
  has_modules: true,
  modules: tableOf({
    module: ["jit_f(12)", "jit_g(13)"],
    device: ["TPU 0", "TPU 1"],
    start: [1.5e9, 1.5e9],
    end: [1.7e9, 1.7e9],
    duration: [2e8, 2e8],
    id: ["3", "4"],
  }),
  left_out: [],
};

export const NOTHING: MemoryProfile = { memories: [], has_modules: false, modules: tableOf({ device: [] }), left_out: [] };
