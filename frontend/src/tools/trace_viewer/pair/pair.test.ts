import { describe, expect, it } from "vitest";
import { COMPARISON } from "../../../page/compare/comparison_testing";
import type { SearchHits } from "../../../timeline/data/search_hits";
import type { SelectedEvent } from "../../../timeline/data/selection";
import type { Trace, Track } from "../../../timeline/data/trace";
import { initialArrangement } from "../../../timeline/layout/layout";
import { findCounterpart, mappedArrangement, matchTracks, renamedOps, searchFor, stepAt } from "./counterpart";
import { namedSteps } from "./steps";

/** A trace with the given sections and their tracks; sections are numbered from `pid` on. */
function traceOf(sections: Record<string, string[]>, pid = 1): Trace {
  const tracks: Track[] = [];
  const made = Object.entries(sections).map(([name, names], section) => {
    const trackBegin = tracks.length;
    names.forEach((track, tid) =>
      tracks.push({
        pid: pid + section,
        tid,
        name: track,
        rows: 1,
        events: 1,
        kind: "events",
        section,
        unit: "",
        main: false,
        range: null,
      }),
    );
    return { pid: pid + section, name, host: "", trackBegin, trackEnd: tracks.length };
  });
  return { sections: made, tracks } as unknown as Trace;
}

function hitsOf(rows: [track: number, begin: number, duration: number][], total = rows.length): SearchHits {
  return {
    total,
    length: rows.length,
    strings: ["op"],
    track: Uint32Array.from(rows, ([track]) => track),
    row: new Uint16Array(rows.length),
    begin: Float64Array.from(rows, ([, begin]) => begin),
    duration: Float64Array.from(rows, ([, , duration]) => duration),
    name: new Uint32Array(rows.length),
    event: Uint32Array.from(rows, (_, i) => 10 + i),
  };
}

const RUN = traceOf({ "/host:CPU": ["python/11", "worker/7"], "/device:TPU:0": ["XLA Ops"], "/device:TPU:1": ["XLA Ops"] });
const BASE = traceOf({ "/device:TPU:0": ["Steps", "XLA Ops"], "/host:CPU": ["python/99"] }, 5);
const STEPS = [
  { begin: 0, end: 100 },
  { begin: 100, end: 200 },
  { begin: 250, end: 300 },
];

describe("tracks", () => {
  it("correspond by section and name, else without numbers of threads", () => {
    expect(matchTracks(RUN, BASE)).toEqual([2, null, 1, null]);
    expect(matchTracks(BASE, RUN)).toEqual([null, 2, 0]);
  });

  it("are collapsed, hidden and pinned as their counterparts", () => {
    const wanted = {
      ...initialArrangement(RUN),
      collapsedSections: new Set([1]),
      pinnedTracks: ["2.0", "3.0"],
      hiddenTracks: new Set(["1.0"]),
    };
    const own = initialArrangement(BASE);
    const mapped = mappedArrangement(RUN, BASE, matchTracks(RUN, BASE), wanted, own);
    expect([[...mapped.collapsedSections], mapped.pinnedTracks, [...mapped.hiddenTracks]]).toEqual([[6], ["5.1"], ["6.0"]]);
  });
});

describe("the counterpart of an event", () => {
  const event = (index: number, begin: number): SelectedEvent => ({
    pid: 2,
    tid: 0,
    event: index,
    name: "op",
    begin,
    duration: 9,
    count: 1,
    row: 0,
  });
  const from = {
    trace: RUN,
    hits: hitsOf([
      [2, 10, 9],
      [2, 110, 9],
      [2, 120, 9],
      [3, 130, 9],
    ]),
    steps: STEPS,
  };
  const to = {
    trace: BASE,
    hits: hitsOf([
      [1, 20, 5],
      [1, 105, 6],
      [2, 107, 1],
      [1, 150, 7],
    ]),
    steps: STEPS,
  };
  const tracks = matchTracks(RUN, BASE);

  it("is the one with as many before it on the same track and in the same step", () => {
    const second = findCounterpart(event(12, 120), from, to, tracks);
    expect(second).toMatchObject({ pid: 5, tid: 1, event: 13, begin: 150, duration: 7, name: "op" });
    expect(findCounterpart(event(10, 10), from, to, tracks)).toMatchObject({ event: 10, begin: 20 });
  });

  it("counts over the whole recording without steps", () => {
    expect(findCounterpart(event(12, 120), { ...from, steps: [] }, { ...to, steps: [] }, tracks)).toMatchObject({ begin: 150 });
  });

  it("is missing for a reason", () => {
    const none = { ...to, hits: hitsOf([[1, 20, 5]]) };
    expect(findCounterpart(event(12, 120), from, none, tracks)).toBe("nothing of this name runs there in this step");
    expect(findCounterpart(event(12, 120), from, { ...to, hits: hitsOf([[1, 105, 5]]) }, tracks)).toBe(
      "it runs 1 time there in this step, here more often",
    );
    expect(findCounterpart({ ...event(13, 130), pid: 3 }, from, to, tracks)).toBe("the other run has no such track");
    expect(findCounterpart(event(12, 120), from, { ...to, steps: STEPS.slice(0, 1) }, tracks)).toBe("the other run has fewer steps");
    expect(findCounterpart(event(12, 120), from, { ...to, hits: hitsOf([[1, 105, 5]], 20_000) }, tracks)).toContain("more than 1 events");
  });
});

it("finds renumbered ops by the comparison", () => {
  const renamed = renamedOps(COMPARISON);
  expect([...renamed]).toEqual([
    ["fusion.11", "fusion.1"],
    ["b.1", "b.5"],
    ["b.2", "b.6"],
  ]);
  const expression = searchFor("%fusion.11 = f32[8] fusion()", renamed);
  expect(["%fusion.1 = f32[8] fusion()", "fusion.1", "fusion.11", "xfusion.1"].map((name) => new RegExp(expression).test(name))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(new RegExp(searchFor("a(b)[1]", renamed)).test("a(b)[1]")).toBe(true);
});

it("knows the step of a moment", () => {
  expect([-5, 0, 99, 100, 220, 250, 300].map((at) => stepAt(STEPS, at))).toEqual([-1, 0, 0, 1, -1, 2, -1]);
  expect(stepAt([], 5)).toBe(-1);
});

it("reads the steps of the first device, by begin", () => {
  const steps = {
    number: [1, 0],
    name: ["1", "0"],
    begin_ps: [
      [60, 50],
      [5, 5],
    ],
    duration_ps: [
      [10, 20],
      [7, 9],
    ],
  };
  expect(namedSteps({ steps })).toEqual([
    { name: "0", begin: 5, end: 12 },
    { name: "1", begin: 60, end: 70 },
  ]);
});
