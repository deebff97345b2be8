// Pure commands that change the visible window and the scroll position.
import { TimeScale } from "../../base/time_scale";
import { eventOfPiece, onPath } from "../data/binding_path";
import type { BindingPath, PieceIndex } from "../data/binding_path";
import { extent, eventOfBox } from "../data/selection";
import { trackKey } from "../data/trace";
import type { BoxIndex, CssPx, Point, Ps, Span, TrackIndex } from "../data/units";
import { boxAt, nearestInRow, neighbour } from "../layout/hit_test";
import type { Direction, View } from "../layout/hit_test";
import { clampScroll, laneOfSection, laneOfTrack, scrollToRow, scrollToSection } from "../layout/layout";
import type { EventPosition } from "../layout/event_rects";
import { clampWindow, framing, sameWindow, wholeWindow } from "../layout/window";
import { arrange, markInterval, select, setPath } from "./commands";
import { rowsHeight, viewOf } from "./state";
import type { TimelineCommand, TimelineState } from "./state";

/** `reveal` zooms to an event that is narrower than this share of the window. */
const TINY = 1 / 200;
/** Of an event longer than the window, `reveal` shows this share of the window at least. */
const PART = 1 / 4;
/** Grid spacing of the search for an event near the middle of the screen. */
const SEARCH_STEP_Y: CssPx = 9;
const SEARCH_STEPS_X = 50;

/** Sets the window without animation, clamped to the trace. */
export function jumpTo(wanted: TimeScale): TimelineCommand {
  return (state) => {
    const scale = state.trace ? clampWindow(wanted, state.trace.full) : wanted;
    return sameWindow(scale, state.scale) && state.target === state.scale ? state : { ...state, scale, target: scale };
  };
}

/** Follows the window of another timeline, also beyond the trace. */
export function follow({ begin, end }: Span): TimelineCommand {
  return (state) => {
    const scale = new TimeScale(begin, end, state.scale.width);
    return sameWindow(scale, state.scale) && state.target === state.scale ? state : { ...state, scale, target: scale };
  };
}

/** Sets the target of an animation; the owner of the store runs it with setAnimatedScale. */
export function animateTo(wanted: TimeScale): TimelineCommand {
  return (state) => (state.trace ? { ...state, target: clampWindow(wanted, state.trace.full) } : jumpTo(wanted)(state));
}

/** One frame of the animation. */
export function setAnimatedScale(scale: TimeScale): TimelineCommand {
  return (state) => ({ ...state, scale });
}

/** Shows a span of time, exactly. */
export function showSpan({ begin, end }: Span, animated = true): TimelineCommand {
  return (state) => (animated ? animateTo : jumpTo)(new TimeScale(begin, end, state.scale.width))(state);
}

/** Shows a span of time with padding on both sides. */
export function frame(span: Span): TimelineCommand {
  return (state) => animateTo(framing(span, state.scale.width))(state);
}

/** Shows the whole trace. */
export function showAll(state: TimelineState): TimelineState {
  return state.trace ? animateTo(wholeWindow(state.trace.full, state.scale.width))(state) : state;
}

/** Frames the selection, else the marked interval. */
export function frameSelection(state: TimelineState): TimelineState {
  const span = extent(state.selection) ?? state.interval;
  return span ? frame(span)(state) : state;
}

/** Frames the box under a point; zooming to a merged block loads its separate events. */
export function frameAt({ x, y }: Point): TimelineCommand {
  return (state) => {
    const view = viewOf(state);
    const box = view ? boxAt(view, x, y) : -1;
    return view && box >= 0 ? frame(spanOf(view, box))(state) : state;
  };
}

function spanOf({ trace }: View, box: BoxIndex): Span {
  const begin = trace.begin[box]!;
  return { begin, end: begin + trace.duration[box]! };
}

/** Zooms about a pixel; an animated zoom starts from the target of a running animation. */
export function zoom(factor: number, x: CssPx, animated: boolean): TimelineCommand {
  return (state) => (animated ? animateTo(state.target.zoom(factor, x)) : jumpTo(state.scale.zoom(factor, x)))(state);
}

export function pan(dx: CssPx, animated: boolean): TimelineCommand {
  return (state) => {
    if (dx === 0) return state; // a vertical wheel does not end an animation
    return (animated ? animateTo(state.target.pan(dx)) : jumpTo(state.scale.pan(dx)))(state);
  };
}

export function scrollTo(scroll: CssPx): TimelineCommand {
  return (state) => {
    if (!state.layout) return state;
    const next = clampScroll(state.layout, scroll, rowsHeight(state));
    return next === state.scroll ? state : { ...state, scroll: next };
  };
}

export function scrollBy(dy: CssPx): TimelineCommand {
  return (state) => scrollTo(state.scroll + dy)(state);
}

/**
 * Unfolds, scrolls and pans by the least that brings an event into view: all of it, of one longer than the window a part.
 * `zoomIn`: also zooms to one that is too narrow to see.
 */
export function reveal(event: EventPosition, zoomIn: boolean): TimelineCommand {
  return (state) => {
    if (!state.trackIndex.has(trackKey(event))) return state;
    return bringIntoWindow(revealRow(event)(state), event, zoomIn);
  };
}

function bringIntoWindow(state: TimelineState, event: EventPosition, zoomIn: boolean): TimelineState {
  const { begin, end, span } = state.target;
  const last = event.begin + event.duration;
  if (zoomIn && event.duration > 0 && event.duration / span < TINY) {
    return frame({ begin: event.begin - event.duration * 4, end: last + event.duration * 4 })(state);
  }
  const seen = Math.min(last, end) - Math.max(event.begin, begin);
  if (seen >= Math.min(event.duration, span * PART)) return state;
  const middle = (event.begin + Math.min(last, event.begin + span)) / 2;
  return showSpan({ begin: middle - span / 2, end: middle + span / 2 })(state);
}

/** Scrolls to the row of an event, which is unfolded; the window stays. */
export function revealRow(event: EventPosition): TimelineCommand {
  return (state) => {
    const track = state.trackIndex.get(trackKey(event));
    if (track === undefined) return state;
    const shown = expandTo(state, track);
    const lane = shown.layout ? laneOfTrack(shown.layout, track) : -1;
    if (!shown.layout || lane < 0) return shown;
    return scrollTo(scrollToRow(shown.layout, lane, event.row, shown.scroll, rowsHeight(shown)))(shown);
  };
}

/** Expands the track and its section, and shows both if they are hidden. */
function expandTo(state: TimelineState, index: TrackIndex): TimelineState {
  const { arrangement, trace } = state;
  const track = trace?.tracks[index];
  if (!arrangement || !track) return state;
  const key = trackKey(track);
  const { collapsedSections, collapsedTracks, hiddenSections, hiddenTracks } = arrangement;
  if (collapsedTracks.has(key)) return expandTo(arrange({ ...arrangement, collapsedTracks: without(collapsedTracks, key) })(state), index);
  if (arrangement.pinnedTracks.includes(key)) return state;
  if (!collapsedSections.has(track.pid) && !hiddenSections.has(track.pid) && !hiddenTracks.has(key)) return state;
  return arrange({
    ...arrangement,
    collapsedSections: without(collapsedSections, track.pid),
    hiddenSections: without(hiddenSections, track.pid),
    hiddenTracks: without(hiddenTracks, key),
  })(state);
}

function without<T>(set: ReadonlySet<T>, member: T): ReadonlySet<T> {
  return new Set([...set].filter((one) => one !== member));
}

/** Frames a span and marks it as the interval, and scrolls to a section (by pid), which is shown and unfolded. */
export function showGap(span: Span, pid: number | null): TimelineCommand {
  return (state) => {
    const { arrangement, trace } = state;
    const section = trace?.sections.findIndex((one) => one.pid === pid) ?? -1;
    const framed = frame(span)(markInterval(span)(select([])(state)));
    if (!arrangement || pid === null || section < 0) return framed;
    const { hiddenSections, collapsedSections } = arrangement;
    const shown =
      hiddenSections.has(pid) || collapsedSections.has(pid)
        ? arrange({ ...arrangement, hiddenSections: without(hiddenSections, pid), collapsedSections: without(collapsedSections, pid) })(
            framed,
          )
        : framed;
    const lane = shown.layout ? laneOfSection(shown.layout, section) : -1;
    return shown.layout && lane >= 0 ? scrollTo(scrollToSection(shown.layout, lane, shown.scroll, rowsHeight(shown)))(shown) : shown;
  };
}

/** Goes to a piece of the binding path: selects its event, and shows both as they fit the window. */
export function showPiece(path: BindingPath, piece: PieceIndex): TimelineCommand {
  return (state) => {
    const event = eventOfPiece(path, piece);
    const chosen = select(event ? [event] : [])(setPath(path, piece)(state));
    const position = onPath(path, piece);
    const revealed = position ? reveal(position, false)(chosen) : chosen;
    const [begin, length] = [path.begin[piece]!, path.duration[piece]!];
    const { span } = state.target;
    if (length < span * TINY || length > span) return frame({ begin: begin - length, end: begin + 2 * length })(revealed);
    if (begin >= state.target.begin && begin + length <= state.target.end) return { ...revealed, target: chosen.target };
    const middle = begin + length / 2;
    return showSpan({ begin: middle - span / 2, end: middle + span / 2 })(revealed);
  };
}

/** Selects the neighbour of the selected event; without a selection, the event nearest to the middle of the screen. */
export function step(direction: Direction): TimelineCommand {
  return (state) => {
    const view = viewOf(state);
    const box = view ? nextBox(state, view, direction) : -1;
    if (!view || box < 0) return state;
    const event = eventOfBox(view.trace, box);
    return reveal(event, false)(select([event])(state));
  };
}

function nextBox(state: TimelineState, view: View, direction: Direction): BoxIndex {
  const last = state.selection[state.selection.length - 1];
  const track = last && state.trackIndex.get(trackKey(last));
  if (last && track !== undefined) {
    const from = nearestInRow(view.trace, view.trace.rowBase[track]! + last.row, last.begin + last.duration / 2);
    return from < 0 ? -1 : neighbour(view, from, direction);
  }
  const middle = (view.scale.begin + view.scale.end) / 2;
  for (let y = 0; y < rowsHeight(state); y += SEARCH_STEP_Y) {
    const box = nearestAt(view, y, middle);
    if (box >= 0) return box;
  }
  return -1;
}

/** The box nearest to a time at a given y position, -1 for none. */
function nearestAt(view: View, y: CssPx, time: Ps): BoxIndex {
  const step = Math.max(4, view.scale.width / SEARCH_STEPS_X);
  const middle = view.scale.toPx(time);
  for (let d = 0; d < view.scale.width / 2; d += step) {
    for (const x of [middle - d, middle + d]) {
      const box = boxAt(view, x, y);
      if (box >= 0) return box;
    }
  }
  return -1;
}
