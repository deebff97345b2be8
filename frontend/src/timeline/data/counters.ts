// Counter tracks: the value at a time and the maximum.
import type { Counters, Trace } from "./trace";
import type { TrackIndex } from "./units";

/** Largest value of a counter: the maximum sent by the server, else that of the loaded samples. */
export function counterMax(trace: Trace, track: TrackIndex): number {
  const range = trace.tracks[track]!.range;
  if (range !== null) return Math.max(range[1], 0);
  const counters = trace.counters;
  if (counters === null) return 0;
  let max = 0;
  for (let i = counters.start[track]!; i < counters.start[track + 1]!; i++) {
    max = Math.max(max, counters.value[i]! || 0);
  }
  return max;
}

/** Upper end of a counter's axis as drawn: shares of a hundred percent are comparable between tracks. */
export function axisEnd(trace: Trace, track: TrackIndex): number {
  const max = counterMax(trace, track);
  return max > 0 && trace.tracks[track]!.unit === "percent" ? Math.max(max, 100) : max;
}

/** Index of the sample in force at `time`, -1 before the first one. */
export function sampleAt(counters: Counters, track: TrackIndex, time: number): number {
  let low = counters.start[track]!;
  let high = counters.start[track + 1]!;
  const first = low;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (counters.begin[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low === first ? -1 : low - 1;
}
