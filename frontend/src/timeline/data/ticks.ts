// Ruler ticks and formatting of points in time. On the axis of the timeline, 0 is the start of the recording.
import { TimeScale, tickStep } from "../../base/time_scale";
import type { CssPx, Ps } from "./units";

/** Columns of ticks. */
export interface Ticks {
  /** Absolute times. */
  readonly times: readonly Ps[];
  readonly labels: readonly string[];
}

const UNITS: readonly (readonly [Ps, string])[] = [
  [1e12, "s"],
  [1e9, "ms"],
  [1e6, "us"],
  [1e3, "ns"],
  [1, "ps"],
];
/** Most decimals before a smaller unit is chosen: on the axis, and in texts. */
const TICK_DECIMALS = 4;
const INSTANT_DECIMALS = 6;

/** Ticks of the visible window at least `gap` pixels apart; `origin` is time zero. */
export function ticks(scale: TimeScale, origin: Ps, gap: CssPx): Ticks {
  const shifted = new TimeScale(scale.begin - origin, scale.end - origin, scale.width);
  const shiftedTicks = shifted.ticks(gap);
  const step = tickStep(scale.psPerPx * gap);
  const unit = unitFor(Math.max(Math.abs(shifted.end), step), step, TICK_DECIMALS);
  return {
    times: shiftedTicks.map((tick) => tick.at + origin),
    labels: shiftedTicks.map((tick) => `${decimal(tick.at / unit[0], step / unit[0])} ${unit[1]}`),
  };
}

/** A point in time with enough digits to resolve `precision`: "12 345.678 us". */
export function instant(ps: Ps, precision: Ps): string {
  const step = tickStep(Math.max(precision, 1));
  const [unit, name] = unitFor(Math.max(Math.abs(ps), step), step, INSTANT_DECIMALS);
  return `${decimal(ps / unit, step / unit)} ${name}`;
}

/** The largest unit not above `largest` in which `step` needs at most `decimals` decimals. */
function unitFor(largest: Ps, step: Ps, decimals: number): readonly [Ps, string] {
  const fine = UNITS.filter(([unit]) => step / unit >= 0.999 * 10 ** -decimals);
  return fine.find(([unit]) => largest >= unit) ?? fine[fine.length - 1] ?? [1, "ps"];
}

function decimal(value: number, step: number): string {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const [whole = "", rest] = value.toFixed(decimals).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u2009");
  const clean = grouped === "-0" && !/[1-9]/.test(rest ?? "") ? "0" : grouped;
  return rest === undefined ? clean : `${clean}.${rest}`;
}
