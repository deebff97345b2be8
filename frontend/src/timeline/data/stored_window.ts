// What a server answers about events, made of the boxes of one window and of the events that are stored with it.
import { encodeContainer } from "./payload";
import { boxName, trackKey, trackOfBox } from "./trace";
import type { Trace } from "./trace";

const PS_PER_MS = 1e9;

export interface StoredWindow {
  readonly trace: Trace;
  /** Stored events by `PID.TID.EVENT`: the longest of every name, and the longest of all. */
  readonly details: Readonly<Record<string, { readonly args: readonly { readonly value: unknown }[] }>>;
}

/** One event: as a server gives it if it is stored, else what its box shows; null for one outside of the window. */
export function storedEvent({ trace, details }: StoredWindow, params: URLSearchParams): object | null {
  const track = trace.tracks.findIndex((one) => trackKey(one) === `${params.get("pid")}.${params.get("tid")}`);
  const number = Number(params.get("event"));
  const stored = details[`${params.get("pid")}.${params.get("tid")}.${number}`];
  if (stored) return stored;
  const box = trace.event.subarray(0, trace.trackStart[track + 1]).indexOf(number, trace.trackStart[track]);
  const at = trace.tracks[track];
  if (!at || box < 0) return null;
  return {
    name: trace.strings[trace.name[box]!] ?? "",
    section: trace.sections[at.section]?.name ?? "",
    track: at.name,
    pid: at.pid,
    tid: at.tid,
    begin_ps: trace.begin[box]!,
    duration_ps: trace.duration[box]!,
    row: trace.row[box]!,
    args: [{ key: "arguments", value: "only of the longest events in a saved report", kind: "text" }],
  };
}

/** The events by name, or by an argument where arguments are stored; blocks of merged events have no names. */
export function searchHits({ trace, details }: StoredWindow, params: URLSearchParams): Uint8Array<ArrayBuffer> {
  const matches = matcher(params.get("query") ?? "", params.has("regex"), params.has("case"));
  const named = trace.strings.map(matches);
  const inArgs = new Set<string>();
  if (params.has("args")) {
    for (const [key, { args }] of Object.entries(details)) if (args.some(({ value }) => matches(String(value)))) inArgs.add(key);
  }
  const wanted = (box: number): boolean => {
    if (boxName(trace, box) === null) return false;
    if (named[trace.name[box]!]) return true;
    return inArgs.size > 0 && inArgs.has(`${trackKey(trace.tracks[trackOfBox(trace, box)]!)}.${trace.event[box]}`);
  };
  const all = Array.from(trace.begin.keys()).filter(wanted);
  const found = all.sort((a, b) => trace.begin[a]! - trace.begin[b]!).slice(0, Number(params.get("limit") ?? all.length));
  return encodeContainer(
    { total_hits: all.length, strings: trace.strings },
    {
      track: Uint32Array.from(found, (box) => trackOfBox(trace, box)),
      row: Uint16Array.from(found, (box) => trace.row[box]!),
      begin_ps: Float64Array.from(found, (box) => trace.begin[box]!),
      duration_ps: Float64Array.from(found, (box) => trace.duration[box]!),
      name: Uint32Array.from(found, (box) => trace.name[box]!),
      event: Uint32Array.from(found, (box) => trace.event[box]!),
    },
  );
}

function matcher(query: string, regex: boolean, matchCase: boolean): (text: string) => boolean {
  if (regex) {
    try {
      const pattern = new RegExp(query, matchCase ? "u" : "iu");
      return (text) => pattern.test(text);
    } catch {
      return () => false;
    }
  }
  const folded = (text: string): string => (matchCase ? text : text.toLowerCase());
  return (text) => folded(text).includes(folded(query));
}

interface Sum {
  name: string;
  count: number;
  wall_ps: number;
  self_ps: number;
  min_ps: number;
  max_ps: number;
}

/** Sums per name over the events of some rows that touch a window, each event whole; children are those of the row below within an event. */
export function nameSums({ trace }: StoredWindow, params: URLSearchParams): unknown {
  const [begin, end] = [Number(params.get("start_time_ms")) * PS_PER_MS, Number(params.get("end_time_ms")) * PS_PER_MS];
  const byName = new Map<string, Sum>();
  for (const area of (params.get("areas") ?? "").split(",")) {
    const [pid, tid, first, last] = area.split(".").map(Number);
    const track = trace.tracks.findIndex((one) => one.pid === pid && one.tid === tid);
    for (let row = first ?? 0; track >= 0 && row <= Math.min(last ?? 0, trace.tracks[track]!.rows - 1); row++) {
      addRow(trace, trace.rowBase[track]! + row, row + 1 < trace.tracks[track]!.rows, begin, end, byName);
    }
  }
  const rows = [...byName.values()].sort((a, b) => b.wall_ps - a.wall_ps || (a.name < b.name ? -1 : 1));
  const total = (of: (one: Sum) => number): number => rows.reduce((sum, one) => sum + of(one), 0);
  return { window_ps: [begin, end], events: total((one) => one.count), self_ps: total((one) => one.self_ps), names: rows.length, rows };
}

function addRow(trace: Trace, row: number, parent: boolean, begin: number, end: number, byName: Map<string, Sum>): void {
  let child = trace.rowStart[row + 1]!;
  const lastChild = parent ? trace.rowStart[row + 2]! : child;
  for (let box = trace.rowStart[row]!; box < trace.rowStart[row + 1]!; box++) {
    const [from, wall] = [trace.begin[box]!, trace.duration[box]!];
    const until = from + wall;
    if (until < begin || from > end) continue;
    let own = wall;
    while (child < lastChild && trace.begin[child]! < from) child++;
    for (; child < lastChild && trace.begin[child]! < until; child++) {
      if (trace.begin[child]! + trace.duration[child]! <= until) own -= trace.duration[child]!;
    }
    const name = boxName(trace, box) ?? "(merged events)";
    const sum = byName.get(name) ?? { name, count: 0, wall_ps: 0, self_ps: 0, min_ps: Infinity, max_ps: 0 };
    byName.set(name, {
      name,
      count: sum.count + trace.count[box]!,
      wall_ps: sum.wall_ps + wall,
      self_ps: sum.self_ps + Math.max(own, 0),
      min_ps: Math.min(sum.min_ps, wall),
      max_ps: Math.max(sum.max_ps, wall),
    });
  }
}
