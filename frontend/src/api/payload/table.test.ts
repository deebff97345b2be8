import { expect, it } from "vitest";
import { readTable, tablesOf } from "./table";

const table = {
  cols: [
    { id: "rank", label: "Rank", type: "number" },
    { label: "", type: "string", unit: "us", help: "h" },
    { id: "rank", type: "boolean" },
  ],
  rows: [{ c: [{ v: 1 }, { v: "a" }, { v: true }] }, { c: [{ v: null }, null] }],
};

it("reads a DataTable into columns", () => {
  const data = readTable(table);
  expect(data.rowCount).toBe(2);
  expect(data.columns.map((c) => [c.id, c.label, c.kind, c.unit, c.help, c.values])).toEqual([
    ["rank", "Rank", "number", null, null, [1, null]],
    ["c1", "Column 2", "string", "us", "h", ["a", null]],
    ["rank_2", "rank", "boolean", null, null, [true, null]],
  ]);
});

it("decodes one table, several, or none", () => {
  expect(tablesOf(table)).toHaveLength(1);
  expect(tablesOf([table, table])).toHaveLength(2);
  expect(tablesOf({ traceEvents: [] })).toBeNull();
  expect(tablesOf([])).toBeNull();
});
