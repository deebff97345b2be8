import { expect, it } from "vitest";
import { sumBy, topSlices } from "../chart/slices";
import { makeTable, textColumn } from "./columns";
import { emptyColumns, firstColumns, hiding, pickRows, withSources } from "./transform";
import { tableOf } from "../testing";
import type { TableData } from "./table_data";

const column = (id: string, label: string, values: (number | string | null)[]) => ({
  id,
  label,
  kind: "number" as const,
  unit: null,
  help: null,
  values,
});
const TABLE: TableData = {
  rowCount: 3,
  properties: {},
  columns: [column("a", "Time (us)", [1, 0, 3]), column("b", "Time (%)", [4, 5, 6]), column("c", "Rate (GFLOP/s)", [0, 0, 9])],
};

it("picks rows and orders columns", () => {
  expect(pickRows(TABLE, [2, 0]).columns.map(({ values }) => values)).toEqual([
    [3, 1],
    [6, 4],
    [9, 0],
  ]);
  expect(firstColumns(TABLE, ["c", "gone"]).columns.map(({ id }) => id)).toEqual(["c", "a", "b"]);
});

it("hides columns until the user changes it, and remembers if all are shown", () => {
  const kept = new Map<string, string>();
  const store = hiding(
    {
      get: (key) => kept.get(key) ?? null,
      set: (patch) => {
        for (const [k, v] of Object.entries(patch))
          if (v === null) kept.delete(k);
          else kept.set(k, v);
      },
    },
    ["b", "c"],
  );
  expect(store.get("hide")).toBe("b,c");
  store.set({ hide: null });
  expect(store.get("hide")).toBe("none");
  store.set({ hide: "c,b", sort: "a" });
  expect([kept.has("hide"), store.get("sort")]).toEqual([false, "a"]);
});

it("shortens sources in cells, and keeps them whole in the data", () => {
  const cells = ["a/b/f.py:29", "/c d/f.py:3 (of add.1)", null];
  const [source] = withSources(makeTable([textColumn("source_info", "Source", null, cells)])).columns;
  expect(source?.values).toEqual(cells);
  expect(source?.values.slice(0, 2).map((value) => source.shorten?.(String(value)))).toEqual(["f.py:29", "f.py:3 (near)"]);
  expect(source?.missing).toBe("The compiler kept no source of this op.");
});

it("merges small amounts", () => {
  const amounts = sumBy(["a", "b", "a", "c", "d"], [50, 49, 50, 0.5, 0]);
  expect(amounts).toEqual([
    { name: "a", value: 100 },
    { name: "b", value: 49 },
    { name: "c", value: 0.5 },
  ]);
  expect(topSlices(amounts).map(({ name, value }) => [name, value])).toEqual([
    ["a", 100],
    ["b", 49],
    ["1 other", 0.5],
  ]);
  expect(topSlices([])).toEqual([]);
});

it("columns without any value are empty, but for the first", () => {
  const table = tableOf({ op: [null, null], region: ["", null], shape: ["", "[2]"], bytes: [null, 0] });
  expect(emptyColumns(table)).toEqual(["region"]);
});
