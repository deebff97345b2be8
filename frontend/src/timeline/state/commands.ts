// Pure commands on trace data, arrangement, selection and marked interval.
import type { BindingPath, PieceIndex } from "../data/binding_path";
import type { SearchHits } from "../data/search_hits";
import { extent, eventOfBox, toggled } from "../data/selection";
import type { SelectedArea, SelectedEvent } from "../data/selection";
import { withSteps } from "../data/steps";
import { sameTracks, trackKey, tracksByKey } from "../data/trace";
import type { Trace } from "../data/trace";
import type { BoxIndex, CssPx, Marker, Point, RubberBand, Span } from "../data/units";
import type { Flow } from "../layout/flows";
import { boxAt, boxesIn, rowsIn } from "../layout/hit_test";
import { clampScroll, initialArrangement, laneOfTrack, layOut, scrollToRow } from "../layout/layout";
import type { Arrangement, Layout } from "../layout/layout";
import { resized, wholeWindow } from "../layout/window";
import { isUnset, rowsHeight, viewOf } from "./state";
import type { TimelineCommand, TimelineState } from "./state";

/** The state with a new layout of its trace. */
function withLayout(state: TimelineState): TimelineState {
  if (!state.trace || !state.arrangement) return state;
  const layout = layOut(state.trace, state.arrangement);
  return { ...state, layout, scroll: clampScroll(layout, state.scroll, rowsHeight(state)) };
}

/** Replaces the trace data. The first trace sets the window to its whole range; later ones keep the window. */
export function showTrace(answer: Trace): TimelineCommand {
  return (state) => {
    const before = state.trace;
    const trace = withSteps(answer);
    const scale = before === null && isUnset(state.scale) ? wholeWindow(trace.full, state.scale.width) : state.scale;
    const next: TimelineState = {
      ...state,
      trace,
      trackIndex: tracksByKey(trace),
      arrangement: state.arrangement ?? initialArrangement(trace),
      scale,
      target: state.target === state.scale ? scale : state.target,
    };
    return before !== null && sameTracks(before, trace) ? next : withLayout(next);
  };
}

export function arrange(arrangement: Arrangement): TimelineCommand {
  return (state) => withLayout({ ...state, arrangement });
}

/** A copy of a set with one member added, or removed if it was present. */
function withToggled<T>(set: ReadonlySet<T>, member: T): Set<T> {
  const copy = new Set(set);
  if (!copy.delete(member)) copy.add(member);
  return copy;
}

/** Collapses or expands a section. */
export function toggleSection(pid: number): TimelineCommand {
  return (state) => {
    const { arrangement } = state;
    return arrangement ? arrange({ ...arrangement, collapsedSections: withToggled(arrangement.collapsedSections, pid) })(state) : state;
  };
}

/** Collapses or expands a track ("pid.tid"). */
export function toggleTrack(key: string): TimelineCommand {
  return (state) => {
    const { arrangement } = state;
    return arrangement ? arrange({ ...arrangement, collapsedTracks: withToggled(arrangement.collapsedTracks, key) })(state) : state;
  };
}

/** Replaces the selection and clears the flows, which are fetched separately. `area`: what it is, if not single events. */
export function select(selection: readonly SelectedEvent[], area: SelectedArea | null = null): TimelineCommand {
  return (state) => ({ ...state, selection, area, flows: [] });
}

/** Narrows the selection to events of one name; of a rectangle, merged blocks remain, which may hold more of them. */
export function selectName(name: string): TimelineCommand {
  return (state) => {
    const { selection, area } = state;
    return select(
      selection.filter((p) => p.name === name || (area !== null && p.name === null)),
      area && { ...area, name },
    )(state);
  };
}

function selectBoxes(state: TimelineState, boxes: readonly number[], add: boolean, area: SelectedArea | null): TimelineState {
  const { trace, selection } = state;
  if (!trace) return state;
  const events = boxes.map((box) => eventOfBox(trace, box));
  return (add ? select(toggled(selection, events)) : select(events, area))(state);
}

/** The area of a merged block; null for a single event. */
function areaOfBox(trace: Trace, box: BoxIndex): SelectedArea | null {
  const { pid, tid, row, begin, duration, count } = eventOfBox(trace, box);
  return count > 1 ? { window: { begin, end: begin + duration }, tracks: [{ pid, tid, first: row, last: row }], name: null } : null;
}

/** Selects the box under a point, or nothing; `add` toggles it in the selection. */
export function selectAt({ x, y }: Point, add: boolean): TimelineCommand {
  return (state) => {
    const view = viewOf(state);
    const box = view ? boxAt(view, x, y) : -1;
    return selectBoxes(state, box < 0 ? [] : [box], add, view && box >= 0 ? areaOfBox(view.trace, box) : null);
  };
}

/** Selects all boxes that touch a rectangle. */
export function selectIn({ x0, y0, x1, y1 }: RubberBand, add: boolean): TimelineCommand {
  return (state) => {
    const view = viewOf(state);
    if (!view) return state;
    const { trace, scale } = view;
    const tracks = rowsIn(view, y0, y1).map(({ track, first, last }) => {
      const { pid, tid } = trace.tracks[track]!;
      return { pid, tid, first, last };
    });
    const window = { begin: Math.round(scale.toTime(Math.min(x0, x1))), end: Math.round(scale.toTime(Math.max(x0, x1))) };
    return selectBoxes(state, boxesIn(view, x0, y0, x1, y1), add, { window, tracks, name: null });
  };
}

export function setFlows(flows: readonly Flow[]): TimelineCommand {
  return (state) => ({ ...state, flows });
}

/** Leaves out the flows of some kinds. */
export function hideFlows(kinds: Iterable<string>): TimelineCommand {
  return (state) => ({ ...state, hiddenFlows: new Set(kinds) });
}

export function setHits(hits: SearchHits | null, currentHit: number): TimelineCommand {
  return (state) => ({ ...state, hits, currentHit });
}

/** Shows a binding path, or none; `piece` is the current one. */
export function setPath(path: BindingPath | null, piece: PieceIndex): TimelineCommand {
  return (state) => (state.path === path && state.piece === piece ? state : { ...state, path, piece });
}

export function markInterval(interval: Span | null): TimelineCommand {
  return (state) => (state.interval === interval ? state : { ...state, interval });
}

/** Shows a line at the moment that a link points at. */
export function setMarker(marker: Marker | null): TimelineCommand {
  return (state) => ({ ...state, marker });
}

/** Marks the time interval that the selection covers. */
export function markSelection(state: TimelineState): TimelineState {
  const span = extent(state.selection);
  return span ? markInterval(span)(state) : state;
}

export function setRubberBand(rubberBand: RubberBand | null): TimelineCommand {
  return (state) => (state.rubberBand === rubberBand ? state : { ...state, rubberBand });
}

export function setPointer(pointer: Point | null): TimelineCommand {
  return (state) => (state.pointer === pointer ? state : { ...state, pointer });
}

/** Clears the first that is set: the rubber band, the selection, the marked interval. */
export function clearOne(state: TimelineState): TimelineState {
  if (state.rubberBand) return setRubberBand(null)(state);
  return state.selection.length > 0 ? select([])(state) : markInterval(null)(state);
}

/** Adapts window and scroll position to a new size of the stage. */
export function resize(width: CssPx, stageHeight: CssPx): TimelineCommand {
  return (state) => {
    const scale = resized(state.scale, width);
    const target = state.target === state.scale ? scale : resized(state.target, width);
    const next = { ...state, stageHeight, scale, target };
    return next.layout ? { ...next, scroll: scrollAfter(state, next, next.layout) } : next;
  };
}

/** The scroll position after a change of height: an event that was visible when it was selected stays so. */
function scrollAfter(before: TimelineState, next: TimelineState, layout: Layout): CssPx {
  const scroll = clampScroll(layout, before.scroll, rowsHeight(next));
  const [only, second] = next.selection;
  const track = only && !second ? next.trackIndex.get(trackKey(only)) : undefined;
  const lane = track === undefined ? -1 : laneOfTrack(layout, track);
  if (!only || lane < 0) return scroll;
  const top = layout.top[lane]! + only.row * layout.rowHeight[lane]!;
  const seen = top >= before.scroll && top < before.scroll + rowsHeight(before) - layout.pinnedHeight;
  return seen ? scrollToRow(layout, lane, only.row, scroll, rowsHeight(next)) : scroll;
}
