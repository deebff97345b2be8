// The address of a source line on the page Source, from pages that show a line.
import type { Patch } from "../widgets/content/link";
import { toolPatch } from "./page_state";

const SOURCE_TOOL = "source_view";

/** `FILE:LINE` of a source cell, which may say that it is of another op: `a.py:3 (of add.1)` -> `a.py:3`. */
export const plainPlace = (source: string): string => source.replace(/ \(of [^()]*\)$/, "");

/** Opens the line `FILE:LINE`; the keys in `own` are those of the page that it is left for. */
export function sourceLink(host: string | null, own: readonly string[], place: string, more: Readonly<Record<string, string>> = {}): Patch {
  return toolPatch(SOURCE_TOOL, host, own, { line: plainPlace(place), ...more });
}

/** Opens the line of an op, by its name or that of its framework op. */
export function sourceOfOp(host: string | null, own: readonly string[], op: string): Patch {
  return toolPatch(SOURCE_TOOL, host, own, { op });
}
