import { describe, expect, it } from "vitest";
import type { FrameworkOpStats } from "../../base/documents";
import type { TableData } from "../../base/table/table_data";
import { tableOf } from "../../base/testing";
import { NOTES } from "../../page/testing";
import { frameworkOpsOf } from "./ops";
import {
  chartsOf,
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

const IDS = [
  ...["rank", "host_or_device", "type", "operation", "occurrences", "total_time", "total_self_time"],
  ...["device_total_self_time_percent", "host_total_self_time_percent", "measured_flop_rate"],
];
type Row = [number, string, string, string, number, number, number, number, number, number];
const table = (rows: readonly Row[]): TableData => tableOf(Object.fromEntries(IDS.map((id, i) => [id, rows.map((row) => row[i] ?? null)])));
const answer = (withIdle: TableData, withoutIdle: TableData): FrameworkOpStats => ({
  with_idle: withIdle,
  without_idle: withoutIdle,
  task: "Training",
  inputs_note: "",
  notes: { ...NOTES, cores: 4 },
  left_out: [],
});
const DOT: Row = [1, "Device", "MatMul", "dot", 4, 600, 600, 0.6, 0, 50];
const ADD: Row = [2, "Device", "Add", "add", 4, 395, 395, 0.395, 0, 0];
const TINY: Row = [3, "Device", "Copy", "copy", 1, 0.5, 0.5, 0.005, 0, 1e3];
const HOST: Row = [4, "Host", "Mul", "mul", 12, 10, 10, 0, 1, 0];
const IDLE: Row = [1, "Device", "IDLE", "IDLE", 0, 1000, 1000, 0.5, 0, 0];
const data = frameworkOpsOf(answer(table([IDLE, DOT, ADD, TINY, HOST]), table([DOT, ADD, TINY, HOST])));

describe("framework op stats", () => {
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

  it("shows one chart, of those that the ops allow", () => {
    const ids = (ops: typeof data.withIdle.ops, rates: boolean, group: Parameters<typeof chartsOf>[2]) =>
      chartsOf(piesOf(ops), rates, group).map(({ id }) => id);
    const all = ["device_type", "device_name", "host_type", "host_name", "rates", "scopes"];
    expect(ids(data.withIdle.ops, true, "name")).toEqual(all);
    expect(ids([], false, "op")).toEqual([]);
  });

  it("ranks FLOP rates, without ops of negligible time", () => {
    expect(ratesOf(data.withoutIdle.ops)?.x.labels).toEqual(["dot"]);
    expect(ratesOf([])).toBeNull();
  });

  it("sums by type", () => {
    expect(sumsBy([...data.withoutIdle.ops, ...data.withoutIdle.ops], "type")[0]).toEqual({ name: "MatMul", occurrences: 8, selfUs: 1200 });
    expect(typeTable(data.withoutIdle.ops).columns.map(({ values }) => values.at(-1))).toEqual(["Mul", "Host", 12, 10, 1]);
  });

  it("summarises the op with the most self time and the idle time", () => {
    const { title, sentences } = summary(data);
    expect(title).toBe("On the device, dot has the most self time: 60.3% of the busy time (600 us over 4 cores)");
    expect(sentences).toEqual([
      "On the host, mul has the most self time: 100.0% of the busy time (10 us).",
      "The devices are idle for 50.1% of the observed time, from the first op to the last.",
    ]);
    expect(summary(data, true).title).toBe("On the device, dot has the most self time: 30.1% of all time (600 us over 4 cores)");
  });

  it("mark rates that no device reaches, and leave them out of the chart", () => {
    const wild: Row = [1, "Device", "copy-start", "wild", 1, 600, 600, 0.6, 0, 5e6];
    const host: Row = [2, "Host", "Mul", "mul", 12, 10, 10, 0, 1, 5e6];
    const { withoutIdle } = frameworkOpsOf(answer(table([wild, DOT, host]), table([wild, DOT, host])));
    expect(withoutIdle.table.columns.find(({ id }) => id === "measured_flop_rate")?.doubts?.map((doubt) => doubt !== null)).toEqual([
      true,
      false,
      false,
    ]);
    expect(ratesOf(withoutIdle.ops)?.x.labels).toEqual(["dot"]);
  });
});

describe("framework ops of a base", () => {
  const row = (name: string, self: number, place = "Device"): Row => [1, place, "Add", name, 1, self, self, 0, 0, 0];
  const read = (rows: Row[]) => frameworkOpsOf(answer(table(rows), table(rows))).withoutIdle;
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
    const joined = withBaseTypes(typeTable(run.ops), typeTable(base.ops));
    expect(joined.columns.find(({ id }) => id === "difference_self")?.values).toEqual([-5, 1]);
  });

  describe("rows of PyTorch by op and shapes", () => {
    const byShape = (...ops: [string, number][]): TableData => {
      const rows = ops.map(([, time]): Row => [1, "Device", "mm", "mm", 2, time, time, 0, 0, 0]);
      const { columns, rowCount } = table(rows);
      const shapes = tableOf({ shapes: ops.map(([shape]) => shape) }).columns;
      const one = { columns: [...columns, ...shapes], rowCount, properties: {} };
      return frameworkOpsOf(answer(one, one)).withoutIdle.table;
    };

    it("are a choice if shapes were recorded", () => {
      expect([hasShapes(byShape(["[2]", 1])), hasShapes(data.withoutIdle.table)]).toEqual([true, false]);
      expect(["op", "shape", "other", null].map(groupOf)).toEqual(["op", "shape", "name", "name"]);
      expect(columnsOf("shape").slice(0, 2)).toEqual(["operation", "shapes"]);
      expect(columnsOf("op")).not.toContain("shapes");
      expect(Object.keys(GROUPS)).toEqual(["name", "op", "shape"]);
    });

    it("meet those of a base with the same shapes", () => {
      const joined = withBaseOps(byShape(["[2]", 10], ["[3]", 20]), byShape(["[3]", 5], ["[4]", 7]));
      const differences = joined.columns.find(({ id }) => id.includes("total_self_time") && /diff/i.test(id));
      expect(differences?.values[1]).toBe(15);
    });
  });
});
