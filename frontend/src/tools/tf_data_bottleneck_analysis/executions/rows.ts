// Rows of the executions chart: the executions of each iterator, overlapping ones on separate lanes. Pure.
import type { TimeScale } from "../../../base/time_scale";
import type { IteratorSpans as Spans } from "../../../base/documents";

export const ROW_PX = 18;
const MAX_LANES = 4;
/** Minimum width of a bar. */
const MIN_PX = 1;

export interface ExecutionRow {
  /** Indexes into the spans, by begin. */
  spans: number[];
  /** Lane of each span. */
  lanes: number[];
  laneCount: number;
}

/** One row per drawn node; `owner` is the row of every node of the run. */
export function executionRows(spans: Spans, owner: readonly number[], rows: number): ExecutionRow[] {
  const packed: ExecutionRow[] = Array.from({ length: rows }, () => ({ spans: [], lanes: [], laneCount: 1 }));
  const order = spans.begin_ps.map((_, i) => i).sort((a, b) => (spans.begin_ps[a] ?? 0) - (spans.begin_ps[b] ?? 0));
  for (const i of order) packed[owner[spans.iterator[i] ?? -1] ?? -1]?.spans.push(i);
  for (const row of packed) pack(row, spans);
  return packed;
}

/** The first free lane; if none is free, the one that becomes free first. */
function pack(row: ExecutionRow, { begin_ps, duration_ps }: Spans): void {
  const free: number[] = [];
  for (const i of row.spans) {
    const begin = begin_ps[i] ?? 0;
    let lane = free.findIndex((end) => end <= begin);
    if (lane < 0) lane = free.length < MAX_LANES ? free.length : free.indexOf(Math.min(...free));
    free[lane] = Math.max(free[lane] ?? 0, begin + (duration_ps[i] ?? 0));
    row.lanes.push(lane);
  }
  row.laneCount = Math.max(1, free.length);
}

/** Begin and end of the run, including executions ahead of it. */
export function extent(run: { begin_ps: number; duration_ps: number; spans: Spans }): { begin: number; end: number } {
  let [begin, end] = [run.begin_ps, run.begin_ps + Math.max(1, run.duration_ps)];
  run.spans.begin_ps.forEach((at, i) => {
    begin = Math.min(begin, at);
    end = Math.max(end, at + (run.spans.duration_ps[i] ?? 0));
  });
  return { begin, end };
}

/** Limits of the visible range. */
export type Window = readonly [number, number];

/** Margin on both sides of the run, as a share of its length. */
const ROOM = 0.02;
const MIN_ROOM_PS = 1000;

/** The whole run with margins. */
export function wholeWindow(run: Parameters<typeof extent>[0]): Window {
  const { begin, end } = extent(run);
  const room = Math.max(MIN_ROOM_PS, (end - begin) * ROOM);
  return [Math.max(0, begin - room), end + room];
}

/** SVG path data of a row's visible bars that match `blocking`; `top` is the upper edge of the row. */
export function barsPath(
  row: ExecutionRow,
  { begin_ps, duration_ps }: Spans,
  scale: TimeScale,
  top: number,
  wanted: (span: number) => boolean = () => true,
): string {
  const height = (ROW_PX - 4) / row.laneCount;
  const parts: string[] = [];
  const ends = new Array<number>(row.laneCount).fill(-Infinity);
  row.spans.forEach((i, n) => {
    if (!wanted(i)) return;
    const lane = row.lanes[n] ?? 0;
    const left = scale.toPx(begin_ps[i] ?? 0);
    const end = scale.toPx((begin_ps[i] ?? 0) + (duration_ps[i] ?? 0));
    const right = Math.max(left + MIN_PX, end);
    // Skip bars that are covered by those drawn before.
    if (right < 0 || left > scale.width || end <= (ends[lane] ?? 0)) return;
    ends[lane] = right;
    const [x, width] = [Math.max(-2, left), Math.min(scale.width + 2, right) - Math.max(-2, left)];
    parts.push(`M${x.toFixed(1)} ${(top + 2 + lane * height).toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`);
  });
  return parts.join("");
}

/** The execution under a point of a row, -1 for none; `slack` is the hit tolerance. */
export function spanAt(row: ExecutionRow, { begin_ps, duration_ps }: Spans, time: number, lane: number | null, slack: number): number {
  let best = -1;
  let distance = slack;
  row.spans.forEach((i, n) => {
    if (lane !== null && row.lanes[n] !== lane) return;
    const begin = begin_ps[i] ?? 0;
    const away = Math.max(begin - time, time - begin - (duration_ps[i] ?? 0), 0);
    if (away <= distance) [best, distance] = [i, away];
  });
  return best;
}
