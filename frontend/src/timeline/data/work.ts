// Where devices work: the window of the first view, and the busy share over time for the minimap.
import { isDevice } from "./trace";
import type { Section, Trace } from "./trace";
import type { Ps, Span } from "./units";

/** A pause longer than this share of what is shown ends the work: the side with more work remains. */
const PAUSE = 0.5;
/** Work that takes at least this share of the recording is shown within the whole. */
const LARGE = 0.5;
/** Space on both sides of the work, as a share of its length. */
const ROOM = 0.05;
/** A window around a moment is at least this share of the recording, and grows until an event is in it. */
const AROUND = 0.001;
const MIN_AROUND: Ps = 2e9;

/** Calls back with begin and end of every outermost box of a section's tracks. */
function eachBox(trace: Trace, section: Section, visit: (begin: Ps, end: Ps) => void): void {
  for (let t = section.trackBegin; t < section.trackEnd; t++) {
    const row = trace.rowBase[t]!;
    for (let box = trace.rowStart[row]!; box < trace.rowStart[row + 1]!; box++) {
      visit(trace.begin[box]!, trace.begin[box]! + trace.duration[box]!);
    }
  }
}

/** Times at which at least one device works: disjoint, ascending. */
export function deviceWork(trace: Trace): Span[] {
  const boxes: Span[] = [];
  for (const section of trace.sections) {
    if (isDevice(section)) eachBox(trace, section, (begin, end) => boxes.push({ begin, end }));
  }
  boxes.sort((a, b) => a.begin - b.begin);
  const work: { begin: Ps; end: Ps }[] = [];
  for (const { begin, end } of boxes) {
    const last = work[work.length - 1];
    if (last && begin <= last.end) last.end = Math.max(last.end, end);
    else work.push({ begin, end });
  }
  return work;
}

/** The window in which the devices work, if that is a small part of the recording; else null. */
export function firstView(trace: Trace): Span | null {
  let work = deviceWork(trace);
  for (;;) {
    const cut = longestPause(work);
    if (cut === 0) break;
    const [before, after] = [work.slice(0, cut), work.slice(cut)];
    work = busy(before) > busy(after) ? before : after;
  }
  const [first, last] = [work[0], work[work.length - 1]];
  if (!first || !last) return null;
  const room = Math.max((last.end - first.begin) * ROOM, 1);
  const { full } = trace;
  const view = { begin: Math.max(first.begin - room, full.begin), end: Math.min(last.end + room, full.end) };
  return view.end - view.begin < LARGE * (full.end - full.begin) ? view : null;
}

/** Index of the span behind a pause that is longer than PAUSE of the whole; 0 without one. */
function longestPause(work: readonly Span[]): number {
  let longest = PAUSE * ((work[work.length - 1]?.end ?? 0) - (work[0]?.begin ?? 0));
  let pauseIndex = 0;
  for (let i = 1; i < work.length; i++) {
    const pause = work[i]!.begin - work[i - 1]!.end;
    if (pause <= longest) continue;
    longest = pause;
    pauseIndex = i;
  }
  return pauseIndex;
}

function busy(work: readonly Span[]): Ps {
  return work.reduce((sum, { begin, end }) => sum + end - begin, 0);
}

/** A window around a moment in which there is an event. */
export function windowAround(trace: Trace, at: Ps): Span {
  const { begin, end } = trace.full;
  const length = end - begin;
  const around = (room: Ps): Span => ({ begin: at - room, end: at + room });
  let nearest = Infinity;
  for (const section of trace.sections) {
    eachBox(trace, section, (from, to) => (nearest = Math.min(nearest, Math.max(from - at, at - to, 0))));
  }
  const least = Math.max(MIN_AROUND, length * AROUND) / 2;
  return around(Math.max(least, nearest === Infinity ? 0 : nearest * 1.25));
}

/** Busy share (0 to 1) per section and bin: the time covered by outermost events of its tracks, scaled to the busiest bin. */
export function busyBins(trace: Trace, bins: number): Float32Array[] {
  return trace.sections.map((section) => {
    const sums = new Float32Array(bins);
    const perBin = binLength(trace, bins);
    eachBox(trace, section, (begin, end) => spread(sums, (begin - trace.full.begin) / perBin, (end - begin) / perBin));
    const most = Math.max(...sums, 1e-9);
    // scaled to the section's busiest bin: the minimap shows when it is busy, not how much
    return sums.map((sum) => sum / most);
  });
}

/** Share (0 to 1) of every bin in which at least one device works. */
export function workBins(trace: Trace, bins: number): Float32Array {
  const shares = new Float32Array(bins);
  const perBin = binLength(trace, bins);
  for (const { begin, end } of deviceWork(trace)) spread(shares, (begin - trace.full.begin) / perBin, (end - begin) / perBin);
  return shares.map((share) => Math.min(share, 1));
}

const binLength = ({ full }: Trace, bins: number): Ps => Math.max(full.end - full.begin, 1) / bins;

/** Distributes an interval (in bins) over the bins that it covers. */
function spread(sums: Float32Array, from: number, length: number): void {
  const to = from + Math.max(length, 1e-3);
  for (let bin = Math.max(0, Math.floor(from)); bin < Math.min(sums.length, to); bin++) {
    sums[bin]! += Math.min(bin + 1, to) - Math.max(bin, from);
  }
}
