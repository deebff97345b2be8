// Search results: the matching events of the whole trace as columns, and stepping through them.
import { count, decodeContainer, list, needColumn } from "./payload";
import type { Ps, Span } from "./units";

/** Matching events by begin time; `track` indexes the trace's tracks. */
export interface SearchHits {
  /** Number of matches in the trace; may exceed the length of the columns, which the server limits. */
  readonly total: number;
  readonly length: number;
  readonly track: Uint32Array;
  readonly row: Uint16Array;
  readonly begin: Float64Array;
  readonly duration: Float64Array;
  readonly name: Uint32Array;
  readonly event: Uint32Array;
  readonly strings: readonly string[];
}

/** Decodes a `format=search` answer. Throws PayloadError. */
export function decodeSearchHits(buffer: ArrayBuffer): SearchHits {
  const container = decodeContainer(buffer);
  const begin = container.arrays.get("begin_ps");
  const length = begin?.length ?? 0;
  return {
    total: count(container.header.total_hits, "total_hits"),
    length,
    track: needColumn(container, "track", Uint32Array, length),
    row: needColumn(container, "row", Uint16Array, length),
    begin: needColumn(container, "begin_ps", Float64Array, length),
    duration: needColumn(container, "duration_ps", Float64Array, length),
    name: needColumn(container, "name", Uint32Array, length),
    event: needColumn(container, "event", Uint32Array, length),
    strings: list(container.header.strings, "strings").map(String),
  };
}

/** First hit that begins at or after `time`; the length when there is none. */
export function firstHitFrom(hits: SearchHits, time: Ps): number {
  let low = 0;
  let high = hits.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (hits.begin[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The hit after (or before) `current`, wrapping around; from -1 the first at or after `time`. */
export function stepHit(hits: SearchHits, current: number, step: 1 | -1, time: Ps): number {
  if (hits.length === 0) return -1;
  if (current >= 0) return (current + step + hits.length) % hits.length;
  const next = firstHitFrom(hits, time);
  return (step > 0 ? next : next - 1 + hits.length) % hits.length;
}

/** The longest hit, the first of several; -1 without one. */
export function longestHit({ length, duration }: SearchHits): number {
  let best = -1;
  for (let i = 0; i < length; i++) if (best < 0 || duration[i]! > duration[best]!) best = i;
  return best;
}

/** The hit that is nearest to the middle of a window; -1 without one. */
export function hitNear(hits: SearchHits, { begin, end }: Span): number {
  const middle = (begin + end) / 2;
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < hits.length; i++) {
    const since = hits.begin[i]!;
    const away = Math.max(since - middle, middle - since - hits.duration[i]!, 0);
    if (away < least) [best, least] = [i, away];
  }
  return best;
}
