// Hit testing: the box at a screen point, the boxes in a rectangle, and the neighbours of a box.
import type { TimeScale } from "../../base/time_scale";
import type { Layout, PlacedLane } from "./layout";
import { LaneKind } from "./layout";
import { firstBeginningAfter, firstEndingAt, trackOfBox } from "../data/trace";
import type { Trace } from "../data/trace";
import type { BoxIndex, CssPx, Ps, TrackIndex } from "../data/units";
import { perPs } from "./window";

/** Hit tolerance on both sides of a box. */
const SLOP: CssPx = 3;
/** Largest number of boxes that a rectangle selects. */
const MAX_SELECTED = 100_000;

export interface View {
  readonly trace: Trace;
  readonly layout: Layout;
  readonly placed: readonly PlacedLane[];
  readonly scale: TimeScale;
}

/** A point on a track. */
interface TrackPoint {
  readonly track: TrackIndex;
  readonly row: number;
  readonly time: Ps;
}

/** The lane at a y position; pinned lanes cover the others. */
function laneAt(view: View, y: CssPx): PlacedLane | null {
  for (const placed of view.placed) {
    if (!placed.pinned && y < view.layout.pinnedHeight) continue;
    if (y >= placed.y && y < placed.y + view.layout.height[placed.lane]!) return placed;
  }
  return null;
}

/** Track, row and time at a point; null on a section header or below the last lane. */
export function trackPointAt(view: View, x: CssPx, y: CssPx): TrackPoint | null {
  const placed = laneAt(view, y);
  if (placed === null || view.layout.kind[placed.lane] !== LaneKind.Track) return null;
  const track = view.layout.index[placed.lane]!;
  const row = Math.floor((y - placed.y) / view.layout.rowHeight[placed.lane]!);
  const rows = view.trace.tracks[track]!.rows;
  return { track, row: Math.min(row, rows - 1), time: view.scale.toTime(x) };
}

/** The box at a point, or the nearest one within a few pixels; -1 when there is none. */
export function boxAt(view: View, x: CssPx, y: CssPx): BoxIndex {
  const point = trackPointAt(view, x, y);
  if (point === null || view.trace.tracks[point.track]!.kind === "counter") return -1;
  const { trace, scale } = view;
  const row = trace.rowBase[point.track]! + point.row;
  const to = trace.rowStart[row + 1]!;
  const slop = SLOP / perPs(scale);
  let best = -1;
  let bestDistance = Infinity;
  let box = firstEndingAt(trace, trace.rowStart[row]!, to, point.time - slop);
  for (; box < to && trace.begin[box]! <= point.time + slop; box++) {
    const begin = trace.begin[box]!;
    const end = begin + trace.duration[box]!;
    const distance = Math.max(begin - point.time, point.time - end, 0);
    if (distance < bestDistance) {
      best = box;
      bestDistance = distance;
    }
  }
  return best;
}

/** Rows of tracks between two heights of the screen, without counters. */
export function rowsIn(view: View, y0: CssPx, y1: CssPx): { readonly track: TrackIndex; readonly first: number; readonly last: number }[] {
  const { trace, layout } = view;
  const top = Math.min(y0, y1);
  const bottom = Math.max(y0, y1);
  return view.placed.flatMap((placed) => {
    if (layout.kind[placed.lane] !== LaneKind.Track) return [];
    const track = layout.index[placed.lane]!;
    if (trace.tracks[track]!.kind === "counter") return [];
    const rowHeight = layout.rowHeight[placed.lane]!;
    const first = Math.max(0, Math.floor((top - placed.y) / rowHeight));
    const last = Math.min(trace.tracks[track]!.rows - 1, Math.floor((bottom - placed.y) / rowHeight));
    return first <= last ? [{ track, first, last }] : [];
  });
}

/** Boxes that touch a rectangle of the screen, in column order. */
export function boxesIn(view: View, x0: CssPx, y0: CssPx, x1: CssPx, y1: CssPx): BoxIndex[] {
  const { trace, scale } = view;
  const from = scale.toTime(Math.min(x0, x1));
  const to = scale.toTime(Math.max(x0, x1));
  const hitBoxes: BoxIndex[] = [];
  for (const { track, first, last } of rowsIn(view, y0, y1)) {
    for (let row = first; row <= last; row++) {
      const global = trace.rowBase[track]! + row;
      const end = trace.rowStart[global + 1]!;
      for (let box = firstEndingAt(trace, trace.rowStart[global]!, end, from); box < end; box++) {
        if (trace.begin[box]! > to || hitBoxes.length >= MAX_SELECTED) break;
        hitBoxes.push(box);
      }
    }
  }
  return hitBoxes.sort((a, b) => a - b);
}

export type Direction = "left" | "right" | "up" | "down";

/** The next box from `box` in a direction; `box` itself when there is none. */
export function neighbour(view: View, box: BoxIndex, direction: Direction): BoxIndex {
  const { trace } = view;
  const track = trackOfBox(trace, box);
  const global = trace.rowBase[track]! + trace.row[box]!;
  switch (direction) {
    case "left":
      return box > trace.rowStart[global]! ? box - 1 : box;
    case "right":
      return box + 1 < trace.rowStart[global + 1]! ? box + 1 : box;
    case "up":
    case "down":
      return verticalNeighbour(view, box, track, direction === "up" ? -1 : 1);
  }
}

/** The box nearest in time in the next non-empty row above or below; collapsed lanes are skipped. */
function verticalNeighbour(view: View, box: BoxIndex, track: TrackIndex, step: 1 | -1): BoxIndex {
  const { trace, layout } = view;
  const middle = trace.begin[box]! + trace.duration[box]! / 2;
  const anchor = clampTo(middle, view.scale.begin, view.scale.end, trace, box);
  let lane = laneIndexOf(layout, track);
  let row = trace.row[box]! + step;
  while (lane >= 0 && lane < layout.length) {
    if (layout.kind[lane] === LaneKind.Track) {
      const t = layout.index[lane]!;
      const rows = trace.tracks[t]!.rows;
      if (Number.isNaN(row)) row = step > 0 ? 0 : rows - 1;
      for (; row >= 0 && row < rows; row += step) {
        const nearest = nearestInRow(trace, trace.rowBase[t]! + row, anchor);
        if (nearest >= 0) return nearest;
      }
    }
    lane += step;
    row = Number.NaN;
  }
  return box;
}

/** Clamps to the visible part of a box: the middle of a long one may be off the screen. */
function clampTo(time: Ps, begin: Ps, end: Ps, trace: Trace, box: BoxIndex): Ps {
  const low = Math.max(begin, trace.begin[box]!);
  const high = Math.min(end, trace.begin[box]! + trace.duration[box]!);
  return low <= high ? Math.min(Math.max(time, low), high) : time;
}

function laneIndexOf(layout: Layout, track: TrackIndex): number {
  for (let lane = 0; lane < layout.length; lane++) {
    if (layout.kind[lane] === LaneKind.Track && layout.index[lane] === track) return lane;
  }
  return -1;
}

/** The box of a global row nearest to `time`; -1 in an empty row. */
export function nearestInRow(trace: Trace, global: number, time: Ps): BoxIndex {
  const begin = trace.rowStart[global]!;
  const end = trace.rowStart[global + 1]!;
  if (begin === end) return -1;
  const after = firstBeginningAfter(trace, begin, end, time);
  if (after === begin) return begin;
  if (after === end) return end - 1;
  const before = after - 1;
  const gapBefore = Math.max(0, time - trace.begin[before]! - trace.duration[before]!);
  return gapBefore <= trace.begin[after]! - time ? before : after;
}
