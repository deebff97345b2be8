// Functions on the visible window: clamping, framing, interpolation.
import { TimeScale } from "../../base/time_scale";
import type { Ps, Span } from "../data/units";

/** Narrowest window; below it, rounding of doubles near 2^53 ps becomes visible. */
const MIN_SPAN: Ps = 100;
/** How far the window may extend past the trace, as a share of the trace's length. */
const MARGIN = 0.02;

/** Pixels per picosecond. */
export function perPs(scale: TimeScale): number {
  return 1 / scale.psPerPx;
}

/** The same window at another width. */
export function resized(scale: TimeScale, width: number): TimeScale {
  return new TimeScale(scale.begin, scale.end, width);
}

/** The nearest window that is at least MIN_SPAN long and within the trace plus margins. */
export function clampWindow(scale: TimeScale, full: Span): TimeScale {
  const length = Math.max(full.end - full.begin, MIN_SPAN);
  return scale.clamp(full.begin - length * MARGIN, full.end + length * MARGIN, MIN_SPAN);
}

/** A window that shows `span` with padding on both sides, a share of its length. */
export function framing(span: Span, width: number, padding = 0.1): TimeScale {
  const length = Math.max(span.end - span.begin, MIN_SPAN);
  return new TimeScale(span.begin - length * padding, span.end + length * padding, width);
}

/** The window of the whole trace. */
export function wholeWindow(full: Span, width: number): TimeScale {
  const length = Math.max(full.end - full.begin, MIN_SPAN);
  return new TimeScale(full.begin, full.begin + length, width);
}

export function sameWindow(a: TimeScale, b: TimeScale): boolean {
  return a.begin === b.begin && a.end === b.end && a.width === b.width;
}

/** Interpolates two windows, `t` from 0 to 1; the length changes geometrically. */
export function interpolate(from: TimeScale, to: TimeScale, t: number): TimeScale {
  const ratio = to.span / from.span;
  if (Math.abs(Math.log(ratio)) < 1e-6) {
    const begin = from.begin + (to.begin - from.begin) * t;
    return new TimeScale(begin, begin + to.span, to.width);
  }
  const span = from.span * ratio ** t;
  const share = (span - from.span) / (to.span - from.span);
  const begin = from.begin + (to.begin - from.begin) * share;
  return new TimeScale(begin, begin + span, to.width);
}
