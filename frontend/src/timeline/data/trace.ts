// The trace data that the timeline draws: a `format=columns` response, validated and indexed by row.

import { column, count, decodeContainer, list, needColumn, number, PayloadError, record, text } from "./payload";
import type { Container } from "./payload";
import type { BoxIndex, Ps, SectionIndex, Span, TrackIndex } from "./units";

/** One process: a device or a host plane. Its tracks are `trackBegin:trackEnd`. */
export interface Section {
  readonly pid: number;
  /** Of the plane in the file. */
  readonly name: string;
  /** The displayed name. */
  readonly title: string;
  readonly host: string;
  readonly trackBegin: TrackIndex;
  readonly trackEnd: TrackIndex;
}

type TrackKind = "events" | "counter" | "async";

/** One line of a process. `rows` is its nesting depth over the whole trace. */
export interface Track {
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly rows: number;
  readonly events: number;
  readonly kind: TrackKind;
  readonly section: SectionIndex;
  /** Unit of a counter; empty for other kinds. */
  readonly unit: string;
  /** The main thread of a program. */
  readonly main: boolean;
  /** Range of a counter over the whole trace; null if the server does not send it. */
  readonly range: readonly [number, number] | null;
}

/** Samples of counter tracks; a sample is in force until the next one. */
export interface Counters {
  /** u32[tracks + 1]: samples of track t are start[t]:start[t + 1], by time. */
  readonly start: Uint32Array;
  readonly begin: Float64Array;
  /** Largest value when several samples were merged. */
  readonly value: Float64Array;
  /** Smallest value when several samples were merged. */
  readonly low: Float64Array;
}

/** Steps for the ruler: disjoint, by time. */
export interface Steps {
  readonly begin: Float64Array;
  readonly duration: Float64Array;
  readonly name: Uint32Array;
}

/** One response. Box columns are parallel; boxes of a track are sorted by (row, begin). */
export interface Trace {
  /** The recording: begins at 0 unless its start is unknown. */
  readonly full: Span;
  readonly window: Span;
  /** Resolution that the server used: pixel columns across the window. */
  readonly resolution: number;
  readonly totalEvents: number;
  readonly mergedEvents: number;
  /** No finer boxes of it exist, as in a saved report. */
  readonly finest: boolean;
  readonly truncated: boolean;
  /** Recorded lines only, because the server is still reading the rest of a large profile. */
  readonly partial: boolean;
  readonly sections: readonly Section[];
  readonly tracks: readonly Track[];
  readonly strings: readonly string[];
  readonly trackStart: Uint32Array;
  readonly row: Uint16Array;
  /** Ps, absolute. */
  readonly begin: Float64Array;
  /** Ps; 0 for an instant. */
  readonly duration: Float64Array;
  /** Row of strings; of a merged block the name that fills most of it. */
  readonly name: Uint32Array;
  /** Number of events that a box represents. */
  readonly count: Uint32Array;
  /** Index of the (first) event within its track. */
  readonly event: Uint32Array;
  /** First global row of each track: u32[tracks + 1]. Global row = rowBase[track] + row. */
  readonly rowBase: Uint32Array;
  /** Boxes of global row g are rowStart[g]:rowStart[g + 1]. */
  readonly rowStart: Uint32Array;
  readonly counters: Counters | null;
  readonly steps: Steps | null;
  /** Unix time of ps 0 in ns; null if unknown. */
  readonly originNs: number | null;
}

/** Identifies an event across responses; box indexes change with every response. */
export interface EventRef {
  readonly pid: number;
  readonly tid: number;
  readonly event: number;
}

/** Decodes and validates a `format=columns` response. Throws PayloadError. */
export function decodeTrace(buffer: ArrayBuffer): Trace {
  const container = decodeContainer(buffer);
  const header = container.header;
  const version = number(header.version, "version");
  if (version !== 2) {
    throw new PayloadError(`payload version ${version} does not match this page; reload the page`);
  }
  const sections = list(header.sections, "sections").map(readSection);
  const tracks = readTracks(list(header.tracks, "tracks"), sections);
  const boxes = count(header.boxes, "boxes");
  const trackStart = needColumn(container, "track_start", Uint32Array, tracks.length + 1);
  const row = needColumn(container, "row", Uint16Array, boxes);
  return {
    full: readSpan(header.full_timespan_ps, "full_timespan_ps"),
    window: readSpan(header.window_ps, "window_ps"),
    resolution: number(header.resolution, "resolution"),
    totalEvents: count(header.total_events, "total_events"),
    mergedEvents: count(header.merged_events ?? 0, "merged_events"),
    finest: header.finest === true,
    truncated: header.truncated === true,
    partial: header.partial === true,
    sections,
    tracks,
    strings: list(header.strings, "strings").map(String),
    trackStart,
    row,
    begin: needColumn(container, "begin_ps", Float64Array, boxes),
    duration: needColumn(container, "duration_ps", Float64Array, boxes),
    name: needColumn(container, "name", Uint32Array, boxes),
    count: needColumn(container, "count", Uint32Array, boxes),
    event: needColumn(container, "event", Uint32Array, boxes),
    ...indexRows(tracks, trackStart, row),
    counters: readCounters(container, tracks.length),
    steps: readSteps(container),
    originNs: typeof header.time_origin_ns === "number" ? header.time_origin_ns : null,
  };
}

function readSpan(value: unknown, what: string): Span {
  const [begin, end] = list(value, what);
  const span = { begin: number(begin, what), end: number(end, what) };
  if (span.end < span.begin) {
    throw new PayloadError(`${what} ends before it begins`);
  }
  return span;
}

function readSection(value: unknown): Section {
  const entry = record(value, "section");
  return {
    pid: number(entry.pid, "pid"),
    name: text(entry.name),
    title: text(entry.title ?? entry.name),
    host: text(entry.host),
    trackBegin: count(entry.track_begin, "track_begin"),
    trackEnd: count(entry.track_end, "track_end"),
  };
}

function readTracks(values: unknown[], sections: readonly Section[]): Track[] {
  const owner = new Int32Array(values.length);
  sections.forEach((section, index) => {
    if (section.trackBegin > section.trackEnd || section.trackEnd > values.length) {
      throw new PayloadError(`section ${section.name} points past the tracks`);
    }
    owner.fill(index, section.trackBegin, section.trackEnd);
  });
  return values.map((value, index) => readTrack(value, owner[index] ?? 0));
}

function readTrack(value: unknown, section: SectionIndex): Track {
  const entry = record(value, "track");
  const kind = entry.kind === "counter" || entry.kind === "async" ? entry.kind : "events";
  const hasRange = typeof entry.min === "number" && typeof entry.max === "number";
  return {
    pid: number(entry.pid, "pid"),
    tid: number(entry.tid, "tid"),
    name: text(entry.title ?? entry.name),
    rows: Math.max(1, count(entry.rows, "rows")),
    events: count(entry.events, "events"),
    kind,
    section,
    unit: typeof entry.unit === "string" ? entry.unit : "",
    main: entry.main === true,
    range: hasRange ? [entry.min as number, entry.max as number] : null,
  };
}

/** First box of each row; also validates row numbers and the order of boxes. */
function indexRows(tracks: readonly Track[], trackStart: Uint32Array, row: Uint16Array): { rowBase: Uint32Array; rowStart: Uint32Array } {
  const rowBase = new Uint32Array(tracks.length + 1);
  tracks.forEach((track, t) => (rowBase[t + 1] = rowBase[t]! + track.rows));
  const rowStart = new Uint32Array(rowBase[tracks.length]! + 1);
  for (let t = 0; t < tracks.length; t++) {
    const end = trackStart[t + 1]!;
    let box = trackStart[t]!;
    if (box > end || end > row.length) {
      throw new PayloadError(`boxes of track ${t} reach past the end`);
    }
    for (let r = 0; r < tracks[t]!.rows; r++) {
      rowStart[rowBase[t]! + r] = box;
      while (box < end && row[box] === r) {
        box++;
      }
    }
    if (box !== end) {
      throw new PayloadError(`boxes of track ${t} are not sorted by row, or lie below its last row`);
    }
  }
  rowStart[rowStart.length - 1] = row.length;
  return { rowBase, rowStart };
}

function readCounters(container: Container, tracks: number): Counters | null {
  const begin = column(container, "counter_begin_ps", Float64Array);
  if (begin === null) {
    return null;
  }
  const value = needColumn(container, "counter_value", Float64Array, begin.length);
  return {
    start: needColumn(container, "counter_start", Uint32Array, tracks + 1),
    begin,
    value,
    low: column(container, "counter_low", Float64Array) ?? value,
  };
}

function readSteps(container: Container): Steps | null {
  const begin = column(container, "step_begin_ps", Float64Array);
  if (begin === null || begin.length === 0) {
    return null;
  }
  return {
    begin,
    duration: needColumn(container, "step_duration_ps", Float64Array, begin.length),
    name: needColumn(container, "step_name", Uint32Array, begin.length),
  };
}

/** Key of a track, stable across responses: "pid.tid". */
export function trackKey(track: { readonly pid: number; readonly tid: number }): string {
  return `${track.pid}.${track.tid}`;
}

/** Track index by "pid.tid". */
export function tracksByKey(trace: Trace): Map<string, TrackIndex> {
  return new Map(trace.tracks.map((track, t) => [trackKey(track), t]));
}

/** Name of a section, including its host when the trace has several. */
export function sectionTitle(trace: Trace, index: SectionIndex): string {
  const section = trace.sections[index];
  if (section === undefined) return "";
  const several = trace.sections.some((other) => other.host !== section.host);
  return several && section.host && !section.name.includes(section.host) ? `${section.host} ${section.title}` : section.title;
}

/** Name of a box; null for a merged block. */
export function boxName(trace: Trace, box: BoxIndex): string | null {
  return trace.count[box]! > 1 ? null : (trace.strings[trace.name[box]!] ?? "");
}

/** Whether a section is a device: an accelerator, not the host. */
export function isDevice(section: Section): boolean {
  return section.name.startsWith("/device:");
}

/** Number of events (or samples) of a section. */
export function sectionEvents(trace: Trace, section: Section): number {
  let sum = 0;
  for (let t = section.trackBegin; t < section.trackEnd; t++) sum += trace.tracks[t]!.events;
  return sum;
}

/** Track of a box, by binary search. */
export function trackOfBox(trace: Trace, box: BoxIndex): TrackIndex {
  let low = 0;
  let high = trace.tracks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (trace.trackStart[middle]! <= box) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/** First box of begin:end whose end is at or after `time` (boxes of one row, hence disjoint). */
export function firstEndingAt(trace: Trace, begin: BoxIndex, end: BoxIndex, time: Ps): BoxIndex {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (trace.begin[middle]! + trace.duration[middle]! < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** First box of begin:end that begins after `time` (boxes of one row). */
export function firstBeginningAfter(trace: Trace, begin: BoxIndex, end: BoxIndex, time: Ps): BoxIndex {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (trace.begin[middle]! <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Whether two traces have the same sections and tracks, so that they can share an arrangement. */
export function sameTracks(a: Trace, b: Trace): boolean {
  return (
    a.tracks.length === b.tracks.length &&
    a.sections.length === b.sections.length &&
    (a.steps === null) === (b.steps === null) &&
    a.tracks.every((track, t) => track.rows === b.tracks[t]!.rows && trackKey(track) === trackKey(b.tracks[t]!))
  );
}
