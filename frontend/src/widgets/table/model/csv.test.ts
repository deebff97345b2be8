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

it("names the unit once", () => {
  expect(headerText({ label: "Time (us)", unit: "us" })).toBe("Time (us)");
});
