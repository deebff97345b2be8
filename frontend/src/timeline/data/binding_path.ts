// The binding path of a device: pieces of time and the events that they are in, as columns ordered by begin.
import type { Theme } from "../../base/colour";
import type { SelectedEvent } from "./selection";
import type { Ps, Span } from "./units";

/** A part of the time budget that pieces are of. */
export interface PathPart {
  readonly id: string;
  readonly name: string;
  /** Sum of its pieces. */
  readonly ps: Ps;
  readonly fill: Readonly<Record<Theme, string>>;
  readonly striped: boolean;
}

export interface BindingPath {
  readonly device: string;
  readonly devices: readonly string[];
  /** The window that was asked for: pieces that overlap it are here, whole. */
  readonly window: Span;
  readonly parts: readonly PathPart[];
  readonly steps: readonly { readonly name: string; readonly begin: Ps; readonly duration: Ps }[];
  readonly names: readonly string[];
  readonly length: number;
  readonly begin: Float64Array;
  readonly duration: Float64Array;
  /** Index into `parts`. */
  readonly part: Uint16Array;
  /** How many pieces it stands for. */
  readonly count: Uint32Array;
  /** Index into `names`, -1 without an event. */
  readonly name: Int32Array;
  /** The event; -1 in all columns without one that is shown. */
  readonly pid: Int32Array;
  readonly tid: Float64Array;
  readonly event: Float64Array;
  readonly row: Int32Array;
  readonly eventBegin: Float64Array;
  readonly eventDuration: Float64Array;
}

/** Index of a piece. */
export type PieceIndex = number;

/** The first piece that ends after a time; the number of pieces if none does. */
export function pieceEndingAfter(path: BindingPath, time: Ps): PieceIndex {
  let low = 0;
  let high = path.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (path.begin[middle]! + path.duration[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The piece at a time, -1 between steps. */
export function pieceAt(path: BindingPath, time: Ps): PieceIndex {
  const piece = pieceEndingAfter(path, time);
  return piece < path.length && path.begin[piece]! <= time ? piece : -1;
}

/** The piece that begins at a time in an answer that may have others before it, -1 if there is none. */
export function pieceFrom(path: BindingPath, begin: Ps): PieceIndex {
  const piece = pieceAt(path, begin);
  return piece >= 0 && path.begin[piece] === begin ? piece : -1;
}

/** The piece with most time in a window, the first of several; that after the window, or the last, if there is none in it. */
export function longestIn(path: BindingPath, { begin, end }: Span): PieceIndex {
  const first = Math.min(pieceEndingAfter(path, begin), path.length - 1);
  let longest = first;
  let most = 0;
  for (let i = first; i < path.length && path.begin[i]! < end; i++) {
    const inside = Math.min(path.begin[i]! + path.duration[i]!, end) - Math.max(path.begin[i]!, begin);
    if (inside > most) [longest, most] = [i, inside];
  }
  return longest;
}

/** The event of a piece; null without one that is shown. */
export function eventOfPiece(path: BindingPath, piece: PieceIndex): SelectedEvent | null {
  if (path.tid[piece] === undefined || path.tid[piece] < 0) return null;
  return {
    pid: path.pid[piece]!,
    tid: path.tid[piece],
    event: path.event[piece]!,
    name: path.names[path.name[piece]!] ?? "",
    begin: path.eventBegin[piece]!,
    duration: path.eventDuration[piece]!,
    count: 1,
    row: path.row[piece]!,
  };
}

/** The part of a piece's event that is on the path; null if that is nothing, or the event is not shown. */
export function onPath(path: BindingPath, piece: PieceIndex): Omit<SelectedEvent, "event" | "name" | "count"> | null {
  if (path.tid[piece]! < 0) return null;
  const begin = Math.max(path.begin[piece]!, path.eventBegin[piece]!);
  const end = Math.min(path.begin[piece]! + path.duration[piece]!, path.eventBegin[piece]! + path.eventDuration[piece]!);
  if (end <= begin) return null;
  return { pid: path.pid[piece]!, tid: path.tid[piece]!, row: path.row[piece]!, begin, duration: end - begin };
}

/** One piece. */
export interface Piece {
  readonly begin: Ps;
  readonly duration: Ps;
  readonly end: Ps;
  /** Name of its part. */
  readonly part: string;
  /** Its event, or why there is none; `known`: which of both. */
  readonly where: string;
  readonly known: boolean;
}

/** A piece of a path as one value. */
export function pieceOf(path: BindingPath, piece: PieceIndex): Piece {
  const begin = path.begin[piece]!;
  const duration = path.duration[piece]!;
  const part = path.parts[path.part[piece]!]?.name ?? "";
  return { begin, duration, end: begin + duration, part, where: whereOf(path, piece), known: path.name[piece]! >= 0 };
}

/** What a piece is in: its event, or why there is none. */
function whereOf(path: BindingPath, piece: PieceIndex): string {
  if (path.count[piece]! > 1) return `${path.count[piece]!.toLocaleString("en-US")} short pieces: zoom in to see each`;
  return path.names[path.name[piece]!] ?? "no event";
}
