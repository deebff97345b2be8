// Screen rectangles of events, for outlines and search hits.
import type { TimeScale } from "../../base/time_scale";
import type { Layout, PlacedLane } from "./layout";
import { LaneKind, ROW_HEIGHT } from "./layout";
import type { Trace } from "../data/trace";
import { trackKey } from "../data/trace";
import type { CssPx, Ps, TrackIndex } from "../data/units";

/** A rectangle in CSS pixels of the rows' area. */
export interface ScreenRect {
  readonly x: CssPx;
  readonly y: CssPx;
  readonly width: CssPx;
  readonly height: CssPx;
}

/** Maps (track, row, begin, duration) to screen rectangles. Created once per frame. */
export class EventLocator {
  private readonly laneOf = new Map<TrackIndex, PlacedLane>();

  constructor(
    private readonly trace: Trace,
    private readonly layout: Layout,
    placed: readonly PlacedLane[],
    private readonly scale: TimeScale,
  ) {
    for (const p of placed) {
      if (layout.kind[p.lane] === LaneKind.Track) this.laneOf.set(layout.index[p.lane]!, p);
    }
  }

  /** The rectangle of an event; null when it is off the screen. */
  of(track: TrackIndex, row: number, begin: Ps, duration: Ps): ScreenRect | null {
    const placed = this.laneOf.get(track);
    if (placed === undefined || begin > this.scale.end || begin + duration < this.scale.begin) return null;
    const rowHeight = this.layout.rowHeight[placed.lane]!;
    const rows = this.trace.tracks[track]!.rows;
    const y = placed.y + Math.min(row, rows - 1) * rowHeight;
    if (!placed.pinned && y + rowHeight <= this.layout.pinnedHeight) return null;
    const x0 = Math.max(this.scale.toPx(begin), -2);
    const x1 = Math.min(this.scale.toPx(begin + duration), this.scale.width + 2);
    const height = rowHeight >= ROW_HEIGHT ? rowHeight - 1 : Math.max(rowHeight, 2);
    return { x: x0, y, width: Math.max(x1 - x0, 1), height };
  }
}

/** Events as parallel columns, sorted by begin. */
interface EventColumns {
  readonly length: number;
  readonly track: Uint32Array;
  readonly row: Uint16Array;
  readonly begin: Float64Array;
  readonly duration: Float64Array;
}

/** The rectangle of event `i`; null when there is no such event or it is off the screen. */
export function rectOfRow(locator: EventLocator, events: EventColumns | null, i: number): ScreenRect | null {
  if (events === null || i < 0 || i >= events.length) return null;
  return locator.of(events.track[i]!, events.row[i]!, events.begin[i]!, events.duration[i]!);
}

/** The rectangles of all visible events of the columns. */
export function rectsOfColumns(locator: EventLocator, events: EventColumns | null, end: Ps): ScreenRect[] {
  const screenRects: ScreenRect[] = [];
  if (events === null) return screenRects;
  for (let i = 0; i < events.length && events.begin[i]! <= end; i++) {
    const rect = rectOfRow(locator, events, i);
    if (rect) screenRects.push(rect);
  }
  return screenRects;
}

/** Track, row and time of an event. */
export interface EventPosition {
  readonly pid: number;
  readonly tid: number;
  readonly row: number;
  readonly begin: Ps;
  readonly duration: Ps;
}

/** The rectangles of the visible ones among the first `limit` events. */
export function rectsOf(
  locator: EventLocator,
  index: ReadonlyMap<string, TrackIndex>,
  events: readonly EventPosition[],
  limit: number,
): ScreenRect[] {
  const screenRects: ScreenRect[] = [];
  for (let i = 0; i < Math.min(events.length, limit); i++) {
    const event = events[i]!;
    const track = index.get(trackKey(event));
    const rect = track === undefined ? null : locator.of(track, event.row, event.begin, event.duration);
    if (rect) screenRects.push(rect);
  }
  return screenRects;
}
