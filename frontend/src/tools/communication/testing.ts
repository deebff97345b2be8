// A document about two collectives, for tests.
import type { Communication } from "../../base/documents";
import { tableOf } from "../../base/testing";

type Value = string | number | null;

export const OPS = {
  op: ["all-reduce.1", "all-gather.2"],
  kind: ["all-reduce", "all-gather"],
  total_ps: [800, 200],
  exposed_ps: [600, 0],
  own_exposed_ps: [600, 0],
  wait_ps: [100, 0],
  stall_ps: [null, null],
  host: ["h", "h"],
  begin_ps: [5000, 9000],
  end_ps: [7000, 9100],
};

export function answer(change: Partial<Communication> = {}, ops: Record<string, Value[]> = OPS): Communication {
  return {
    ops: tableOf(ops),
    steps: [
      { number: 0, name: "train 0", begin_ps: 0, communication_ps: 500, exposed_ps: 300, hidden_percent: 40 },
      { number: 1, name: "train 1", begin_ps: 900, communication_ps: 0, exposed_ps: 0, hidden_percent: null },
    ],
    ranks: tableOf({ device: ["GPU 0", "GPU 1"], work_ps: [10, 20] }),
    stragglers: [],
    late_hosts: [],
    clocks: tableOf({ clock: [], reference: [] }),
    early_ends: 0,
    cost: null,
    first_waits: [],
    host_offsets_ps: {},
    left_out: [],
    launches: tableOf({ device: [] }),
    notes: [],
    ...change,
  };
}

export const NOTHING = answer(
  { ranks: tableOf({ device: [] }), steps: [] },
  { op: [], total_ps: [], exposed_ps: [], own_exposed_ps: [], wait_ps: [], host: [], begin_ps: [], end_ps: [] },
);
