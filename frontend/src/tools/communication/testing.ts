// An answer about two collectives, for tests.
type Value = string | number | null;

function table(columns: Record<string, Value[]>): unknown {
  const ids = Object.keys(columns);
  const rows = (columns[ids[0] ?? ""] ?? []).map((_, row) => ({ c: ids.map((id) => ({ v: columns[id]?.[row] ?? null })) }));
  return {
    cols: ids.map((id) => ({
      id,
      label: id,
      type: typeof columns[id]?.find((value) => value !== null) === "number" ? "number" : "string",
    })),
    rows,
  };
}

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

export function answer(change: Record<string, unknown> = {}, ops: Record<string, Value[]> = OPS): unknown {
  return {
    ops: table(ops),
    steps: [
      { number: 0, name: "train 0", begin_ps: 0, communication_ps: 500, exposed_ps: 300, hidden_percent: 40 },
      { number: 1, name: "train 1", begin_ps: 900, communication_ps: 0, exposed_ps: 0, hidden_percent: null },
    ],
    ranks: table({ device: ["GPU 0", "GPU 1"], work_ps: [10, 20] }),
    stragglers: [],
    late_hosts: [],
    clocks: table({ clock: [], reference: [] }),
    early_ends: 0,
    launches: table({ device: [] }),
    notes: [],
    ...change,
  };
}

export const NOTHING = answer(
  { ranks: table({ device: [] }), steps: [] },
  { op: [], total_ps: [], exposed_ps: [], own_exposed_ps: [], wait_ps: [], host: [], begin_ps: [], end_ps: [] },
);
