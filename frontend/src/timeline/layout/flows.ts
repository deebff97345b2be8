// Flows of the selected event: their linked events, and the screen curves between these.
import type { TimeScale } from "../../base/time_scale";
import type { Layout, PlacedLane } from "./layout";
import { LaneKind } from "./layout";
import { trackKey, tracksByKey } from "../data/trace";
import type { EventRef, Trace } from "../data/trace";
import type { CssPx, Ps, TrackIndex } from "../data/units";

/** One event on a flow. */
interface FlowEnd extends EventRef {
  readonly row: number;
  readonly begin: Ps;
  readonly duration: Ps;
  readonly name: string;
}

/** Linked events ordered by time; each leads to the next. */
export interface Flow {
  readonly id: string;
  readonly category: string;
  readonly ends: readonly FlowEnd[];
}

/** Stands for all kinds of flows among those that are not drawn. */
export const ALL_FLOWS = "all";

/** The flows whose kind is not hidden. */
export function shownFlows(flows: readonly Flow[], hidden: ReadonlySet<string>): readonly Flow[] {
  return hidden.size === 0 ? flows : flows.filter(({ category }) => !hidden.has(ALL_FLOWS) && !hidden.has(category));
}

/** A curve in CSS pixels of the rows' area. */
export interface FlowCurve {
  readonly x0: CssPx;
  readonly y0: CssPx;
  readonly x1: CssPx;
  readonly y1: CssPx;
}

/** Vertical centres of rows, including those scrolled off the screen; for a collapsed section, the centre of its header. */
function middles(trace: Trace, layout: Layout, placed: readonly PlacedLane[]): (t: TrackIndex, row: number) => number | null {
  const first = placed.find((p) => !p.pinned);
  const shift = first === undefined ? 0 : first.y - layout.top[first.lane]!;
  const trackLane = new Map<number, number>();
  const sectionLane = new Map<number, number>();
  for (let lane = 0; lane < layout.length; lane++) {
    const map = layout.kind[lane] === LaneKind.Track ? trackLane : sectionLane;
    map.set(layout.index[lane]!, lane);
  }
  const y = (lane: number): CssPx => layout.top[lane]! + (lane < layout.pinned ? 0 : shift);
  return (t, row) => {
    const lane = trackLane.get(t);
    if (lane !== undefined) return y(lane) + (row + 0.5) * layout.rowHeight[lane]!;
    const header = sectionLane.get(trace.tracks[t]!.section);
    return header === undefined ? null : y(header) + layout.height[header]! / 2;
  };
}

/** Curves between consecutive events of each flow; those entirely off the screen are omitted. */
export function flowCurves(
  flows: readonly Flow[],
  trace: Trace,
  layout: Layout,
  placed: readonly PlacedLane[],
  scale: TimeScale,
): FlowCurve[] {
  const middle = middles(trace, layout, placed);
  const index = tracksByKey(trace);
  const curves: FlowCurve[] = [];
  for (const { ends } of flows) {
    for (let i = 1; i < ends.length; i++) {
      const from = ends[i - 1]!;
      const to = ends[i]!;
      const t0 = index.get(trackKey(from));
      const t1 = index.get(trackKey(to));
      if (t0 === undefined || t1 === undefined) continue;
      const y0 = middle(t0, from.row);
      const y1 = middle(t1, to.row);
      if (y0 === null || y1 === null) continue;
      // an event that still runs when the next one begins: the curve starts at that begin
      const x0 = scale.toPx(Math.min(from.begin + from.duration, Math.max(from.begin, to.begin)));
      const x1 = scale.toPx(to.begin);
      if (Math.max(x0, x1) < -50 || Math.min(x0, x1) > scale.width + 50) continue;
      curves.push({ x0, y0, x1, y1 });
    }
  }
  return curves;
}
