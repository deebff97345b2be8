import { describe, expect, it, vi } from "vitest";
import type { Cell, ColumnKind, TableColumn, TableData } from "../../../base/table/table_data";
import { cellText, filterHint, makeTableModel, nextSorting, startWidth } from "./table_model";

const column = (id: string, kind: ColumnKind, values: Cell[], unit: string | null = null): TableColumn => ({
  id,
  label: id,
  kind,
  unit,
  help: null,
  values,
});
const data: TableData = {
  rowCount: 5,
  properties: {},
  columns: [
    column("name", "string", ["fusion.10", "fusion.2", "copy", null, "copy"]),
    column("time", "number", [5, 1, null, 3, 2], "us"),
    column("hot", "boolean", [true, false, true, false, null]),
  ],
};

describe("sorting", () => {
  it("puts numbers largest first, then smallest, then back; missing always last", () => {
    const model = makeTableModel(data);
    expect(model.rows()).toEqual([0, 1, 2, 3, 4]);
    model.toggleSort("time", false);
    expect(model.rows()).toEqual([0, 3, 4, 1, 2]);
    model.toggleSort("time", false);
    expect(model.rows()).toEqual([1, 4, 3, 0, 2]);
    model.toggleSort("time", false);
    expect(model.rows()).toEqual([0, 1, 2, 3, 4]);
  });

  it("sorts texts naturally and by several columns", () => {
    const model = makeTableModel(data);
    model.toggleSort("name", false);
    expect(model.rows()).toEqual([2, 4, 1, 0, 3]);
    model.toggleSort("time", true);
    expect(model.rows()).toEqual([4, 2, 1, 0, 3]);
    expect(model.sorting()).toEqual([
      { id: "name", desc: false },
      { id: "time", desc: true },
    ]);
  });

  it("cycles in place when it adds", () => {
    const sort = [
      { id: "a", desc: false },
      { id: "b", desc: true },
    ];
    expect(nextSorting(sort, "a", true, false)).toEqual([
      { id: "a", desc: true },
      { id: "b", desc: true },
    ]);
    expect(nextSorting(sort, "b", true, false)).toEqual([{ id: "a", desc: false }]);
    expect(nextSorting(sort, "b", false, true)).toEqual([{ id: "b", desc: false }]);
  });
});

describe("filters", () => {
  it("combine, count separately, and ignore invalid filters", () => {
    const model = makeTableModel(data);
    model.setFilter("name", "copy");
    model.setFilter("time", "> 1");
    expect(model.rows()).toEqual([4]);
    expect(model.matches("name")).toBe(2);
    expect(model.matches("time")).toBe(3);
    expect(model.matches("hot")).toBeNull();
    model.setFilter("time", "nonsense");
    expect(model.matches("time")).toBe(-1);
    expect(model.rows()).toEqual([2, 4]);
    model.clearFilters();
    expect(model.rows()).toHaveLength(5);
  });
});

describe("state", () => {
  it("is saved and read back", () => {
    const kept = new Map<string, string | null>();
    const store = {
      get: (key: string) => kept.get(key) ?? null,
      set: (patch: Readonly<Record<string, string | null>>) => {
        for (const [k, v] of Object.entries(patch)) kept.set(k, v);
      },
    };
    const model = makeTableModel(data, store);
    const heard = vi.fn();
    model.subscribe(heard);
    model.toggleSort("time", false);
    model.setFilter("name", "f");
    model.setVisible(["hot"], false);
    expect(heard).toHaveBeenCalled();
    expect(Object.fromEntries(kept)).toEqual({ sort: "-time", filter: "name~f", hide: "hot" });
    kept.set("row", "name~copy;hot~true");
    const marking = makeTableModel(data, store);
    expect(marking.marked()).toBe(2);
    marking.unmark();
    expect([marking.marked(), kept.get("row")]).toEqual([null, null]);
    kept.set("row", "name~cop");
    expect(marking.marked()).toBeNull();
    kept.delete("row");
    const again = makeTableModel(data, store);
    expect(again.rows()).toEqual([0, 1]);
    expect(again.visible().map((c) => c.id)).toEqual(["name", "time"]);
  });
});

it("formats cells for display", () => {
  expect(cellText(column("t", "number", [], "us"), 1500)).toBe("1.500 ms");
  const times = column("t", "number", [1500, 2, 3], "us");
  expect(times.values.map((value) => cellText(times, value))).toEqual(["1,500 us", "2 us", "3 us"]);
  expect(cellText({ ...column("d", "number", [-1], "us"), signed: true, like: times.values }, 0.5)).toBe("+0.5 us");
  expect(cellText(column("program_id", "number", []), 1234567)).toBe("1234567");
  expect(cellText(column("n", "number", []), 1234567)).toBe("1,234,567");
  expect(cellText(column("b", "boolean", []), false)).toBe("no");
  expect(cellText(column("s", "string", []), "")).toBe("-");
});

it("gives an example of a filter in the unit of the cells", () => {
  const hint = (unit: string | null, ...values: number[]): string => filterHint(column("n", "number", values, unit));
  expect([hint("us", 2e6, 3e6), hint("fraction", 0.5), hint(null, 5), hint("ps", 10)]).toEqual(["> 5 s", "> 5%", "> 5", "> 5 ns"]);
  expect(filterHint(column("s", "string", ["a"]))).toBe("filter");
});

it("starts wide enough for the label, never too wide", () => {
  vi.stubGlobal("innerWidth", 1440);
  expect(startWidth(column("name", "string", ["x".repeat(400)]))).toBe(360);
  vi.stubGlobal("innerWidth", 1024);
  expect(startWidth(column("name", "string", ["x".repeat(400)]))).toBe(256);
  vi.unstubAllGlobals();
  const shorten = (text: string): string => text.slice(0, 9);
  expect(startWidth({ ...column("name", "string", ["x".repeat(400)]), shorten })).toBe(93);
  // "demo-host" is shown whole: nine characters of 7 px, an eighth wider, and the padding.
  expect(startWidth(column("h", "string", ["demo-host"]))).toBe(93);
  expect(startWidth(column("n", "number", [1]))).toBe(64);
});

it("gives free room to the labels that are cut, then to the texts, and keeps what the user set", () => {
  vi.stubGlobal("innerWidth", 1024);
  const long = { ...column("share", "number", [1, 2]), label: "Share of the time from step to step" };
  const model = makeTableModel({
    rowCount: 2,
    properties: {},
    columns: [column("name", "string", ["x".repeat(50), "y"]), long, column("n", "number", [1, 2])],
  });
  const widths = (): number[] => ["name", "share", "n"].map((id) => model.width(id));
  expect(widths()).toEqual([256, 240, 64]);
  model.fit(560 + 82);
  expect(widths()).toEqual([256, 322, 64]);
  model.fit(2000);
  expect(widths()).toEqual([414, 322, 64]);
  model.setWidth("name", 100);
  model.fit(300);
  expect(widths()).toEqual([100, 240, 64]);
  vi.unstubAllGlobals();
});

it("handles 100,000 rows", () => {
  const n = 100_000;
  const big: TableData = {
    rowCount: n,
    properties: {},
    columns: [
      column(
        "name",
        "string",
        Array.from({ length: n }, (_, i) => `op.${(i * 7919) % n}`),
      ),
    ],
  };
  const model = makeTableModel(big);
  model.toggleSort("name", false);
  expect(model.rows()[2]).toBe(Array.from({ length: n }, (_, i) => (i * 7919) % n).indexOf(2));
}, 20_000);
