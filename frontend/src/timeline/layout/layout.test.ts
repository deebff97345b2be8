import { describe, expect, it } from "vitest";
import { clampScroll, countEmpty, initialArrangement, laneOfSection, laneOfTrack, layOut, placeLanes } from "./layout";
import { scrollToRow, scrollToSection, visibleLanes } from "./layout";
import type { Arrangement } from "./layout";
import { encodeTrace } from "../testing/synthetic";
import { decodeTrace } from "../data/trace";

const trace = decodeTrace(
  encodeTrace({
    sections: [
      {
        pid: 3,
        name: "TPU",
        tracks: [
          { tid: 1, name: "Steps", boxes: [{ begin: 0, duration: 9, name: "s" }] },
          {
            tid: 2,
            name: "Ops",
            boxes: [
              { begin: 0, duration: 9, name: "a" },
              { begin: 1, duration: 2, name: "b", row: 1 },
            ],
          },
          { tid: 3, name: "HBM", kind: "counter", samples: [[0, 1]] },
        ],
      },
      {
        pid: 701,
        name: "CPU",
        tracks: Array.from({ length: 21 }, (_, i) => ({ tid: i, name: `t${i}`, boxes: [{ begin: 0, duration: 1, name: "x" }] })),
      },
    ],
    full: [0, 10],
  }),
);
const start = initialArrangement(trace);
const shape = (arrangement: Arrangement) => {
  const l = layOut(trace, arrangement);
  return Array.from({ length: l.length }, (_, i) => [l.kind[i] === 0 ? "section" : "track", l.index[i], l.top[i], l.height[i]]);
};

describe("lay out", () => {
  it("starts with processes of more than 20 tracks collapsed", () => {
    expect([...start.collapsedSections]).toEqual([701]);
    expect(shape(start)).toEqual([
      ["section", 0, 0, 22],
      ["track", 0, 22, 21],
      ["track", 1, 43, 39],
      ["track", 2, 82, 43],
      ["section", 1, 125, 22],
    ]);
    expect(layOut(trace, start).contentHeight).toBe(147);
  });

  it("folds away sections and tracks without events until they are asked for, and puts the main thread first", () => {
    const box = [{ begin: 0, duration: 1, name: "x" }];
    const made = decodeTrace(
      encodeTrace({
        sections: [
          { pid: 1, name: "/device:GPU:0", tracks: [] },
          { pid: 2, name: "/device:GPU:1", tracks: [{ tid: 1, name: "idle" }] },
          {
            pid: 701,
            name: "/host:CPU",
            tracks: [
              { tid: 1, name: "worker", boxes: box },
              { tid: 2, name: "none" },
              { tid: 3, name: "python", main: true, boxes: box },
            ],
          },
        ],
        full: [0, 10],
      }),
    );
    const lanes = (patch: Partial<Arrangement>) => {
      const l = layOut(made, { ...initialArrangement(made), ...patch });
      return Array.from({ length: l.length }, (_, i) =>
        l.kind[i] === 0 ? made.sections[l.index[i]!]!.name : made.tracks[l.index[i]!]!.name,
      );
    };
    expect(lanes({})).toEqual(["/host:CPU", "python", "worker"]);
    expect(lanes({ showEmpty: true })).toEqual(["/device:GPU:0", "/device:GPU:1", "idle", "/host:CPU", "python", "worker", "none"]);
    expect(lanes({ order: new Map([[701, ["701.1", "701.3"]]]) })).toEqual(["/host:CPU", "worker", "python"]);
    expect(countEmpty(made)).toEqual({ sections: 2, tracks: 1 });
  });

  it("shows a collapsed track as one line of compressed rows", () => {
    const l = layOut(trace, { ...start, collapsedTracks: new Set(["3.2"]) });
    expect([l.height[2], l.rowHeight[2], l.collapsed[2]]).toEqual([21, 9, 1]);
  });

  it("puts pinned tracks first and takes them out of their section", () => {
    const l = layOut(trace, { ...start, pinnedTracks: ["3.2", "9.9"] });
    expect([l.pinned, l.pinnedHeight]).toEqual([1, 39]);
    expect([...l.index]).toEqual([1, 0, 0, 2, 1]);
    expect(l.top[1]).toBe(0);
  });

  it("leaves hidden tracks and sections out and follows a changed order", () => {
    expect(shape({ ...start, hiddenTracks: new Set(["3.1", "3.3"]) }).map((s) => s[1])).toEqual([0, 1, 1]);
    expect(shape({ ...start, hiddenSections: new Set([3]) })).toEqual([["section", 1, 0, 22]]);
    const order = new Map([[3, ["3.3", "3.1"]]]);
    expect(shape({ ...start, order }).map((s) => s[1])).toEqual([0, 2, 0, 1, 1]);
  });
});

describe("scrolling", () => {
  const l = layOut(trace, { ...start, collapsedSections: new Set() });

  it("finds visible lanes by binary search", () => {
    expect(visibleLanes(l, 0, 43)).toEqual([0, 2]);
    expect(visibleLanes(l, 43, 44)).toEqual([2, 3]);
    expect(visibleLanes(l, l.contentHeight, l.contentHeight + 50)).toEqual([l.length, l.length]);
  });

  it("places scrolled lanes below pinned ones", () => {
    const pinned = layOut(trace, { ...start, pinnedTracks: ["3.1"] });
    const placed = placeLanes(pinned, 10, 60);
    expect(placed.map((p) => [p.lane, p.y, p.pinned])).toEqual([
      [0, 0, true],
      [1, 11, false],
      [2, 33, false],
    ]);
  });

  it("keeps the scroll position within the content", () => {
    expect(clampScroll(l, -5, 100)).toBe(0);
    expect(clampScroll(l, 1e6, 100)).toBe(l.contentHeight - 100);
    expect(clampScroll(l, 50, 1e6)).toBe(0);
  });

  it("scrolls as little as needed to show a row", () => {
    const lane = laneOfTrack(l, 1);
    expect(scrollToRow(l, lane, 1, 30, 200)).toBe(30);
    expect(scrollToRow(l, lane, 0, 100, 200)).toBe(43 - 18);
    const last = laneOfTrack(l, 23);
    expect(scrollToRow(l, last, 0, 0, 100)).toBe(clampScroll(l, 1e6, 100));
  });

  it("scrolls a section to the top unless all of it is visible", () => {
    const [first, second] = [laneOfSection(l, 0), laneOfSection(l, 1)];
    const bottom = l.top[second]!;
    expect(scrollToSection(l, first, 0, bottom)).toBe(0);
    expect(scrollToSection(l, first, 30, bottom)).toBe(0);
    expect(scrollToSection(l, second, 0, 200)).toBe(bottom);
    expect(laneOfSection(layOut(trace, { ...start, hiddenSections: new Set([3]) }), 0)).toBe(-1);
  });
});
