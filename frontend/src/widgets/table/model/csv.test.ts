import { expect, it } from "vitest";
import { headerText, toCsv, toTabs } from "./csv";
import type { TableColumn } from "../../../base/table/table_data";

const columns: TableColumn[] = [
  { id: "n", label: "Name", kind: "string", unit: null, help: null, values: ['say "hi"', "a\tb", null] },
  { id: "t", label: "Time", kind: "number", unit: "us", help: null, values: [0.1234567890123, null, 3] },
];

it("keeps exact values and the order of the rows", () => {
  expect(toCsv(columns, [2, 0])).toBe('"Name","Time (us)"\n"","3"\n"say ""hi""","0.1234567890123"\n');
  expect(toTabs(columns, 1)).toBe("a b\t");
});

it("gives spreadsheets texts that they do not compute, and numbers", () => {
  const texts = ["=1+1", "@SUM(1)", "-2+3", " =1", "\ufeff+1", "＝1", "-1.5", "a=b", -1.5, null, "\t=1"];
  const column: TableColumn = { id: "f", label: "=F", kind: "string", unit: null, help: null, values: texts };
  const lines = toCsv(
    [column],
    texts.map((_, row) => row),
  ).split("\n");
  expect(lines[0]).toBe('"\'=F"');
  expect(lines.slice(1, 12)).toEqual([
    '"\'=1+1"',
    '"\'@SUM(1)"',
    '"\'-2+3"',
    '"\' =1"',
    '"\'\ufeff+1"',
    '"\'＝1"',
    '"-1.5"',
    '"a=b"',
    '"-1.5"',
    '""',
    '"\'\t=1"',
  ]);
  expect(toTabs([column, column], 0)).toBe("'=1+1\t'=1+1");
});

it("names the unit once", () => {
  expect(headerText({ label: "Time (us)", unit: "us" })).toBe("Time (us)");
});
