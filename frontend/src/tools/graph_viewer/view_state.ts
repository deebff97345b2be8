// What the address says about the view of a module: centre, selection, opened fusions, colours.
import type { HloText } from "./text/hlo_text";
import { colouringOf } from "./times";
import type { Colouring } from "./times";

export const MAX_STEPS = 10;
const STEPS = 2;
const MOST_NODES = 1000;
const ALL_NODES = 20000;

type Parts = "both" | "graph" | "text";

export interface View {
  /** Name of the instruction or computation that is drawn; null: the entry computation. */
  name: string | null;
  /** Indices of that instruction or computation, -1: none. */
  instruction: number;
  computation: number;
  /** Name of the instruction whose details are shown. */
  selected: string | null;
  steps: number;
  /** Whether fusions are nodes, and which of them are open. */
  merged: boolean;
  opened: readonly string[];
  nodes: number;
  colouring: Colouring;
  parts: Parts;
}

/** Keys of the address that this reads. */
export const VIEW_KEYS = ["node_name", "sel", "graph_width", "merge_fusion", "expand", "max_nodes", "color", "view"] as const;

const whole = (text: string | null, least: number, most: number, otherwise: number): number =>
  Math.min(most, Math.max(least, Math.round(Number(text ?? otherwise)) || otherwise));

export function readView(get: (key: string) => string | null, hlo: HloText): View {
  const name = get("node_name")?.replace(/^%/, "") ?? null;
  const computation = name === null ? hlo.computations.findIndex((one) => one.entry) : (hlo.computationByName.get(name) ?? -1);
  // A name that both have is the computation's, as in the drawing.
  const instruction = name === null || computation >= 0 ? -1 : (hlo.byName.get(name) ?? -1);
  const [parts, selected] = [get("view"), get("sel")];
  return {
    name,
    instruction,
    computation,
    selected: selected !== null && hlo.byName.has(selected) ? selected : instruction >= 0 ? name : null,
    steps: whole(get("graph_width"), 1, MAX_STEPS, STEPS),
    merged: get("merge_fusion") !== "false",
    opened: (get("expand") ?? "").split(",").filter(Boolean),
    nodes: whole(get("max_nodes"), 1, ALL_NODES, MOST_NODES),
    colouring: colouringOf(get("color")),
    parts: parts === "graph" || parts === "text" ? parts : "both",
  };
}

/** The opened fusions with one more, or one less. */
export function toggled(opened: readonly string[], name: string): string | null {
  const next = opened.includes(name) ? opened.filter((one) => one !== name) : [...opened, name];
  return next.length ? next.join(",") : null;
}
