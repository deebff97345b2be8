// Synthetic responses in the binary layout, for tests.

/** Specification of one box. */
export interface BoxSpec {
  readonly row?: number;
  readonly begin: number;
  readonly duration: number;
  /** Of a merged block the name that fills most of it, "" if absent. */
  readonly name?: string;
  readonly count?: number;
  readonly event?: number;
}

export interface TrackSpec {
  readonly tid: number;
  readonly name: string;
  readonly kind?: "events" | "counter" | "async";
  readonly main?: boolean;
  readonly rows?: number;
  readonly unit?: string;
  readonly boxes?: readonly BoxSpec[];
  /** [begin, value] pairs of a counter. */
  readonly samples?: readonly (readonly [number, number])[];
}

export interface SectionSpec {
  readonly pid: number;
  readonly name: string;
  readonly host?: string;
  readonly tracks: readonly TrackSpec[];
}

export interface TraceSpec {
  readonly sections: readonly SectionSpec[];
  readonly full?: readonly [number, number];
  readonly window?: readonly [number, number];
  readonly resolution?: number;
  readonly partial?: boolean;
  readonly steps?: readonly (readonly [number, number, string])[];
}

type Columns = Record<string, Float64Array | Uint32Array | Uint16Array>;

const TYPE_NAMES = new Map<unknown, string>([
  [Float64Array, "f64"],
  [Uint32Array, "u32"],
  [Uint16Array, "u16"],
]);

/** Packs a header and columns as the server does. */
export function encodeContainer(header: Record<string, unknown>, columns: Columns): ArrayBuffer {
  const arrays: Record<string, { type: string; offset: number; length: number }> = {};
  let offset = 0;
  for (const [name, column] of Object.entries(columns)) {
    arrays[name] = { type: TYPE_NAMES.get(column.constructor)!, offset, length: column.length };
    offset += Math.ceil(column.byteLength / 8) * 8;
  }
  let text = JSON.stringify({ ...header, arrays });
  const bytes = new TextEncoder().encode(text);
  text += " ".repeat((8 - (bytes.length % 8)) % 8);
  const head = new TextEncoder().encode(text);
  const buffer = new ArrayBuffer(8 + head.length + offset);
  const view = new DataView(buffer);
  view.setUint32(0, 0x31435054, true);
  view.setUint32(4, head.length, true);
  const all = new Uint8Array(buffer);
  all.set(head, 8);
  for (const [name, column] of Object.entries(columns)) {
    all.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), 8 + head.length + arrays[name]!.offset);
  }
  return buffer;
}

/** Encodes a `format=columns` response from a specification. */
export function encodeTrace(spec: TraceSpec): ArrayBuffer {
  const tracks = spec.sections.flatMap((section) => section.tracks.map((track) => ({ ...track, pid: section.pid })));
  const strings = new Map<string, number>();
  const intern = (name: string): number => {
    if (!strings.has(name)) strings.set(name, strings.size);
    return strings.get(name)!;
  };
  const sorted = tracks.map((track) => [...(track.boxes ?? [])].sort((a, b) => (a.row ?? 0) - (b.row ?? 0) || a.begin - b.begin));
  const boxes = sorted.flat();
  const names = boxes.map((b) => intern(b.name ?? ""));
  const ends = boxes.map((b) => b.begin + b.duration);
  const full = spec.full ?? [Math.min(0, ...boxes.map((b) => b.begin)), ends.reduce((a, b) => Math.max(a, b), 0)];
  const count = boxes.map((b) => b.count ?? 1);
  const stepNames = (spec.steps ?? []).map(([, , name]) => intern(name));
  const columns: Columns = {
    track_start: starts(sorted.map((list) => list.length)),
    row: Uint16Array.from(boxes, (b) => b.row ?? 0),
    begin_ps: Float64Array.from(boxes, (b) => b.begin),
    duration_ps: Float64Array.from(boxes, (b) => b.duration),
    name: Uint32Array.from(names),
    count: Uint32Array.from(count),
    event: Uint32Array.from(boxes, (b, i) => b.event ?? i),
    ...counterColumns(tracks),
    ...(spec.steps
      ? {
          step_begin_ps: Float64Array.from(spec.steps, (s) => s[0]),
          step_duration_ps: Float64Array.from(spec.steps, (s) => s[1]),
          step_name: Uint32Array.from(stepNames),
        }
      : {}),
  };
  return encodeContainer(header(spec, tracks, sorted, full, count, [...strings.keys()]), columns);
}

function header(
  spec: TraceSpec,
  tracks: readonly (TrackSpec & { readonly pid: number })[],
  sorted: readonly (readonly BoxSpec[])[],
  full: readonly [number, number] | readonly number[],
  count: readonly number[],
  strings: readonly string[],
): Record<string, unknown> {
  let begin = 0;
  return {
    version: 2,
    full_timespan_ps: full,
    window_ps: spec.window ?? full,
    resolution: spec.resolution ?? 2000,
    total_events: count.reduce((a, b) => a + b, 0),
    boxes: count.length,
    merged_events: count.reduce((sum, n) => sum + (n > 1 ? n : 0), 0),
    truncated: false,
    ...(spec.partial ? { partial: true } : {}),
    sections: spec.sections.map((section) => ({
      pid: section.pid,
      name: section.name,
      host: section.host ?? "",
      sort_index: section.pid,
      track_begin: begin,
      track_end: (begin += section.tracks.length),
    })),
    tracks: tracks.map((track, t) => ({
      pid: track.pid,
      tid: track.tid,
      name: track.name,
      sort_index: track.tid,
      kind: track.kind ?? "events",
      rows: track.rows ?? Math.max(1, ...sorted[t]!.map((b) => (b.row ?? 0) + 1)),
      events: sorted[t]!.reduce((sum, b) => sum + (b.count ?? 1), track.samples?.length ?? 0),
      ...(track.main ? { main: true } : {}),
      ...(track.unit === undefined ? {} : { unit: track.unit }),
    })),
    strings,
  };
}

function counterColumns(tracks: readonly TrackSpec[]): Columns {
  const samples = tracks.flatMap((track) => track.samples ?? []);
  if (samples.length === 0) return {};
  return {
    counter_start: starts(tracks.map((track) => track.samples?.length ?? 0)),
    counter_begin_ps: Float64Array.from(samples, (s) => s[0]),
    counter_value: Float64Array.from(samples, (s) => s[1]),
    counter_low: Float64Array.from(samples, (s) => s[1]),
  };
}

function starts(lengths: readonly number[]): Uint32Array {
  const out = new Uint32Array(lengths.length + 1);
  lengths.forEach((length, i) => (out[i + 1] = out[i]! + length));
  return out;
}
