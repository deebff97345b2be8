import { describe, expect, it } from "vitest";
import type { Cell, ColumnKind, TableColumn } from "../../../base/table/table_data";
import { compileFilter, countMatches, filterHelp } from "./filter";

const column = (kind: ColumnKind, values: Cell[], unit: string | null = null): TableColumn => ({
  id: "c",
  label: "C",
  kind,
  unit,
  help: null,
  values,
});
const hits = (c: TableColumn, text: string): Cell[] | null => {
  const { test } = compileFilter(c, text);
  return test && c.values.filter((_, row) => test(row));
};

describe("text filters", () => {
  const names = column("string", ["fusion.1", "Copy-start", "", null, "a/b"]);
  it.each<[string, Cell[] | null]>([
    ["", ["fusion.1", "Copy-start", "", null, "a/b"]],
    ["COPY", ["Copy-start"]],
    ["!o", ["", null, "a/b"]],
    ["= fusion.1", ["fusion.1"]],
    ["=fusion", []],
    ["= fusion.1 | a/b", ["fusion.1", "a/b"]],
    ["/^fus.*1$/", ["fusion.1"]],
    ["/a\\/b", ["a/b"]],
    ["/(/", null],
    ["-", ["", null]],
  ])("%s", (text, expected) => {
    expect(hits(names, text)).toEqual(expected);
  });
});

describe("filters of shares", () => {
  const shares = column("number", [0.05, 0.5, null], "fraction");
  it.each<[string, Cell[] | null]>([
    ["> 10", [0.5]],
    ["< 10%", [0.05]],
    ["> 10 us", null],
  ])("are in percent, as shown: %s", (text, expected) => {
    expect(hits(shares, text)).toEqual(expected);
  });

  it("name the unit of plain numbers", () => {
    expect(filterHelp(shares)).toContain("without a unit are in percent.");
    expect(filterHelp({ kind: "number", unit: "us" })).toContain("without a unit are in us.");
    expect(filterHelp({ kind: "number", unit: null })).not.toContain("unit are in");
  });
});

describe("number filters", () => {
  const times = column("number", [0, 1, 999, 1000, 2500, null], "us");
  it.each<[string, Cell[] | null]>([
    ["> 999", [1000, 2500]],
    [">= 1 ms", [1000, 2500]],
    ["<1", [0]],
    ["1..1,000", [1, 999, 1000]],
    ["1..2.5 ms", [1000, 2500]],
    ["..1", [0, 1]],
    ["2..", [999, 1000, 2500]],
    ["= 1", [1]],
    ["1000", [1000]],
    ["-", [null]],
    ["> 1 KiB", null],
    ["many", null],
    ["..", null],
  ])("%s", (text, expected) => {
    expect(hits(times, text)).toEqual(expected);
  });

  it("parses bytes and rates", () => {
    expect(hits(column("number", [1023, 1024], "bytes"), ">= 1 KiB")).toEqual([1024]);
    expect(hits(column("number", [999, 1000], "GFLOP/s"), ">= 1 TFLOP/s")).toEqual([1000]);
    expect(hits(column("number", [9, 11], "percent"), "> 10%")).toEqual([11]);
  });
});

it("filters truth and counts", () => {
  const flags = column("boolean", [true, false, null]);
  expect(hits(flags, "t")).toEqual([true]);
  expect(hits(flags, "false")).toEqual([false]);
  expect(countMatches((row) => row % 2 === 0, 5)).toBe(3);
});
