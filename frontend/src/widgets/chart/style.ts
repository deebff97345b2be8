// Colours and fonts of charts, read from the CSS tokens of the current theme.
import { categoryColour } from "../../base/colour";
import type { Theme } from "../../base/colour";
import type { Colour } from "../../base/chart/chart_spec";

export interface ChartStyle {
  theme: Theme;
  text: string;
  dim: string;
  border: string;
  background: string;
  sunken: string;
  accent: string;
  font: string;
  /** Width of the drawing in px. */
  width: number;
}

/** The style of the page around an element. */
export function readStyle(element: Element): ChartStyle {
  const style = getComputedStyle(element);
  const get = (token: string, fallback: string): string => style.getPropertyValue(token).trim() || fallback;
  return {
    theme: document.documentElement.dataset["theme"] === "dark" ? "dark" : "light",
    text: get("--text", "#1b2430"),
    dim: get("--text-dim", "#566273"),
    border: get("--border", "#d8dee6"),
    background: get("--bg", "#ffffff"),
    sunken: get("--bg-sunken", "#f4f6f8"),
    accent: get("--accent", "#1f5fbf"),
    font: get("--font", "sans-serif"),
    width: element.clientWidth,
  };
}

/** A colour of a chart in a theme. */
export function fill(colour: Colour, theme: Theme): string {
  return typeof colour === "number" ? categoryColour(colour, theme) : colour[theme];
}

/** Diagonal stripes, as a tile: Firefox draws few of the stripes of a repeating gradient in a wide element. */
function stripes(of: string, and: string): string {
  return `linear-gradient(45deg, ${of} 33%, ${and} 33% 50%, ${of} 50% 83%, ${and} 83%) 0 0 / 8px 8px`;
}

/** Style properties of a colour swatch. */
export function swatchStyle(colour: Colour, theme: Theme, striped = false): Record<string, string> {
  const colourOf = fill(colour, theme);
  return striped ? { background: stripes(colourOf, `color-mix(in srgb, ${colourOf} 72%, white)`) } : { background: colourOf };
}
