// Draws the binding path: its pieces below the ruler, and a shade over all events that are not on it.
import { textOn } from "../../base/colour";
import type { TimeScale } from "../../base/time_scale";
import { pieceEndingAfter } from "../data/binding_path";
import type { BindingPath, PieceIndex } from "../data/binding_path";
import type { CssPx, DevicePx } from "../data/units";
import type { ScreenRect } from "../layout/event_rects";
import { PATH_HEIGHT } from "../layout/layout";
import type { DrawContext } from "./context";
import type { Palette } from "./palette";
import type { TextFit } from "./text_fit";

/** How much of what is not on the path is covered. */
const SHADE = 0.66;
/** Pieces narrower than this have no label, and striped parts no stripes. */
const LABEL_WIDTH: CssPx = 40;
const STRIPES_WIDTH: CssPx = 4;

/** Draws the pieces from `top` on; `piece` is outlined. A pixel that several share has the colour of the longest. */
export function drawPathBand(
  context: DrawContext,
  path: BindingPath,
  piece: PieceIndex,
  place: { readonly scale: TimeScale; readonly ratio: number; readonly top: DevicePx },
  look: { readonly palette: Palette; readonly hatch: CanvasPattern | string; readonly text: TextFit },
): void {
  const { scale, ratio, top } = place;
  const { palette, hatch, text } = look;
  const height = Math.round((PATH_HEIGHT - 2) * ratio);
  const pixel = (time: number): DevicePx => Math.floor(scale.toPx(time) * ratio);
  const width = Math.round(scale.width * ratio);
  for (let i = pieceEndingAfter(path, scale.begin); i < path.length && path.begin[i]! < scale.end; i++) {
    const x0 = Math.max(pixel(path.begin[i]!), 0);
    let x1 = Math.min(Math.max(pixel(path.begin[i]! + path.duration[i]!), x0 + 1), width);
    let longest = i;
    // pieces within the same pixel
    for (; x1 === x0 + 1 && i + 1 < path.length && pixel(path.begin[i + 1]! + path.duration[i + 1]!) <= x0; i++) {
      if (path.duration[i + 1]! > path.duration[longest]!) longest = i + 1;
    }
    if (x1 - x0 >= 3 * ratio) x1 -= Math.max(1, Math.round(ratio));
    const part = path.parts[path.part[longest]!];
    if (part === undefined || x1 <= x0) continue;
    const fill = part.fill[palette.theme];
    context.fillStyle = fill;
    context.fillRect(x0, top, x1 - x0, height);
    if ((part.striped || path.count[longest]! > 1) && x1 - x0 >= STRIPES_WIDTH * ratio) {
      context.fillStyle = hatch;
      context.fillRect(x0, top, x1 - x0, height);
    }
    const room = x1 - x0 - 8 * ratio;
    const label = room >= LABEL_WIDTH * ratio ? text.fit(part.name, room) : "";
    if (label === "") continue;
    context.fillStyle = textOn(fill);
    context.fillText(label, x0 + 4 * ratio, top + height / 2);
  }
  if (piece < 0 || piece >= path.length) return;
  const x0 = pixel(path.begin[piece]!);
  const x1 = Math.max(pixel(path.begin[piece]! + path.duration[piece]!), x0 + Math.round(3 * ratio));
  const line = Math.max(2, Math.round(2 * ratio));
  context.strokeStyle = palette.text;
  context.lineWidth = line;
  context.strokeRect(x0 + line / 2, top + line / 2 - 1, x1 - x0 - line, height - line + 2);
}

/** Covers everything but the events on the path; in CSS pixels of the rows' area. */
export function drawPathShade(
  context: DrawContext,
  rects: readonly ScreenRect[],
  size: { readonly width: CssPx; readonly height: CssPx },
  palette: Palette,
): void {
  context.fillStyle = palette.background;
  context.globalAlpha = SHADE;
  context.fillRect(0, 0, size.width, size.height);
  context.globalAlpha = 1;
  for (const { x, y, width, height } of rects) context.clearRect(x, y, Math.max(width, 2), height);
}
