// Colours of memory, the same on all pages of memory.
import type { Colour } from "../../base/chart/chart_spec";
import { CATEGORIES } from "../../base/steps/step_category";

interface Look {
  colour: Colour;
  striped: boolean;
}

/** Red, orange and green, as the user documents say; stripes and order tell them apart with red-green colour blindness. */
export const STATES: Readonly<Record<"stack" | "heap" | "free", Look>> = {
  stack: { colour: { light: "#c8321f", dark: "#f2664f" }, striped: true },
  heap: { colour: 1, striped: false },
  free: { colour: 2, striped: false },
};

/** What is not known. */
export const UNKNOWN: Look = { colour: CATEGORIES.other.colour, striped: false };

/** Hues that mean neither stack nor heap nor free memory. */
const HUES = [0, 3, 4, 7, 6];

/** The look of one of many parts, by its place. */
export const partLook = (place: number): Look => ({ colour: HUES[place % HUES.length] ?? 0, striped: false });
