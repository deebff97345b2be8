// Conversion between time and pixels: a window of picoseconds over a width.
import type { Ps } from "./format";

/** Device-independent pixels from the left edge of the drawing. */
type Px = number;

interface Tick {
  at: Ps;
  px: Px;
}

/** An immutable window [begin, end) laid over `width` pixels. */
export class TimeScale {
  constructor(
    readonly begin: Ps,
    readonly end: Ps,
    readonly width: Px,
  ) {}

  get span(): Ps {
    return this.end - this.begin;
  }

  get psPerPx(): number {
    return this.span / Math.max(1, this.width);
  }

  toPx(at: Ps): Px {
    return (at - this.begin) / this.psPerPx;
  }

  toTime(px: Px): Ps {
    return this.begin + px * this.psPerPx;
  }

  /** Moves the window by pixels; positive values show later times. */
  pan(px: Px): TimeScale {
    const by = px * this.psPerPx;
    return new TimeScale(this.begin + by, this.end + by, this.width);
  }

  /** Scales the window about the time under `px`; a factor below 1 zooms in. */
  zoom(factor: number, px: Px): TimeScale {
    const fixed = this.toTime(px);
    return new TimeScale(fixed + (this.begin - fixed) * factor, fixed + (this.end - fixed) * factor, this.width);
  }

  /** Keeps the window inside [low, high] and at least `minSpan` long; a longer one becomes [low, high]. */
  clamp(low: Ps, high: Ps, minSpan: Ps): TimeScale {
    const span = Math.min(Math.max(this.span, minSpan), Math.max(high - low, minSpan));
    const centre = (this.begin + this.end) / 2;
    const begin = Math.max(low, Math.min(centre - span / 2, high - span));
    return new TimeScale(begin, begin + span, this.width);
  }

  /** Round times (1, 2, 5 times a power of ten) at least `minPx` apart. */
  ticks(minPx: Px): Tick[] {
    const step = tickStep(this.psPerPx * minPx);
    const ticks: Tick[] = [];
    // Counting in whole steps keeps the positions exact where repeated addition would drift.
    const last = Math.floor(this.end / step);
    for (let i = Math.ceil(this.begin / step); i <= last; i++) ticks.push({ at: i * step, px: this.toPx(i * step) });
    return ticks;
  }
}

/** The smallest of 1, 2, 5 times a power of ten that is not below `least`; never under one picosecond. */
export function tickStep(least: Ps): Ps {
  if (!(least > 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}
