// Truncates labels to the available width. Measuring is slow, so widths are cached per text.

/** Returns the width of a text. */
type Measure = (text: string) => number;

const ELLIPSIS = "\u2026";
/** The cache is cleared when it contains this many texts. */
const CAPACITY = 20_000;

export class TextFit {
  private readonly widths = new Map<string, number>();
  private readonly cuts = new Map<string, string>();

  constructor(private readonly measure: Measure) {}

  width(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size >= CAPACITY) this.widths.clear();
      width = this.measure(text);
      this.widths.set(text, width);
    }
    return width;
  }

  /** The text, its beginning with an ellipsis, or "" when fewer than two letters fit. */
  fit(text: string, room: number): string {
    // a letter is at least 2 wide: avoids measuring names of thousands of letters
    const head = text.length * 2 > room + 400 ? text.slice(0, Math.ceil(room / 2) + 1) : text;
    const full = this.width(head);
    if (full <= room && head.length === text.length) return text;
    const guess = Math.floor((room / full) * head.length);
    const key = `${guess}:${head}`;
    let cut = this.cuts.get(key);
    if (cut === undefined || this.width(cut) > room) {
      cut = this.cut(head, room, guess);
      if (this.cuts.size >= CAPACITY) this.cuts.clear();
      this.cuts.set(key, cut);
    }
    return cut;
  }

  private cut(text: string, room: number, guess: number): string {
    for (let letters = Math.min(guess, text.length - 1); letters >= 2; letters--) {
      const cut = text.slice(0, letters) + ELLIPSIS;
      if (this.width(cut) <= room) return cut;
    }
    return "";
  }
}
