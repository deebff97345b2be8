import { describe, expect, it } from "vitest";
import {
  barsOf,
  bestOf,
  editOf,
  gainOf,
  headline,
  includes,
  isEmpty,
  keysOf,
  partsTable,
  rangeText,
  scaled,
  toggled,
  triedTable,
} from "./model";
import { LOAD, RECORDED, WITHOUT } from "./testing";

const NOTHING = editOf({});
const cells = (table: { columns: readonly { id: string; values: ArrayLike<unknown> }[] }, id: string): unknown[] =>
  Array.from(table.columns.find((column) => column.id === id)?.values ?? []);

describe("changes in the address", () => {
  it("are read and written alike", () => {
    const keys = { without: "train.py:3 load_batch; k1", scale: "matmul=0.5; a=b=2", input_free: "true" };
    const edit = editOf(keys);
    expect(edit.places).toEqual([
      { place: "train.py:3 load_batch", factor: 0 },
      { place: "k1", factor: 0 },
      { place: "matmul", factor: 0.5 },
      { place: "a=b", factor: 2 },
    ]);
    expect(keysOf(edit)).toEqual({ ...keys, hide_collectives: null, ranks_equal: null });
    expect(keysOf(NOTHING)).toEqual({ without: null, scale: null, input_free: null, hide_collectives: null, ranks_equal: null });
  });

  it("leave out what is no factor", () => {
    expect(editOf({ scale: "matmul; k=; =2; n=fast", without: " ; " })).toEqual({ places: [], flags: [] });
  });

  it("gain and lose a suggestion, whose place they have once", () => {
    const edit = toggled(scaled(NOTHING, "train.py:3 load_batch", 0.5), LOAD.keys);
    expect(edit.places).toEqual([{ place: "train.py:3 load_batch", factor: 0 }]);
    expect([includes(edit, LOAD.keys), includes(NOTHING, LOAD.keys), includes(edit, {})]).toEqual([true, false, false]);
    expect(isEmpty(toggled(edit, LOAD.keys))).toBe(true);
    expect(toggled(edit, { ranks_equal: "true" }).flags).toEqual(["ranks_equal"]);
  });
});

describe("the words of the page", () => {
  it("name the largest gain before anything is changed, and the step afterwards", () => {
    expect(headline(RECORDED, NOTHING).title).toBe(
      "The step takes 100 us; the largest gain that was tried is 60.0%: without train.py:3 load_batch",
    );
    expect(headline(WITHOUT, editOf(LOAD.keys))).toEqual({ tone: "good", title: "The step would take 60.0% less time (100 us to 40 us)" });
    expect(gainOf(WITHOUT)).toBeCloseTo(0.6);
    expect(headline(RECORDED, editOf({ without: "log" })).title).toBe("The step stays as long as it is: 100 us");
  });

  it("do not name a gain of low confidence", () => {
    const unsure = { ...RECORDED, tried: RECORDED.tried.map((one) => ({ ...one, confidence: "low" })) };
    expect(bestOf(unsure)).toBeNull();
    expect(headline(unsure, NOTHING).title).toBe("The step takes 100 us; the gains of the changes that were tried are uncertain");
    const without = { ...RECORDED, tried: RECORDED.tried.map((one) => ({ ...one, gain_ps: 0 })) };
    expect(headline(without, NOTHING).title).toBe("The step takes 100 us; no change that was tried makes it shorter");
    const none = { ...RECORDED, tried: RECORDED.tried.map((one) => ({ ...one, gain_ps: null })) };
    expect(headline(none, NOTHING).title).toBe("The step takes 100 us; no finding has a change that can be tried");
  });

  it("tell why the recording cannot tell", () => {
    const found = { ...RECORDED, after: null, cannot: "Nothing tells which calls launched the work." };
    expect(headline(found, editOf({ input_free: "true" }))).toEqual({
      tone: "fair",
      title: "The recording cannot tell: nothing tells which calls launched the work",
    });
  });

  it("show an interval only if there is one", () => {
    expect([rangeText(35e6, 45e6), rangeText(40e6, 40e6)]).toEqual(["35 us to 45 us", ""]);
  });
});

describe("bars and tables", () => {
  it("have both steps on one scale, with the parts that either has", () => {
    const bars = barsOf(WITHOUT, true);
    expect(bars.map(({ name, totalPs, parts }) => [name, totalPs, parts.map(({ id, ps, length }) => [id, ps, length])])).toEqual([
      [
        "Before",
        100e6,
        [
          ["device_compute", 40e6, 0.4],
          ["host_compute", 60e6, 0.6],
        ],
      ],
      [
        "After",
        40e6,
        [
          ["device_compute", 40e6, 0.4],
          ["host_compute", 0, 0],
        ],
      ],
    ]);
    expect(barsOf(RECORDED, false).map(({ name }) => name)).toEqual(["Before"]);
  });

  it("tell the difference of each part", () => {
    const table = partsTable(WITHOUT);
    expect(cells(table, "part")).toEqual(["Ops", "Waits for host code"]);
    expect(cells(table, "difference")).toEqual([0, -60e6]);
    expect(cells(partsTable({ ...WITHOUT, after: null }), "after")).toEqual([null, null]);
  });

  it("have a row per change that was tried", () => {
    const table = triedTable(RECORDED);
    expect(cells(table, "share")).toEqual([0.6, null, 0.2]);
    expect(cells(table, "part")).toEqual([60e6, 10e6, null]);
    expect(cells(table, "cannot")).toEqual([null, "No function takes just this time.", null]);
  });
});
