// Draws the frames of a flame graph that a window shows onto a canvas.
import { mix, nameColour, parseHex, textOn, toHex } from "../../base/colour";
import type { Theme } from "../../base/colour";
import { blocksOf, change } from "../../base/flame/flame";
import type { Flame, FlameWindow } from "../../base/flame/flame";

export const ROW_PX = 18;
const FONT_PX = 12;
const PADDING = 4;
/** Narrower frames have no text. */
const LEAST_TEXT_PX = 24;

export interface Colours {
  theme: Theme;
  ground: string;
  text: string;
  dim: string;
  focus: string;
  hatch: string;
}

/** What is drawn over the frames. */
export interface Marks {
  /** Frame under the pointer or selected by keyboard; -1 for none. */
  hovered: number;
  selected: number;
  /** Per frame, whether the search found it; null without a search. */
  hits: Uint8Array | null;
}

export interface View extends FlameWindow {
  width: number;
  height: number;
  /** Pixels that are scrolled away. */
  scroll: number;
  /** Callers below what they call. */
  flipped: boolean;
}

/** Top edge of a depth. */
export function topOf(depth: number, { height, scroll, flipped }: Pick<View, "height" | "scroll" | "flipped">): number {
  return flipped ? height - (depth + 1) * ROW_PX + scroll : depth * ROW_PX - scroll;
}

/** The depth at a height; may be beyond the deepest. */
export function depthAt(y: number, { height, scroll, flipped }: Pick<View, "height" | "scroll" | "flipped">): number {
  return Math.floor((flipped ? height - y + scroll : y + scroll) / ROW_PX);
}

const MORE = { light: parseHex("#d55e00"), dark: parseHex("#ef7f3c") };
const LESS = { light: parseHex("#0072b2"), dark: parseHex("#4fa3dc") };
const SAME = { light: parseHex("#e4e8ee"), dark: parseHex("#3a4350") };

/** Orange: more than in the base, blue: less; the larger the change, the stronger. */
export function changeColour(by: number, theme: Theme): string {
  return toHex(mix(SAME[theme], (by > 0 ? MORE : LESS)[theme], Math.min(1, Math.abs(by))));
}

function fillOf(flame: Flame, frame: number, theme: Theme): string {
  const node = flame.nodes[frame];
  if (node === undefined) return "#888888";
  if (flame.hasBase) return changeColour(change(node), theme);
  return frame === 0 ? toHex(SAME[theme]) : nameColour(node.name, theme);
}

/** Text that fits into a width, cut at its end; "" if too little of it does. */
function fitted(text: string, width: number, letter: number): string {
  const room = Math.floor((width - 2 * PADDING) / letter);
  if (text.length <= room) return text;
  return room < 3 ? "" : `${text.slice(0, room - 1)}…`;
}

/** Draws all that is visible; returns the number of blocks. */
export function drawFlame(canvas: CanvasRenderingContext2D, flame: Flame, view: View, colours: Colours, marks: Marks): number {
  canvas.fillStyle = colours.ground;
  canvas.fillRect(0, 0, view.width, view.height);
  canvas.font = `${String(FONT_PX)}px ui-monospace, Menlo, Consolas, "Liberation Mono", monospace`;
  canvas.textBaseline = "middle";
  const letter = canvas.measureText("m").width || 7;
  const [a, b] = [depthAt(0, view), depthAt(view.height - 1, view)];
  let blocks = 0;
  for (let depth = Math.max(0, Math.min(a, b)); depth <= Math.min(flame.rows.length - 1, Math.max(a, b)); depth++) {
    const y = topOf(depth, view);
    blocksOf(flame, depth, view, view.width, (frame, count, x, width) => {
      blocks += 1;
      if (count > 1) drawMerged(canvas, x, y, width, colours);
      else drawFrame(canvas, flame, frame, { x, y, width, letter }, colours, marks);
    });
  }
  return blocks;
}

interface Box {
  x: number;
  y: number;
  width: number;
  letter: number;
}

function drawFrame(
  canvas: CanvasRenderingContext2D,
  flame: Flame,
  frame: number,
  { x, y, width, letter }: Box,
  colours: Colours,
  { hovered, selected, hits }: Marks,
): void {
  const fill = fillOf(flame, frame, colours.theme);
  const faded = hits !== null && hits[frame] !== 1;
  canvas.globalAlpha = faded ? 0.3 : 1;
  canvas.fillStyle = fill;
  canvas.fillRect(x, y, Math.max(1, width - (width > 3 ? 1 : 0)), ROW_PX - 1);
  const name = width >= LEAST_TEXT_PX ? fitted(flame.nodes[frame]?.name ?? "", width, letter) : "";
  if (name !== "") {
    canvas.globalAlpha = 1;
    canvas.fillStyle = faded ? colours.dim : textOn(fill);
    canvas.fillText(name, x + PADDING, y + ROW_PX / 2);
  }
  canvas.globalAlpha = 1;
  if (frame !== selected && frame !== hovered) return;
  canvas.strokeStyle = frame === selected ? colours.focus : colours.text;
  canvas.lineWidth = frame === selected ? 2 : 1;
  canvas.strokeRect(x + 1, y + 1, Math.max(1, width - 3), ROW_PX - 3);
}

/** A block of several frames is hatched. */
function drawMerged(canvas: CanvasRenderingContext2D, x: number, y: number, width: number, colours: Colours): void {
  canvas.fillStyle = toHex(SAME[colours.theme]);
  canvas.fillRect(x, y, width, ROW_PX - 1);
  canvas.strokeStyle = colours.hatch;
  canvas.lineWidth = 1;
  canvas.save();
  canvas.beginPath();
  canvas.rect(x, y, width, ROW_PX - 1);
  canvas.clip();
  canvas.beginPath();
  for (let at = x - ROW_PX; at < x + width; at += 5) {
    canvas.moveTo(at, y + ROW_PX - 1);
    canvas.lineTo(at + ROW_PX, y);
  }
  canvas.stroke();
  canvas.restore();
}
