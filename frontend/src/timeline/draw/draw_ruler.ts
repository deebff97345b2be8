// Draws the time axis above the tracks, and below it the program's steps if the trace has any.
import type { TimeScale } from "../../base/time_scale";
import { AXIS_HEIGHT, STEPS_HEIGHT, pathTop, rulerHeight } from "../layout/layout";
import type { DrawContext } from "./context";
import { drawPathBand } from "./draw_path";
import type { Palette } from "./palette";
import type { TextFit } from "./text_fit";
import type { Ticks } from "../data/ticks";
import type { BindingPath, PieceIndex } from "../data/binding_path";
import type { Trace } from "../data/trace";
import type { CssPx } from "../data/units";

/** Least distance of two ticks. */
export const TICK_GAP: CssPx = 112;
/** Distance of a label from its tick. */
export const TICK_LABEL: CssPx = 4;

/** The binding path and its current piece, and the fill of stripes. */
export interface PathBand {
  readonly path: BindingPath;
  readonly piece: PieceIndex;
  readonly hatch: CanvasPattern | string;
}

/** Draws ticks, labels, steps and the binding path, if there is one; `text` measures in device pixels. */
export function drawRuler(
  context: DrawContext,
  trace: Trace,
  scale: TimeScale,
  marks: Ticks,
  ratio: number,
  palette: Palette,
  text: TextFit,
  band: PathBand | null = null,
): void {
  const width = Math.round(scale.width * ratio);
  const height = Math.round(rulerHeight({ trace, path: band?.path ?? null }) * ratio);
  const line = Math.max(1, Math.round(ratio));
  context.fillStyle = palette.raised;
  context.fillRect(0, 0, width, height);
  context.font = `${11 * ratio}px ${palette.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const axis = Math.round(AXIS_HEIGHT * ratio);
  const minorStep = (marks.times[1] ?? 0) - (marks.times[0] ?? 0);
  marks.times.forEach((time, i) => {
    const x = Math.round(scale.toPx(time) * ratio);
    context.fillStyle = palette.dim;
    context.fillRect(x, axis - Math.round(8 * ratio), line, Math.round(8 * ratio));
    context.fillStyle = palette.text;
    const label = marks.labels[i]!;
    const left = x + TICK_LABEL * ratio;
    // half of a number at the edge reads as another one
    if (left + text.width(label) <= width) context.fillText(label, left, axis / 2);
    context.fillStyle = palette.border;
    for (let k = 1; k < 5 && minorStep > 0; k++) {
      const minor = Math.round(scale.toPx(time + (minorStep * k) / 5) * ratio);
      context.fillRect(minor, axis - Math.round(4 * ratio), line, Math.round(4 * ratio));
    }
  });
  if (trace.steps) drawSteps(context, trace, scale, ratio, palette, text);
  if (band) {
    const place = { scale, ratio, top: Math.round(pathTop(trace) * ratio) };
    drawPathBand(context, band.path, band.piece, place, { palette, hatch: band.hatch, text });
  }
  context.fillStyle = palette.border;
  context.fillRect(0, height - line, width, line);
}

function drawSteps(context: DrawContext, trace: Trace, scale: TimeScale, ratio: number, palette: Palette, text: TextFit): void {
  const steps = trace.steps;
  if (steps === null) return;
  const top = Math.round(AXIS_HEIGHT * ratio);
  const height = Math.round((STEPS_HEIGHT - 2) * ratio);
  let taken = -1;
  for (let i = 0; i < steps.begin.length; i++) {
    const begin = steps.begin[i]!;
    const end = begin + steps.duration[i]!;
    if (end < scale.begin || begin > scale.end) continue;
    const x0 = Math.max(Math.floor(scale.toPx(begin) * ratio), 0);
    const x1 = Math.min(Math.max(Math.floor(scale.toPx(end) * ratio), x0 + 1), scale.width * ratio);
    if (x1 <= taken) continue;
    taken = x1;
    // alternating shades separate neighbours without using a meaningful colour
    context.fillStyle = i % 2 === 0 ? palette.sunken : palette.border;
    context.fillRect(x0, top, Math.max(x1 - x0 - 1, 1), height);
    const room = x1 - x0 - 8 * ratio;
    const label = room > 12 * ratio ? text.fit(trace.strings[steps.name[i]!] ?? "", room) : "";
    if (label === "") continue;
    context.fillStyle = palette.text;
    context.fillText(label, x0 + 4 * ratio, top + height / 2);
  }
}
