// Vertical layout: pure functions from tracks and the user's arrangement to columns of lanes.
import type { BindingPath } from "../data/binding_path";
import type { Trace, Track } from "../data/trace";
import { sectionEvents, trackKey, tracksByKey } from "../data/trace";
import type { CssPx, SectionIndex, TrackIndex } from "../data/units";

export const ROW_HEIGHT: CssPx = 18;
const SECTION_HEIGHT: CssPx = 22;
const COUNTER_HEIGHT: CssPx = 40;
/** Space below each track. */
const TRACK_GAP: CssPx = 3;
/** Heights of the time axis and of the row of steps below it, which only traces with steps have. */
export const AXIS_HEIGHT: CssPx = 24;
export const STEPS_HEIGHT: CssPx = 18;
/** Height of the row with the binding path below them, if it is shown. */
export const PATH_HEIGHT: CssPx = 18;
/** Sections with more tracks than this are collapsed initially. */
const MANY_TRACKS = 20;

/** The user's arrangement of sections and tracks; keys are pids and "pid.tid". */
export interface Arrangement {
  readonly collapsedSections: ReadonlySet<number>;
  readonly collapsedTracks: ReadonlySet<string>;
  readonly hiddenTracks: ReadonlySet<string>;
  readonly hiddenSections: ReadonlySet<number>;
  /** Shown at the top, unaffected by scrolling, in this order. */
  readonly pinnedTracks: readonly string[];
  /** Track keys in display order, for sections (by pid) whose tracks were moved. */
  readonly order: ReadonlyMap<number, readonly string[]>;
  /** Whether sections and tracks without events are shown as well. */
  readonly showEmpty: boolean;
}

export const enum LaneKind {
  Section = 0,
  Track = 1,
}

/** Columns of lanes from top to bottom; `top` restarts at 0 after the pinned ones. */
export interface Layout {
  readonly length: number;
  readonly kind: Uint8Array;
  /** Section or track index, by kind. */
  readonly index: Int32Array;
  readonly top: Float64Array;
  readonly height: Float64Array;
  /** Height of one row; smaller than ROW_HEIGHT in a collapsed track, which shows all its rows compressed. */
  readonly rowHeight: Float64Array;
  /** 1 when the lane's section or track is collapsed. */
  readonly collapsed: Uint8Array;
  /** Lanes 0:pinned stay at the top. */
  readonly pinned: number;
  readonly pinnedHeight: CssPx;
  /** Total height of the scrolling lanes. */
  readonly contentHeight: CssPx;
}

/** What decides the height of the ruler. */
interface Ruler {
  readonly trace: Trace | null;
  readonly path: BindingPath | null;
}

/** Where the row of the binding path begins in the ruler. */
export function pathTop(trace: Trace | null): CssPx {
  return AXIS_HEIGHT + (trace?.steps ? STEPS_HEIGHT : 0);
}

/** Height of the ruler above the rows. */
export function rulerHeight({ trace, path }: Ruler): CssPx {
  return pathTop(trace) + (path ? PATH_HEIGHT : 0);
}

/** The initial arrangement of a trace: large sections collapsed. */
export function initialArrangement(trace: Trace): Arrangement {
  const many = trace.sections.filter((s) => s.trackEnd - s.trackBegin > MANY_TRACKS);
  return {
    collapsedSections: new Set(many.map((s) => s.pid)),
    collapsedTracks: new Set(),
    hiddenTracks: new Set(),
    hiddenSections: new Set(),
    pinnedTracks: [],
    order: new Map(),
    showEmpty: false,
  };
}

/** Number of sections and of tracks (of the other sections) without events. */
export function countEmpty(trace: Trace): { readonly sections: number; readonly tracks: number } {
  const empty = trace.sections.filter((section) => sectionEvents(trace, section) === 0);
  const within = empty.reduce((sum, { trackBegin, trackEnd }) => sum + trackEnd - trackBegin, 0);
  return { sections: empty.length, tracks: trace.tracks.filter(({ events }) => events === 0).length - within };
}

/** Tracks of a section in display order: the main thread, then the server's order, with the user's moves applied. */
export function orderedTracks(trace: Trace, section: SectionIndex, arrangement: Arrangement): TrackIndex[] {
  const { pid, trackBegin, trackEnd } = trace.sections[section]!;
  const all = Array.from({ length: trackEnd - trackBegin }, (_, i) => trackBegin + i);
  const isMain = (t: TrackIndex): boolean => trace.tracks[t]!.main;
  const natural = [...all.filter(isMain), ...all.filter((t) => !isMain(t))];
  const order = arrangement.order.get(pid);
  if (order === undefined) return natural;
  const place = new Map(order.map((key, i) => [key, i]));
  const rank = (t: TrackIndex): number => place.get(trackKey(trace.tracks[t]!)) ?? order.length + t;
  return natural.sort((a, b) => rank(a) - rank(b));
}

/** Lays out pinned tracks, then sections with their tracks. */
export function layOut(trace: Trace, arrangement: Arrangement): Layout {
  const lanes = new LaneBuilder();
  const pinned = new Set(arrangement.pinnedTracks);
  const byKey = tracksByKey(trace);
  for (const key of arrangement.pinnedTracks) {
    const t = byKey.get(key);
    if (t !== undefined) lanes.track(t, trace.tracks[t]!, arrangement.collapsedTracks.has(key));
  }
  lanes.endPinned();
  const isFolded = (events: number): boolean => events === 0 && !arrangement.showEmpty;
  trace.sections.forEach((section, s) => {
    if (isFolded(sectionEvents(trace, section)) || arrangement.hiddenSections.has(section.pid)) return;
    const collapsed = arrangement.collapsedSections.has(section.pid);
    lanes.section(s, collapsed);
    if (collapsed) return;
    for (const t of orderedTracks(trace, s, arrangement)) {
      const track = trace.tracks[t]!;
      const key = trackKey(track);
      if (isFolded(track.events) || pinned.has(key) || arrangement.hiddenTracks.has(key)) continue;
      lanes.track(t, track, arrangement.collapsedTracks.has(key));
    }
  });
  return lanes.finish();
}

class LaneBuilder {
  private readonly lanes: number[][] = [];
  private y: CssPx = 0;
  private pinned = 0;
  private pinnedHeight: CssPx = 0;

  section(index: SectionIndex, collapsed: boolean): void {
    this.add(LaneKind.Section, index, SECTION_HEIGHT, SECTION_HEIGHT, collapsed);
  }

  track(index: TrackIndex, track: Track, collapsed: boolean): void {
    if (track.kind === "counter") {
      const height = collapsed ? ROW_HEIGHT : COUNTER_HEIGHT;
      this.add(LaneKind.Track, index, height + TRACK_GAP, height, collapsed);
      return;
    }
    const rowHeight = collapsed ? ROW_HEIGHT / track.rows : ROW_HEIGHT;
    this.add(LaneKind.Track, index, rowHeight * track.rows + TRACK_GAP, rowHeight, collapsed);
  }

  endPinned(): void {
    this.pinned = this.lanes.length;
    this.pinnedHeight = this.y;
    this.y = 0;
  }

  finish(): Layout {
    const column = (i: number): number[] => this.lanes.map((lane) => lane[i]!);
    return {
      length: this.lanes.length,
      kind: Uint8Array.from(column(0)),
      index: Int32Array.from(column(1)),
      top: Float64Array.from(column(2)),
      height: Float64Array.from(column(3)),
      rowHeight: Float64Array.from(column(4)),
      collapsed: Uint8Array.from(column(5)),
      pinned: this.pinned,
      pinnedHeight: this.pinnedHeight,
      contentHeight: this.y,
    };
  }

  private add(kind: LaneKind, index: number, height: CssPx, rowHeight: CssPx, collapsed: boolean): void {
    this.lanes.push([kind, index, this.y, height, rowHeight, collapsed ? 1 : 0]);
    this.y += height;
  }
}

/** Scrolling lanes that intersect top:bottom (content pixels), as a half-open range. */
export function visibleLanes(layout: Layout, top: CssPx, bottom: CssPx): readonly [number, number] {
  let low = layout.pinned;
  let high = layout.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (layout.top[middle]! + layout.height[middle]! <= top) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < layout.length && layout.top[end]! < bottom) end++;
  return [low, end];
}

/** A lane with its y position on the screen. */
export interface PlacedLane {
  readonly lane: number;
  readonly y: CssPx;
  readonly pinned: boolean;
}

/** Visible lanes with their screen positions: pinned ones first, then those scrolled into view. */
export function placeLanes(layout: Layout, scroll: CssPx, height: CssPx): PlacedLane[] {
  const placed: PlacedLane[] = [];
  for (let lane = 0; lane < layout.pinned; lane++) {
    placed.push({ lane, y: layout.top[lane]!, pinned: true });
  }
  const room = height - layout.pinnedHeight;
  if (room <= 0) return placed;
  const [begin, end] = visibleLanes(layout, scroll, scroll + room);
  for (let lane = begin; lane < end; lane++) {
    placed.push({ lane, y: layout.pinnedHeight + layout.top[lane]! - scroll, pinned: false });
  }
  return placed;
}

/** The lane of a track, -1 when its section is collapsed or it is hidden. */
export function laneOfTrack(layout: Layout, track: TrackIndex): number {
  for (let lane = 0; lane < layout.length; lane++) {
    if (layout.kind[lane] === LaneKind.Track && layout.index[lane] === track) return lane;
  }
  return -1;
}

/** The lane of a section, -1 when it is not shown. */
export function laneOfSection(layout: Layout, section: SectionIndex): number {
  return layout.index.findIndex((index, lane) => index === section && layout.kind[lane] === LaneKind.Section);
}

/** The scroll position nearest to the current one at which a row of a lane is visible. */
export function scrollToRow(layout: Layout, lane: number, row: number, scroll: CssPx, height: CssPx): CssPx {
  if (lane < layout.pinned) return scroll;
  const room = Math.max(0, height - layout.pinnedHeight);
  const top = layout.top[lane]! + row * layout.rowHeight[lane]!;
  const bottom = top + layout.rowHeight[lane]!;
  const wanted = top < scroll ? top - ROW_HEIGHT : bottom > scroll + room ? bottom + ROW_HEIGHT - room : scroll;
  return clampScroll(layout, wanted, height);
}

/** The scroll position with a section at the top, or the current one if all of the section is visible. */
export function scrollToSection(layout: Layout, lane: number, scroll: CssPx, height: CssPx): CssPx {
  const room = Math.max(0, height - layout.pinnedHeight);
  const next = layout.kind.indexOf(LaneKind.Section, lane + 1);
  const [top, bottom] = [layout.top[lane]!, next < 0 ? layout.contentHeight : layout.top[next]!];
  return top >= scroll && bottom <= scroll + room ? scroll : clampScroll(layout, top, height);
}

/** The nearest scroll position within the content. */
export function clampScroll(layout: Layout, scroll: CssPx, height: CssPx): CssPx {
  const room = Math.max(0, height - layout.pinnedHeight);
  return Math.max(0, Math.min(scroll, layout.contentHeight - room));
}
