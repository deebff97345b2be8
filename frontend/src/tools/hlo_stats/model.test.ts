import { expect, it } from "vitest";
import { chartOf, chartsOf, chooseOps, readOps, replicaGroups, summaryOf, withBaseOps } from "./model";

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
const NUMBERS = ["rank", "total_self_time_percent", "hbm_bw", "total_self_time", "dma_stall_percent", "model_flop_rate"];
const SOURCE = "<div class='source-info-cell' title='a.py:3\nb &lt;x&gt;:4'>a.py:3</div>";

function payload(rows: unknown[][], p = {}): unknown {
  return {
    cols: IDS.map((id) => ({ id, label: id, type: NUMBERS.includes(id) ? "number" : "string" })),
    rows: rows.map((row) => ({ c: row.map((v) => ({ v })) })),
    p,
  };
}

const OPS = readOps(
  payload(
    [
      [1, 48, "7", "loop fusion", "f.1", "%f.1 = f32[8] fusion()", "jit(f)/add:", 60, 0, 12, "HBM", "No", "No", "TensorCore", SOURCE, 90],
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
    ],
    { cores: "8", compute_peak: "1000", hbm_peak: "100", memory_peak: "100" },
  ),
);

it("separates sources from their stacks; unmeasured values are null", () => {
  const column = (id: string) => OPS.table.columns.find((one) => one.id === id)?.values;
  expect(column("source_info")).toEqual(["a.py:3", null, null]);
  expect(column("source_stack")?.[0]).toBe("a.py:3\nb <x>:4");
  expect(column("dma_stall_percent")).toEqual([null, 0.5, null]);
});

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
    "3 ops with 100 us of self time over 8 cores, 80.0% of the recorded time. Longest: f.1 with 60.0% of the busy time at 12 GFLOP/s.",
    "Nearest limit of the ops, reached or not: HBM for 70.0% of the busy time.",
  ]);
});

it("shows both shares, each with its base, and keeps the base when filters apply", () => {
  const columns = (ops: typeof OPS) =>
    ops.table.columns
      .filter(({ id }) => id === "busy_share" || id === "total_self_time_percent")
      .map(({ label, values }) => [label, ...values]);
  expect(columns(OPS)).toEqual([
    ["Busy share", 0.6, 0.3, 0.1],
    ["Share of all time", 48, 24, 8],
  ]);
  const copies = chooseOps(OPS, { program: "9", category: "", core: "", bound: "", text: "" });
  expect(columns(copies)).toEqual([
    ["Busy share", 0.1],
    ["Share of all time", 8],
  ]);
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

it("rejects other tables", () => {
  expect(() => readOps({})).toThrow(/not a table/);
});

it("shows ops of a base beside those that pass the filters, by name and origin whatever the number of the program", () => {
  const base = readOps(
    payload([
      [1, 48, "3", "loop fusion", "f.8", "%f.8 = f32[8] fusion()", "jit(f)/add:", 50, 0, 12, "HBM", "No", "No", "TensorCore", SOURCE, 90],
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
