// Colours by name and by value, shared by canvas, charts and legends so that they agree on every page.

/** Eight hues that are distinguishable with colour blindness; the same as --cat-1..8 in tokens.css. */
export const CATEGORICAL = {
  light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5ba8"],
  dark: ["#4fa3dc", "#f0b429", "#2fbf94", "#dd93bb", "#8bcdf2", "#ef7f3c", "#d6c73a", "#a68bd1"],
} as const;

export type Theme = "light" | "dark";
type Rgb = readonly [number, number, number];

/** 32-bit FNV-1a: the same name has the same colour in every session and browser. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

/** `#rrggbb` -> bytes. */
export function parseHex(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function toHex(rgb: Rgb): string {
  return `#${rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("")}`;
}

/** Linear interpolation between two colours, t from 0 to 1. */
export function mix(from: Rgb, to: Rgb, t: number): Rgb {
  return [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t, from[2] + (to[2] - from[2]) * t];
}

/** The name without trailing numbers: `fusion.12` and `fusion.3` share a hue. */
function stem(name: string): string {
  return name.replace(/[.\d]+$/, "");
}

const TINTS = [0, 0.28, 0.5] as const;

/** The stable fill of a name: hue by its stem, one of three tints by the whole name. */
export function nameColour(name: string, theme: Theme = "light"): string {
  const hues = CATEGORICAL[theme];
  const base = parseHex(hues[hashText(stem(name)) % hues.length] ?? hues[0]);
  const tint = TINTS[(hashText(name) >>> 8) % TINTS.length] ?? 0;
  const ground: Rgb = theme === "light" ? [255, 255, 255] : [20, 24, 30];
  return toHex(mix(base, ground, tint));
}

/** Categorical hue number `index` (0-based), repeating after eight. */
export function categoryColour(index: number, theme: Theme = "light"): string {
  const hues = CATEGORICAL[theme];
  return hues[((index % hues.length) + hues.length) % hues.length] ?? hues[0];
}

// Low is red and high is green, as in the tools' documentation; the blue channel rises with the value, so that
// the order is visible with colour blindness too.
const UTILISATION = ["#b5342b", "#dd7a2e", "#e8b93e", "#86bf68", "#2aa585"].map(parseHex);

/** Colour of a utilisation from 0 (red) to 1 (green); values outside are clamped. */
export function utilisationColour(fraction: number): string {
  const x = Math.min(1, Math.max(0, Number.isNaN(fraction) ? 0 : fraction)) * (UTILISATION.length - 1);
  const i = Math.min(Math.floor(x), UTILISATION.length - 2);
  const [from, to] = [UTILISATION[i], UTILISATION[i + 1]];
  return from && to ? toHex(mix(from, to, x - i)) : "#888888";
}

function channel(byte: number): number {
  const c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance of WCAG 2. */
export function luminance(hex: string): number {
  const [r, g, b] = parseHex(hex);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
}

/** Contrast ratio of WCAG 2, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** Black or white, whichever reads better on a fill. */
export function textOn(fill: string): string {
  return contrast(fill, "#10151c") >= contrast(fill, "#ffffff") ? "#10151c" : "#ffffff";
}
