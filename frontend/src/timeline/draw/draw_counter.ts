// Draws counter tracks: a filled step area per track, at most two points per pixel.
import type { TimeScale } from "../../base/time_scale";
import { axisEnd, sampleAt } from "../data/counters";
import type { DrawContext } from "./context";
import type { Palette } from "./palette";
import type { Trace } from "../data/trace";
import type { CssPx, DevicePx, TrackIndex } from "../data/units";

/** Outline of one counter: x, y pairs of the step line in device pixels, on a base line. */
interface CounterArea {
  readonly points: readonly number[];
  readonly base: DevicePx;
  readonly clipTop: DevicePx;
}

export interface CounterShapes {
  readonly areas: CounterArea[];
}

/** Adds the visible part of a counter. Samples within one pixel are reduced to their maximum. */
export function addCounter(
  shapes: CounterShapes,
  trace: Trace,
  track: TrackIndex,
  scale: TimeScale,
  ratio: number,
  y: CssPx,
  height: CssPx,
  clipTop: CssPx,
): void {
  const counters = trace.counters;
  const max = axisEnd(trace, track);
  if (counters === null || max <= 0) return;
  const begin = Math.max(sampleAt(counters, track, scale.begin), counters.start[track]!);
  const end = counters.start[track + 1]!;
  const width = scale.width * ratio;
  const base = Math.round((y + height) * ratio);
  const room = Math.round((height - 3) * ratio);
  const points: number[] = [];
  let pixel = Number.NEGATIVE_INFINITY;
  let highest = base;
  let held = base;
  for (let i = begin; i < end; i++) {
    const x = Math.max(0, Math.floor(scale.toPx(counters.begin[i]!) * ratio));
    if (x > width) break;
    // NaN: nothing was measured after this point.
    const top = base - Math.round((Math.max(counters.value[i]! || 0, 0) / max) * room);
    if (x === pixel) {
      highest = Math.min(highest, top);
      points[points.length - 1] = highest;
    } else {
      // a step: level until here, then up or down
      if (points.length > 0) points.push(x, held);
      points.push(x, top);
      pixel = x;
      highest = top;
    }
    held = top;
  }
  if (points.length === 0) return;
  points.push(width, held);
  shapes.areas.push({ points, base, clipTop: Math.round(clipTop * ratio) });
}

/** Fills and outlines all counters. */
export function drawCounters(context: DrawContext, shapes: CounterShapes, palette: Palette, ratio: number): void {
  for (const { points, base, clipTop } of shapes.areas) {
    context.save();
    context.beginPath();
    context.rect(0, clipTop, points[points.length - 2]!, Math.max(0, base - clipTop));
    context.clip();
    context.beginPath();
    context.moveTo(points[0]!, base);
    for (let i = 0; i < points.length; i += 2) context.lineTo(points[i]!, points[i + 1]!);
    context.lineTo(points[points.length - 2]!, base);
    context.closePath();
    context.fillStyle = palette.area;
    context.globalAlpha = 0.6;
    context.fill();
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(points[0]!, points[1]!);
    for (let i = 2; i < points.length; i += 2) context.lineTo(points[i]!, points[i + 1]!);
    context.strokeStyle = palette.area;
    context.lineWidth = Math.max(1, ratio);
    context.stroke();
    context.restore();
  }
}
