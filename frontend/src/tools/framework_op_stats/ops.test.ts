import { describe, expect, it } from "vitest";
import { readFrameworkOps } from "./decode";
import {
  GROUPS,
  OTHER,
  columnsOf,
  groupOf,
  hasShapes,
  piesOf,
  ratesOf,
  slicesOf,
  summary,
  sumsBy,
  typeTable,
  withBaseOps,
  withBaseTypes,
} from "./model";

const COLS = [
  ["rank", "number"],
  ["host_or_device", "string"],
  ["type", "string"],
  ["operation", "string"],
  ["occurrences", "number"],
  ["total_time", "number"],
  ["total_self_time", "number"],
  ["device_total_self_time_percent", "number"],
  ["host_total_self_time_percent", "number"],
  ["measured_flop_rate", "number"],
] as const;
type Row = [number, string, string, string, number, number, number, number, number, number];
const table = (rows: Row[]) => ({
  cols: COLS.map(([id, type]) => ({ id, type, label: id === "total_time" ? "Total time (us)" : id })),
  rows: rows.map((row) => ({ c: row.map((v) => ({ v })) })),
  p: { task_type: "Training", architecture_type: "Unknown", cores: "4", compute_peak: "1000" },
});
const DOT: Row = [1, "Device", "MatMul", "dot", 4, 600, 600, 0.6, 0, 50];
const ADD: Row = [2, "Device", "Add", "add", 4, 395, 395, 0.395, 0, 0];
const TINY: Row = [3, "Device", "Copy", "copy", 1, 0.5, 0.5, 0.005, 0, 1e3];
const HOST: Row = [4, "Host", "Mul", "mul", 12, 10, 10, 0, 1, 0];
const IDLE: Row = [1, "Device", "IDLE", "IDLE", 0, 1000, 1000, 0.5, 0, 0];
const data = readFrameworkOps([table([IDLE, DOT, ADD, TINY, HOST]), table([DOT, ADD, TINY, HOST])]);

describe("framework op stats", () => {
  it("sets meaningless numbers to null: shares of the other side, unknown costs", () => {
    const { columns } = data.withoutIdle.table;
    expect(columns.find(({ id }) => id === "device_total_self_time_percent")).toMatchObject({
      unit: "fraction",
      values: [0.6, 0.395, 0.005, null],
    });
    expect(columns.find(({ id }) => id === "host_total_self_time_percent")?.values).toEqual([null, null, null, 1]);
    expect(columns.find(({ id }) => id === "measured_flop_rate")?.values).toEqual([50, null, 1e3, null]);
    expect(columns.find(({ id }) => id === "total_time")?.label).toBe("Total time");
  });

  it("merges slices under one percent", () => {
    expect(
      slicesOf(
        data.withoutIdle.ops.filter(({ place }) => place === "Device"),
        "name",
      ).map(({ name, value }) => [name, value]),
    ).toEqual([
      ["dot", 600],
      ["add", 395],
      [OTHER, 0.5],
    ]);
    const many = Array.from({ length: 30 }, (_, i) => ({
      place: "Host" as const,
      type: "t",
      name: `op${i}`,
      occurrences: 1,
      selfUs: 10,
      flopRate: 0,
    }));
    expect(slicesOf(many, "name")).toHaveLength(11);
  });

  it("has up to four pies, those of the device only with device rows", () => {
    expect(piesOf(data.withIdle.ops).map(({ title }) => title)).toEqual([
      "Busy device time, by op type",
      "Busy device time, by op",
      "Busy host time, by op type",
      "Busy host time, by op",
    ]);
    expect(piesOf(data.withIdle.ops.filter(({ place }) => place === "Host"))).toHaveLength(2);
  });

  it("ranks FLOP rates, without ops of negligible time", () => {
    expect(ratesOf(data.withoutIdle.ops)?.x.labels).toEqual(["dot"]);
    expect(ratesOf([])).toBeNull();
  });

  it("sums by type", () => {
    expect(sumsBy([...data.withoutIdle.ops, ...data.withoutIdle.ops], "type")[0]).toEqual({ name: "MatMul", occurrences: 8, selfUs: 1200 });
    expect(typeTable(data.withoutIdle.ops, "Host").columns.map(({ values }) => values)).toEqual([["Mul"], [12], [10], [1]]);
  });

  it("summarises the op with the most self time and the idle time", () => {
    const { title, sentences } = summary(data);
    expect(title).toBe("On the device, dot has the most self time: 60.3% of the busy time (600 us over 4 cores)");
    expect(sentences).toEqual([
      "On the host, mul has the most self time: 100.0% of the busy time (10 us).",
      "The devices are idle for 50.1% of the recorded time.",
    ]);
    expect(summary(data, true).title).toBe("On the device, dot has the most self time: 30.1% of all time (600 us over 4 cores)");
    // The bar of the summary has the base of its headline.
    for (const idle of [false, true]) {
      const { parts, title: line } = summary(data, idle);
      expect(parts.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1);
      expect(line).toContain(`${((parts.find(({ name }) => name === "dot")?.share ?? 0) * 100).toFixed(1)}% of`);
    }
  });

  it("name the base of every share", () => {
    const labels = (stats: typeof data.withIdle) =>
      stats.table.columns.filter(({ id }) => id.endsWith("percent")).map(({ label }) => label);
    expect(labels(data.withoutIdle)).toEqual(["Busy device share", "Busy host share"]);
    expect(labels(data.withIdle)).toEqual(["All device share", "All host share"]);
    expect(data.withIdle.table.columns.find(({ id }) => id === "device_total_self_time_percent")?.help).toBe(
      "Total self time divided by all recorded time of the device over 4 cores, idle time included.",
    );
  });

  it("mark rates that no device reaches, and leave them out of the chart", () => {
    const wild: Row = [1, "Device", "copy-start", "wild", 1, 600, 600, 0.6, 0, 5e6];
    const host: Row = [2, "Host", "Mul", "mul", 12, 10, 10, 0, 1, 5e6];
    const { withoutIdle } = readFrameworkOps([table([wild, DOT, host]), table([wild, DOT, host])]);
    expect(withoutIdle.table.columns.find(({ id }) => id === "measured_flop_rate")?.doubts?.map((doubt) => doubt !== null)).toEqual([
      true,
      false,
      false,
    ]);
    expect(ratesOf(withoutIdle.ops)?.x.labels).toEqual(["dot"]);
  });

  it("reports malformed responses", () => {
    expect(() => readFrameworkOps([{}])).toThrow("no table without idle time");
    expect(() => readFrameworkOps([{ cols: [{ id: "x", type: "string" }], rows: [] }, {}])).toThrow("no column host_or_device");
  });
});

describe("framework ops of a base", () => {
  const row = (name: string, self: number, place = "Device"): Row => [1, place, "Add", name, 1, self, self, 0, 0, 0];
  const read = (rows: Row[]) => readFrameworkOps([table(rows), table(rows)]).withoutIdle;
  const [run, base] = [
    read([row("jit(step)/add", 5), row("x", 3), row("x", 2, "Host")]),
    read([row("jit(train)/add", 4), row("x", 1, "Host"), row("gone", 9)]),
  ];

  it("are those of the same place and name, also within another compiled function", () => {
    const joined = withBaseOps(run.table, base.table);
    const values = (id: string) => joined.columns.find((column) => column.id === id)?.values;
    expect([values("operation"), values("difference_total_self_time")]).toEqual([
      ["jit(step)/add", "x", "x", "gone"],
      [1, 3, 1, -9],
    ]);
  });

  it("are summed by type", () => {
    const joined = withBaseTypes(typeTable(run.ops, "Device"), typeTable(base.ops, "Device"));
    expect(joined.columns.find(({ id }) => id === "difference_self")?.values).toEqual([-5]);
  });

  describe("rows of PyTorch by op and shapes", () => {
    const columns = [...COLS.map(([id, type]) => ({ id, type, label: id })), { id: "shapes", type: "string", label: "Input shapes" }];
    const byShape = (...ops: [string, number][]) => {
      const rows = ops.map(([shapes, time]) => ({ c: [1, "Device", "mm", "mm", 2, time, time, 0, 0, 0, shapes].map((v) => ({ v })) }));
      return readFrameworkOps([
        { cols: columns, rows, p: {} },
        { cols: columns, rows, p: {} },
      ]).withoutIdle.table;
    };

    it("are a choice if shapes were recorded", () => {
      expect([hasShapes(byShape(["[2]", 1])), hasShapes(data.withoutIdle.table)]).toEqual([true, false]);
      expect(["op", "shape", "other", null].map(groupOf)).toEqual(["op", "shape", "name", "name"]);
      expect(Object.keys(columnsOf("shape")).slice(0, 2)).toEqual(["operation", "shapes"]);
      expect(Object.keys(columnsOf("op"))).not.toContain("shapes");
      expect(Object.keys(GROUPS)).toEqual(["name", "op", "shape"]);
    });

    it("meet those of a base with the same shapes", () => {
      const joined = withBaseOps(byShape(["[2]", 10], ["[3]", 20]), byShape(["[3]", 5], ["[4]", 7]));
      const differences = joined.columns.find(({ id }) => id.includes("total_self_time") && /diff/i.test(id));
      expect(differences?.values[1]).toBe(15);
    });
  });
});
