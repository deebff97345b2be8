// Widths of texts in the table's font: a mean for columns, measured for texts that may have to be cut.
import { cutMiddle } from "../../../base/format";

const SAMPLE = "%fusion.1234 = bf16[128,1024]{1,0} XLA Modules step count";
const GUESS_PX = 7;
/** Texts with many digits or capitals are wider than the mean by this factor. */
export const WIDEST = 1.12;
let known: number | null = null;
let canvas: CanvasRenderingContext2D | null = null;

/** Mean width in pixels of a character; measured once, a guess without a layout. */
export function charWidth(): number {
  if (known !== null) return known;
  const probe = document.createElement("span");
  probe.className = "off-screen measure";
  probe.textContent = SAMPLE;
  document.body.append(probe);
  const width = probe.getBoundingClientRect().width;
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(probe);
  probe.remove();
  if (width <= 0) return GUESS_PX;
  known = width / SAMPLE.length;
  canvas = document.createElement("canvas").getContext("2d");
  if (canvas) canvas.font = `${fontWeight} ${fontSize} ${fontFamily}`;
  return known;
}

const LEAST_CHARS = 4;
/** No font has narrower letters on the average of a text. */
const NARROWEST_PX = 4;

/** The text if it fits into so many pixels, else without its middle. */
export function fitted(text: string, pixels: number): string {
  const mean = charWidth() * WIDEST;
  if (text.length * mean <= pixels) return text;
  const measured = (shown: string): number => canvas?.measureText(shown).width ?? shown.length * mean;
  let most = Math.min(text.length, Math.ceil(pixels / NARROWEST_PX));
  for (;;) {
    const shown = cutMiddle(text, most);
    const width = measured(shown);
    if (width <= pixels || most <= LEAST_CHARS) return shown;
    most = Math.max(LEAST_CHARS, Math.min(most - 1, Math.floor((most * pixels) / width)));
  }
}
