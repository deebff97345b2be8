// The colours of the timeline: fills by name from base/colour, the rest from the CSS tokens of the theme.
import { luminance, nameColour, textOn } from "../../base/colour";
import type { Theme } from "../../base/colour";

/** All colours that drawing code uses. */
export interface Palette {
  /** Fills by colour index. */
  readonly fills: readonly string[];
  /** Label colour on each fill. */
  readonly textOnFill: readonly string[];
  readonly theme: Theme;
  readonly background: string;
  readonly sunken: string;
  readonly raised: string;
  readonly text: string;
  readonly dim: string;
  readonly border: string;
  readonly accent: string;
  readonly warn: string;
  readonly hatch: string;
  /** Area of counters. */
  readonly area: string;
  readonly font: string;
}

/** Fill of events that share the selected event's name. */
export const SAME_NAME = 0;
/** First index of the colours for names. */
export const FIRST_NAME = 1;
/** Number of colours: same name, eight hues in three tints. */
export const COLOURS = FIRST_NAME + 24;

/** Returns the value of a CSS token such as "--bg"; "" if it is not defined. */
type TokenReader = (token: string) => string;

/** The current tokens of an element, theme applied. */
export function tokensOf(element: Element): TokenReader {
  const style = getComputedStyle(element);
  return (token) => longHex(style.getPropertyValue(token).trim());
}

/** Expands "#abc" to "#aabbcc": the bundler shortens colours, base/colour parses long ones only. */
export function longHex(colour: string): string {
  return /^#[0-9a-f]{3}$/i.test(colour) ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour;
}

/** Assigns each name a fill that is the same in every response, session and browser. */
export class NameColours {
  private readonly indexOfFill = new Map<string, number>();
  readonly fills: string[] = [];

  constructor(private readonly theme: Theme) {}

  /** Colour index per string. */
  table(strings: readonly string[]): Uint8Array {
    return Uint8Array.from(strings, (name) => this.index(name));
  }

  index(name: string): number {
    const fill = nameColour(name, this.theme);
    let index = this.indexOfFill.get(fill);
    if (index === undefined) {
      index = FIRST_NAME + this.fills.length;
      this.fills.push(fill);
      this.indexOfFill.set(fill, index);
    }
    return Math.min(index, COLOURS - 1);
  }
}

/** Builds the palette of the current theme; `names` has the fills assigned so far. */
export function readPalette(read: TokenReader, names: NameColours, theme: Theme): Palette {
  const get = (token: string, fallback: string): string => read(token) || fallback;
  const background = get("--bg", theme === "light" ? "#ffffff" : "#14181e");
  const dim = get("--text-dim", "#566273");
  const accent = get("--accent", "#1f5fbf");
  const fills = [accent, ...names.fills];
  while (fills.length < COLOURS) fills.push(dim);
  return {
    fills,
    textOnFill: fills.map(textOn),
    theme,
    background,
    sunken: get("--bg-sunken", "#f4f6f8"),
    raised: get("--bg-raised", "#ffffff"),
    text: get("--text", "#1b2430"),
    dim,
    border: get("--border", "#d8dee6"),
    accent,
    warn: get("--warn", "#8a5300"),
    hatch: get("--hatch", "rgb(27 36 48 / 28%)"),
    area: get("--cat-3", "#009e73"),
    font: get("--font", "sans-serif"),
  };
}

/** The theme of the tokens, by the luminance of the background. */
export function themeOf(read: TokenReader): Theme {
  const background = read("--bg");
  return /^#[0-9a-f]{6}$/i.test(background) && luminance(background) < 0.3 ? "dark" : "light";
}
