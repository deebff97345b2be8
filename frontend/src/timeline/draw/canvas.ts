// Canvas helpers: contexts, sizes and the hatched fill of merged blocks.
import type { CssPx } from "../data/units";

/** The 2D context of a canvas; throws where the browser has none. */
export function contextOf(canvas: HTMLCanvasElement, alpha: boolean): CanvasRenderingContext2D {
  const context = canvas.getContext("2d", { alpha });
  if (context === null) throw new Error("this browser has no 2D canvas");
  return context;
}

/** Resizes a canvas to the device pixels of its CSS size; true if the size changed, which clears it. */
export function sizeCanvas(canvas: HTMLCanvasElement, width: CssPx, height: CssPx, ratio: number): boolean {
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  if (canvas.width === w && canvas.height === h) return false;
  canvas.width = w;
  canvas.height = h;
  return true;
}

/** A pattern of diagonal stripes; the plain colour where patterns are not supported. */
export function hatchPattern(target: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern | string {
  const size = Math.round(6 * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const context = tile.getContext("2d");
  if (context === null) return colour;
  context.strokeStyle = colour;
  context.lineWidth = 1.5 * ratio;
  for (const shift of [-size, 0, size]) {
    context.beginPath();
    context.moveTo(shift - 1, size + 1);
    context.lineTo(shift + size + 1, -1);
    context.stroke();
  }
  return target.createPattern(tile, "repeat") ?? colour;
}
