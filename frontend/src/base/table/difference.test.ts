import { describe, expect, it } from "vitest";
import { makeTable, numberColumn, textColumn } from "./columns";
import {
  ONLY_BASE,
  ONLY_RUN,
  SIDE,
  addedColumns,
  amountsTable,
  baseOf,
  differenceOf,
  joinBy,
  joinTables,
  keysOf,
  pairRows,
  withoutId,
  withoutNumber,
} from "./difference";
import type { TableData } from "./table_data";

const table = (names: string[], times: (number | null)[], rates: number[] = []): TableData =>
  makeTable([
    textColumn("name", "Name", null, names),
    numberColumn("time", "Time", "us", "Sum.", times),
    numberColumn("rate", "Rate", "percent", null, rates.length ? rates : times.map(() => 1)),
  ]);
const cells = (data: TableData, id: string) => data.columns.find((column) => column.id === id)?.values;

describe("joining two tables", () => {
  const run = table(["a", "b", "c"], [10, 20, 5], [50, 60, 70]);
  const base = table(["b", "a", "z"], [15, 10, 7], [55, 50, 1]);
  const joined = joinBy(run, base, ["name"], { sums: ["time"], rates: ["rate"] });

  it("puts base and difference beside each compared number, and the base's own rows last", () => {
    expect(joined.columns.map(({ id }) => id)).toEqual([
      "name",
      "time",
      baseOf("time"),
      differenceOf("time"),
      "rate",
      baseOf("rate"),
      differenceOf("rate"),
      SIDE,
    ]);
    expect(cells(joined, "name")).toEqual(["a", "b", "c", "z"]);
    expect(cells(joined, "time")).toEqual([10, 20, 5, null]);
    expect(cells(joined, baseOf("time"))).toEqual([10, 15, null, 7]);
    expect(joined.rowCount).toBe(4);
  });

  it("divides sums by the steps of each recording on request, and neither rates nor other counts", () => {
    const perStep = joinBy(run, base, ["name"], { sums: ["time"], rates: ["rate"], perStep: { run: 5, base: 10 } });
    expect(cells(perStep, "time")).toEqual([2, 4, 1, null]);
    expect(cells(perStep, baseOf("time"))).toEqual([1, 1.5, null, 0.7]);
    expect(cells(perStep, differenceOf("time"))).toEqual([1, 2.5, 1, -0.7]);
    expect(cells(perStep, "rate")).toEqual([50, 60, 70, null]);
    expect(perStep.columns.map(({ label }) => label).slice(1, 5)).toEqual(["Time/step", "Time/step, base", "Δ Time/step", "Rate"]);
    const counted = joinBy(run, base, ["name"], { sums: [], counts: ["time"], perStep: { run: 5, base: 10 } });
    expect(cells(counted, "time")).toEqual([10, 20, 5, null]);
    expect(cells(counted, differenceOf("time"))).toEqual([0, 5, 5, -7]);
  });

  it("takes the whole sum as the difference of a row that one side has, and nothing of a rate", () => {
    expect(cells(joined, differenceOf("time"))).toEqual([0, 5, 5, -7]);
    expect(cells(joined, differenceOf("rate"))).toEqual([0, 5, null, null]);
    expect(cells(joined, SIDE)).toEqual([null, null, ONLY_RUN, ONLY_BASE]);
  });

  it("keeps units, marks differences as signed, and explains percentage points", () => {
    const difference = joined.columns.find(({ id }) => id === differenceOf("rate"));
    expect([difference?.unit, difference?.signed, difference?.label]).toEqual(["percent", true, "Δ Rate"]);
    expect(difference?.help).toContain("percentage points");
  });

  it("shows only chosen rows", () => {
    const pairs = pairRows([{ run: keysOf(run, ["name"]), base: keysOf(base, ["name"]) }]);
    const some = joinTables(run, base, pairs, { sums: ["time"] }, { run: [1], rest: [] });
    expect([cells(some, "name"), cells(some, differenceOf("time"))]).toEqual([["b"], [5]]);
  });

  it("keeps marks of doubtful numbers with their rows", () => {
    const doubtful: TableData = {
      ...run,
      columns: run.columns.map((column) => (column.id === "rate" ? { ...column, doubts: ["x", null, null] } : column)),
    };
    const rate = joinBy(doubtful, base, ["name"], { sums: ["time"] }).columns.find(({ id }) => id === "rate");
    expect(rate?.doubts).toEqual(["x", null, null, null]);
  });

  it("names the added columns, for hiding", () => {
    expect(addedColumns(joined, ["time"])).toEqual([baseOf("rate"), differenceOf("rate")]);
  });
});

describe("pairing rows", () => {
  it("pairs equal keys in their order, then by the next level, and never by an empty key", () => {
    const first = { run: ["x", "x", "", "n.2"], base: ["x", "x", "", "n.1"] };
    const second = { run: ["", "", "", "n"], base: ["", "", "", "n"], unique: true };
    expect(pairRows([first, second])).toEqual({ counterpart: [0, 1, null, 3], rest: [2] });
  });

  it("does not guess where a key is that of several rows", () => {
    expect(pairRows([{ run: ["n", "n"], base: ["n"], unique: true }])).toEqual({ counterpart: [null, null], rest: [0] });
    expect(pairRows([{ run: ["n"], base: ["n", "n"], unique: true }])).toEqual({ counterpart: [null], rest: [0, 1] });
    expect(pairRows([])).toEqual({ counterpart: [], rest: [] });
  });

  it("knows what another compilation changes", () => {
    expect(["fusion.77", "%dot.1", "copy.3.remat2", "add.clone.4", "fusion"].map(withoutNumber)).toEqual([
      "fusion",
      "dot",
      "copy",
      "add",
      "fusion",
    ]);
    expect(["jit_f(7)", "jit_f", "jit_f(x)"].map(withoutId)).toEqual(["jit_f", "jit_f", "jit_f(x)"]);
  });
});

it("lists amounts of both sides by name", () => {
  const joined = amountsTable(
    "Memory",
    "bytes",
    [
      ["Peak", 10],
      ["Free", 5],
    ],
    [
      ["Peak", 4],
      ["Other", 1],
    ],
  );
  expect(joined.columns.map(({ label }) => label)).toEqual(["Memory", "Run", "Base", "Difference"]);
  expect(joined.columns.map(({ values }) => values)).toEqual([
    ["Peak", "Free", "Other"],
    [10, 5, null],
    [4, null, 1],
    [6, null, null],
  ]);
});
