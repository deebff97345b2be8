import { expect, it } from "vitest";
import type { HloStats, OpNotes } from "../../base/documents";
import type { Cell } from "../../base/table/table_data";
import { tableOf } from "../../base/testing";
import { NOTES } from "../../page/testing";
import { chartOf, chartsOf, chooseOps, opsOf, replicaGroups, summaryOf, withBaseOps } from "./model";

const IDS = [
  "rank",
  "total_self_time_percent",
  "program_id",
  "category",
  "hlo_op_name",
  "hlo_op_expression",
  "tf_op_name",
  "total_self_time",
  "dma_stall_percent",
  "model_flop_rate",
  "bound_by",
  "hlo_rematerialization",
  "outside_compilation",
  "core_type",
  "source_info",
  "hbm_bw",
];

/** A document with these rows; the busy share is that of the self time, as the server gives it. */
function answer(rows: readonly (readonly Cell[])[], notes: Partial<OpNotes> = {}): HloStats {
  const column = (id: string): Cell[] => rows.map((row) => row[IDS.indexOf(id)] ?? null);
  const self = column("total_self_time").map(Number);
  const busy = self.reduce((a, b) => a + b, 0);
  const ops = tableOf({ ...Object.fromEntries(IDS.map((id) => [id, column(id)])), busy_share: self.map((time) => time / busy) });
  return { ops, notes: { ...NOTES, ...notes }, left_out: [] };
}

const OPS = opsOf(
  answer([
    [1, 48, "7", "loop fusion", "f.1", "%f.1 = f32[8] fusion()", "jit(f)/add:", 60, 0, 12, "HBM", "No", "No", "TensorCore", "a.py:3", 90],
    [
      2,
      24,
      "7",
      "all-reduce",
      "ar.1",
      "%ar.1 = f32[] all-reduce(), replica_groups={{0,1},{2,3}}, to_apply=%add",
      "",
      30,
      0.5,
      0,
      "Unknown",
      "Yes",
      "No",
      "TensorCore",
      "",
      112,
    ],
    [3, 8, "9", "copy", "c.1", "%c.1 = copy()", "", 10, 0, 5000, "HBM", "No", "No", "TensorCore", "", 109],
  ]),
);

it("filters by program, category, bottleneck and text", () => {
  const none = { program: "", category: "", core: "", bound: "", text: "" };
  const names = (more: object) => chooseOps(OPS, { ...none, ...more }).name;
  expect(names({ program: "9" })).toEqual(["c.1"]);
  expect(names({ category: "copy" })).toEqual(["c.1"]);
  expect(names({ bound: "HBM" })).toEqual(["f.1", "c.1"]);
  expect(names({ text: "REPLICA" })).toEqual(["ar.1"]);
  expect(names({ text: "/add" })).toEqual(["f.1"]);
  expect(chooseOps(OPS, none)).toBe(OPS);
});

it("offers the charts that have data", () => {
  expect(chartsOf(OPS)).toEqual(["category", "op", "source", "bound", "replica", "remat", "remat_category", "rate"]);
  expect(chartOf(OPS, "category")).toMatchObject({
    kind: "pie",
    unit: "us",
    slices: [
      { name: "loop fusion", value: 60 },
      { name: "all-reduce", value: 30 },
      { name: "copy", value: 10 },
    ],
  });
  expect(chartOf(OPS, "source")).toMatchObject({
    slices: [
      { name: "a.py:3", value: 60 },
      { name: "No source line", value: 40 },
    ],
  });
  expect(chartOf(OPS, "replica")).toMatchObject({ slices: [{ name: "all-reduce {{0,1},{2,3}}", value: 30 }] });
  expect(chartOf(OPS, "remat_category")).toMatchObject({ slices: [{ name: "all-reduce", value: 30 }] });
  expect(chartOf(OPS, "rate")).toMatchObject({ kind: "bars", values: [12], x: { labels: ["f.1"] } });
});

it("reads replica groups", () => {
  expect(["replica_groups={{0,1}}, x", "replica_groups={}, x", "replica_groups=[2,4]<=[8], x", "none"].map(replicaGroups)).toEqual([
    "{{0,1}}",
    "{}",
    "[2,4]<=[8]",
    null,
  ]);
});

it("summarises the op time", () => {
  const { headline, lines } = summaryOf(OPS);
  expect(headline).toBe("loop fusion takes 60.0% of the busy time");
  expect(lines).toEqual([
    "3 ops with 100 us of self time over 8 cores, 80.0% of the observed time. Longest: f.1 with 60.0% of the busy time at 12 GFLOP/s.",
    "Nearest limit of the ops, reached or not: HBM for 70.0% of the busy time.",
  ]);
});

it("keeps both shares and the base when filters apply", () => {
  const columns = (ops: typeof OPS) =>
    ["busy_share", "total_self_time_percent"].map((id) => ops.table.columns.find((one) => one.id === id)?.values);
  expect(columns(OPS)).toEqual([
    [0.6, 0.3, 0.1],
    [48, 24, 8],
  ]);
  const copies = chooseOps(OPS, { program: "9", category: "", core: "", bound: "", text: "" });
  expect(columns(copies)).toEqual([[0.1], [8]]);
  expect(summaryOf(copies)).toEqual({
    headline: "copy takes 10.0% of the busy time",
    lines: [
      "1 of 3 ops match: 10.0% of the busy time. Longest: c.1 with 10.0% of the busy time.",
      "Nearest limit of the ops, reached or not: HBM for 10.0% of the busy time.",
    ],
  });
});

it("marks rates that no device reaches, and leaves them out of the charts", () => {
  const doubts = (id: string) => OPS.table.columns.find((one) => one.id === id)?.doubts;
  expect(doubts("model_flop_rate")).toEqual([
    null,
    null,
    "More than the peak of the device (1 TFLOP/s). Work of this op is done outside its recorded time.",
  ]);
  // Clocks vary: up to a tenth above the peak is plausible.
  expect(doubts("hbm_bw")?.map((doubt) => doubt !== null)).toEqual([false, true, false]);
  expect(chartOf(OPS, "rate")).toMatchObject({ values: [12] });
});

it("shows ops of a base beside those that pass the filters, by name and origin whatever the number of the program", () => {
  const base = opsOf(
    answer([
      [1, 48, "3", "loop fusion", "f.8", "%f.8 = f32[8] fusion()", "jit(f)/add:", 50, 0, 12, "HBM", "No", "No", "TensorCore", "a.py:3", 90],
      [2, 24, "3", "all-reduce", "ar.1", "%ar.1 = f32[] all-reduce()", "", 35, 0.5, 0, "Unknown", "Yes", "No", "TensorCore", "", 112],
      [3, 8, "3", "loop fusion", "old.1", "%old.1 = fusion()", "", 7, 0, 0, "HBM", "No", "No", "TensorCore", "", 109],
    ]),
  );
  const none = { program: "", category: "", core: "", bound: "", text: "" };
  const shown = (choice: object): unknown[][] => {
    const table = withBaseOps(OPS, base, { ...none, ...choice }, null);
    const values = (id: string) => table.columns.find((column) => column.id === id)?.values ?? [];
    return values("hlo_op_name").map((op, i) => [
      op,
      ...["total_self_time", "base_total_self_time", "difference_total_self_time"].map((id) => values(id)[i]),
    ]);
  };
  expect(shown({})).toEqual([
    ["f.1", 60, 50, 10],
    ["ar.1", 30, 35, -5],
    ["c.1", 10, null, 10],
    ["old.1", null, 7, -7],
  ]);
  expect(shown({ category: "loop fusion" })).toEqual([
    ["f.1", 60, 50, 10],
    ["old.1", null, 7, -7],
  ]);
  expect(shown({ program: "7", text: "ar" })).toEqual([["ar.1", 30, 35, -5]]);
});
