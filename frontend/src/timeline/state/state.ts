// The state of a timeline as one immutable value, and what is derived from it.
import { TimeScale } from "../../base/time_scale";
import type { BindingPath, PieceIndex } from "../data/binding_path";
import type { SearchHits } from "../data/search_hits";
import type { SelectedArea, SelectedEvent } from "../data/selection";
import type { Trace } from "../data/trace";
import type { CssPx, Marker, Point, RubberBand, Span, TrackIndex } from "../data/units";
import type { Flow } from "../layout/flows";
import type { View } from "../layout/hit_test";
import { placeLanes, rulerHeight } from "../layout/layout";
import type { Arrangement, Layout } from "../layout/layout";
import type { Command } from "./store";

export interface TimelineState {
  readonly trace: Trace | null;
  /** Track by "pid.tid". */
  readonly trackIndex: ReadonlyMap<string, TrackIndex>;
  readonly arrangement: Arrangement | null;
  readonly layout: Layout | null;
  /** The visible window over the width of the stage. */
  readonly scale: TimeScale;
  /** The target window of a running animation; the same object as `scale` otherwise. */
  readonly target: TimeScale;
  readonly scroll: CssPx;
  /** Height of ruler and rows together. */
  readonly stageHeight: CssPx;
  readonly selection: readonly SelectedEvent[];
  /** Flows of the selected event. */
  readonly flows: readonly Flow[];
  /** Kinds of flows that are not drawn. */
  readonly hiddenFlows: ReadonlySet<string>;
  readonly interval: Span | null;
  readonly marker: Marker | null;
  /** The rectangle or merged block that was selected; null for other selections. */
  readonly area: SelectedArea | null;
  readonly rubberBand: RubberBand | null;
  readonly pointer: Point | null;
  readonly hits: SearchHits | null;
  /** Index into the hits, -1 for none. */
  readonly currentHit: number;
  /** The binding path around the window; null while it is not shown. */
  readonly path: BindingPath | null;
  /** The piece that was gone to, -1 for none. */
  readonly piece: PieceIndex;
}

export type TimelineCommand = Command<TimelineState>;

const START = new TimeScale(0, 1, 1);

export const INITIAL: TimelineState = {
  trace: null,
  trackIndex: new Map(),
  arrangement: null,
  layout: null,
  scale: START,
  target: START,
  scroll: 0,
  stageHeight: 0,
  selection: [],
  flows: [],
  hiddenFlows: new Set(),
  interval: null,
  marker: null,
  area: null,
  rubberBand: null,
  pointer: null,
  hits: null,
  currentHit: -1,
  path: null,
  piece: -1,
};

/** Whether no window has been set yet. */
export function isUnset(scale: TimeScale): boolean {
  return scale.begin === START.begin && scale.end === START.end;
}

/** Height of the rows' area. */
export function rowsHeight(state: TimelineState): CssPx {
  return Math.max(0, state.stageHeight - rulerHeight(state));
}

/** The input of hit tests and drawing; null until a trace is loaded. */
export function viewOf(state: TimelineState): View | null {
  const { trace, layout, scale, scroll } = state;
  if (!trace || !layout) return null;
  return { trace, layout, placed: placeLanes(layout, scroll, rowsHeight(state)), scale };
}
