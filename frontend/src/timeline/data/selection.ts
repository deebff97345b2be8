// The selection: events with a reference that survives reloads, and their summary per name.
import type { EventRef, Trace } from "./trace";
import { boxName, firstEndingAt, trackOfBox } from "./trace";
import type { BoxIndex, Ps, Span, TrackIndex } from "./units";

/** Each costs a pass over the boxes. */
const MOST_FOUND = 100;

/** A selected box; it survives a reload of the data, which renumbers boxes. */
export interface SelectedEvent extends EventRef {
  /** null for a merged block. */
  readonly name: string | null;
  readonly begin: Ps;
  readonly duration: Ps;
  readonly count: number;
  readonly row: number;
}

/** A selected rectangle: rows of tracks within a window. */
export interface SelectedArea {
  readonly window: Span;
  readonly tracks: readonly AreaTrack[];
  /** Only events of this name; null for all. */
  readonly name: string | null;
}

/** Rows `first` to `last`, inclusive, of a track. */
interface AreaTrack {
  readonly pid: number;
  readonly tid: number;
  readonly first: number;
  readonly last: number;
}

/** Totals of the selected events of one name. */
export interface Summary {
  readonly name: string;
  readonly count: number;
  /** Sum of the durations. */
  readonly wall: Ps;
  /** Sum of the self times, without direct children; null if the children are unknown. */
  readonly self: Ps | null;
  readonly average: Ps;
  readonly min: Ps;
  readonly max: Ps;
}

/** The event (or merged block) of a box. */
export function eventOfBox(trace: Trace, box: BoxIndex): SelectedEvent {
  const track = trace.tracks[trackOfBox(trace, box)]!;
  return {
    pid: track.pid,
    tid: track.tid,
    event: trace.event[box]!,
    name: boxName(trace, box),
    begin: trace.begin[box]!,
    duration: trace.duration[box]!,
    count: trace.count[box]!,
    row: trace.row[box]!,
  };
}

/** The same events in another answer about the trace, where rows and numbers may differ; without those that are no boxes there. */
export function foundAgain(trace: Trace, selection: readonly SelectedEvent[]): SelectedEvent[] {
  return selection.slice(0, MOST_FOUND).flatMap((event) => foundIn(trace, event) ?? []);
}

function foundIn(trace: Trace, event: SelectedEvent): SelectedEvent | null {
  for (let box = 0; box < trace.begin.length; box++) {
    if (trace.begin[box] !== event.begin || trace.duration[box] !== event.duration) continue;
    const other = eventOfBox(trace, box);
    if (other.pid === event.pid && other.name === event.name && other.count === event.count) return other;
  }
  return null;
}

/** Whether two selected events refer to the same box. */
export function sameEvent(a: SelectedEvent, b: SelectedEvent): boolean {
  return a.pid === b.pid && a.tid === b.tid && a.event === b.event && a.count === b.count;
}

/** The selection with each of `events` added, or removed if it was selected already. */
export function toggled(selection: readonly SelectedEvent[], events: readonly SelectedEvent[]): SelectedEvent[] {
  const key = (p: SelectedEvent): string => `${p.pid}.${p.tid}.${p.event}.${p.count}`;
  const merged = new Map(selection.map((p) => [key(p), p]));
  for (const p of events) {
    if (!merged.delete(key(p))) merged.set(key(p), p);
  }
  return [...merged.values()];
}

/** From the first begin to the last end; null for an empty selection. */
export function extent(selection: readonly SelectedEvent[]): Span | null {
  if (selection.length === 0) return null;
  let begin = Infinity;
  let end = -Infinity;
  for (const p of selection) {
    begin = Math.min(begin, p.begin);
    end = Math.max(end, p.begin + p.duration);
  }
  return { begin, end };
}

/** Count and times per name, longest first. Merged blocks are omitted: see `mergedCount`. */
export function summarise(selection: readonly SelectedEvent[], selfTime: (event: SelectedEvent) => Ps | null): Summary[] {
  const sums = new Map<string, { count: number; wall: Ps; self: Ps | null; min: Ps; max: Ps }>();
  for (const event of selection) {
    const { name, duration } = event;
    if (name === null) continue;
    const sum = sums.get(name) ?? { count: 0, wall: 0, self: 0, min: Infinity, max: 0 };
    const eventSelf = sum.self === null ? null : selfTime(event);
    sum.count++;
    sum.wall += duration;
    sum.self = eventSelf === null || sum.self === null ? null : sum.self + eventSelf;
    sum.min = Math.min(sum.min, duration);
    sum.max = Math.max(sum.max, duration);
    sums.set(name, sum);
  }
  return [...sums]
    .map(([name, s]) => ({ name, ...s, average: s.wall / s.count }))
    .sort((a, b) => b.wall - a.wall || (a.name < b.name ? -1 : 1));
}

/** Duration without the events of the row below that lie within it; null where those are not loaded one by one. */
export function selfTimeOf(trace: Trace, track: TrackIndex, event: SelectedEvent): Ps | null {
  const { begin, duration, row } = event;
  const end = begin + duration;
  if (begin < trace.window.begin || end > trace.window.end) return null;
  if (row + 1 >= trace.tracks[track]!.rows) return duration;
  const below = trace.rowBase[track]! + row + 1;
  const last = trace.rowStart[below + 1]!;
  let selfPs = duration;
  for (let box = firstEndingAt(trace, trace.rowStart[below]!, last, begin); box < last && trace.begin[box]! < end; box++) {
    if (trace.begin[box]! < begin) continue;
    if (trace.count[box]! > 1) return null;
    if (trace.begin[box]! + trace.duration[box]! <= end) selfPs -= trace.duration[box]!;
  }
  return selfPs;
}

/** Number of events within the selection's merged blocks. */
export function mergedCount(selection: readonly SelectedEvent[]): number {
  return selection.reduce((sum, p) => sum + (p.name === null ? p.count : 0), 0);
}

/** The name common to all selected events; null if they differ or nothing is selected. */
export function commonName(selection: readonly SelectedEvent[]): string | null {
  const name = selection[0]?.name ?? null;
  return name !== null && selection.every((p) => p.name === name) ? name : null;
}
