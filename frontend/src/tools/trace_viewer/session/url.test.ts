import { describe, expect, it } from "vitest";
import { initialArrangement } from "../../../timeline/layout/layout";
import { encodeTrace } from "../../../timeline/testing/synthetic";
import { decodeTrace } from "../../../timeline/data/trace";
import { arrangementOf, readView, sameSet, viewPatch } from "./url";
import type { LinkedView } from "./url";

const read = (search: string) => {
  const query = new URLSearchParams(search);
  return readView({ get: (key) => query.get(key) });
};

const view: LinkedView = {
  window: { begin: 1_000_000.4, end: 98_102_478_363_000 },
  selected: [
    { pid: 3, tid: 4, event: 7 },
    { pid: 701, tid: 2514723094, event: 0 },
  ],
  mark: { begin: 5, end: 9 },
  marker: { at: 44_000_000_000, label: "peak, 2 GiB" },
  mode: "timing",
  query: { text: "fusion.1, x=2", regex: false, whole: false, matchCase: true, args: true },
  how: true,
  collapsed: [],
  folded: ["3.1"],
  hidden: ["3.2", "3.3"],
  pinned: ["701.9"],
  without: [702],
  noFlows: ["", "tf_exec"],
  gap: "tpu-host-0: TPU 1:3",
  path: "GPU 1",
  empty: true,
};

describe("view in the address", () => {
  it("round-trips", () => {
    const patch = viewPatch(view);
    const search = new URLSearchParams(Object.entries(patch).filter((e): e is [string, string] => e[1] !== null));
    expect(read(search.toString())).toEqual({ ...view, window: { begin: 1_000_000, end: 98_102_478_363_000 } });
  });

  it("says how a text is found: as a part of names, or as the link asks", () => {
    const how = (search: string) => viewPatch(read(search))["match"];
    expect(["find=a&match=part", "find=a&match=name", "find=a&match=regex,case", "find=a", "match=regex"].map(how)).toEqual([
      "part",
      "name",
      "regex,case",
      null,
      null,
    ]);
  });

  it("omits initial values", () => {
    const start = read("");
    expect(Object.values(viewPatch(start)).every((value) => value === null)).toBe(true);
  });

  it("treats broken values as absent", () => {
    const broken = read("window=5,1&selected=a.b.c,1.2&mark=x&marker=x,y&mode=fly&collapsed=x,7");
    expect(broken).toMatchObject({ window: null, selected: [], mark: null, marker: null, mode: "select", collapsed: [7] });
  });

  it("applies the arrangement to the initial one", () => {
    const tracks = Array.from({ length: 30 }, (_, i) => ({ tid: i, name: "" }));
    const trace = decodeTrace(encodeTrace({ sections: [{ pid: 9, name: "many", tracks }], full: [0, 1] }));
    const initial = initialArrangement(trace);
    expect([...arrangementOf(read(""), initial).collapsedSections]).toEqual([9]);
    expect([...arrangementOf(read("collapsed=none"), initial).collapsedSections]).toEqual([]);
    expect(arrangementOf(read("pinned=9.1"), initial).pinnedTracks).toEqual(["9.1"]);
    expect(sameSet(new Set([1, 2]), new Set([2, 1]))).toBe(true);
    expect(sameSet(new Set([1, 2]), new Set([2]))).toBe(false);
  });
});
