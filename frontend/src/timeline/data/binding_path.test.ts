import { describe, expect, it } from "vitest";
import { eventOfPiece, longestIn, onPath, pieceAt, pieceEndingAfter, pieceFrom, pieceOf } from "./binding_path";
import { pathFor } from "../testing/path";

const path = pathFor([
  { begin: 0, duration: 10, part: 0, name: "a", at: { pid: 3, tid: 1, event: 0, row: 0, begin: 0, duration: 30 } },
  { begin: 10, duration: 5, part: 1 },
  { begin: 40, duration: 20, part: 0, count: 1200 },
]);

describe("binding path", () => {
  it("finds pieces by time, also where there is none", () => {
    expect([0, 9, 10, 15, 59, 60].map((time) => pieceEndingAfter(path, time))).toEqual([0, 0, 1, 2, 2, 3]);
    expect([0, 12, 15, 39, 40, 60].map((time) => pieceAt(path, time))).toEqual([0, 1, -1, -1, 2, -1]);
    expect([10, 11].map((time) => pieceFrom(path, time))).toEqual([1, -1]);
  });

  it("finds the piece with most time in a window, else the next or the last", () => {
    expect(longestIn(path, { begin: 0, end: 100 })).toBe(2);
    expect(longestIn(path, { begin: 8, end: 42 })).toBe(1);
    expect(longestIn(path, { begin: 20, end: 30 })).toBe(2);
    expect(longestIn(path, { begin: 70, end: 80 })).toBe(2);
  });

  it("says what a piece is in", () => {
    expect(eventOfPiece(path, 0)).toEqual({ pid: 3, tid: 1, event: 0, name: "a", begin: 0, duration: 30, count: 1, row: 0 });
    expect([1, 2].map((piece) => eventOfPiece(path, piece))).toEqual([null, null]);
    expect([0, 1, 2].map((piece) => pieceOf(path, piece).where)).toEqual(["a", "no event", "1,200 short pieces: zoom in to see each"]);
    expect(pieceOf(path, 0)).toMatchObject({ part: "Ops", begin: 0, duration: 10, end: 10, known: true });
  });

  it("is in the part of an event that lies within the piece", () => {
    expect(onPath(path, 0)).toEqual({ pid: 3, tid: 1, row: 0, begin: 0, duration: 10 });
    expect(onPath(path, 1)).toBeNull();
    const late = pathFor([
      { begin: 0, duration: 10, part: 0, name: "a", at: { pid: 3, tid: 1, event: 0, row: 0, begin: 20, duration: 5 } },
    ]);
    expect(onPath(late, 0)).toBeNull();
  });
});
