// Type aliases for the units and indexes of the timeline.

/** Picoseconds on the axis of the trace (exact integers up to 2^53, 2.5 hours). */
export type Ps = number;
/** CSS pixels. */
export type CssPx = number;
/** Device pixels: CSS pixels times devicePixelRatio. */
export type DevicePx = number;
/** Row of `Trace.tracks`. */
export type TrackIndex = number;
/** Row of `Trace.sections`. */
export type SectionIndex = number;
/** Row of the box columns of a `Trace`. */
export type BoxIndex = number;

/** A closed interval of time, begin <= end. */
export interface Span {
  readonly begin: Ps;
  readonly end: Ps;
}

/** A moment that a link points at. */
export interface Marker {
  readonly at: Ps;
  readonly label: string;
}

/** A point in pixels of the rows' area (below the ruler, where y is 0). */
export interface Point {
  readonly x: CssPx;
  readonly y: CssPx;
}

/** A dragged rectangle in pixels of the rows' area; the corners may be in any order. */
export interface RubberBand {
  readonly x0: CssPx;
  readonly y0: CssPx;
  readonly x1: CssPx;
  readonly y1: CssPx;
}
