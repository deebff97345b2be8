import { expect, it } from "vitest";
import { makeTable, numberColumn, textColumn } from "../base/table/columns";
import { baseOf, differenceOf, joinBy } from "../base/table/difference";
import { arranged } from "./op_columns";

const COLUMNS = ["name", "time", "source", "runs"];
const table = makeTable([
  numberColumn("rank", "Rank", null, null, [1, 2]),
  numberColumn("time", "Total self time", "us", null, [5, 4]),
  numberColumn("runs", "Runs", null, null, [2, 1]),
  textColumn("source", "Source Info", null, ["", null]),
  textColumn("name", "HLO op name", null, ["a", "b"]),
]);
const ids = (shown: { table: typeof table; hidden: string[] }) => [
  shown.table.columns.map(({ id }) => id).filter((id) => !shown.hidden.includes(id)),
  shown.hidden,
];

it("shows the declared columns in their order, and hides the others and those without a value", () => {
  expect(ids(arranged(table, COLUMNS))).toEqual([
    ["name", "time", "runs"],
    ["rank", "source"],
  ]);
});

it("puts compared numbers with base and difference after the name", () => {
  const joined = joinBy(table, table, ["name"], { sums: ["time", "runs"] });
  const [shown, hidden] = ids(arranged(joined, COLUMNS, ["time", "runs"]));
  expect(shown).toEqual(["name", "time", baseOf("time"), differenceOf("time"), "runs", differenceOf("runs")]);
  expect(hidden).toEqual(["rank", baseOf("runs"), "source", "side"]);
});
