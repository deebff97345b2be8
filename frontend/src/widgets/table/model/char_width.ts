// The mean character width of the table's font, for column widths and cut texts.

const SAMPLE = "%fusion.1234 = bf16[128,1024]{1,0} XLA Modules step count";
const GUESS_PX = 7;
/** Texts with many digits or capitals are wider than the mean by this factor. */
export const WIDEST = 1.12;
let known: number | null = null;

/** Mean width in pixels of a character; measured once, a guess without a layout. */
export function charWidth(): number {
  if (known !== null) return known;
  const probe = document.createElement("span");
  probe.className = "off-screen measure";
  probe.textContent = SAMPLE;
  document.body.append(probe);
  const width = probe.getBoundingClientRect().width;
  probe.remove();
  if (width <= 0) return GUESS_PX;
  known = width / SAMPLE.length;
  return known;
}
