// The frames of a flame graph as a table: the same data for readers, copies and CSV. Pure.
import { pathOf } from "../../base/flame/flame";
import type { Flame } from "../../base/flame/flame";
import { makeTable, numberColumn, textColumn } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";

/** A row per frame in the order of the graph; `most` bounds the rows, the largest frames first. */
export function flameTable(flame: Flame, unit: string, what: string, most = Infinity): TableData {
  const all = Array.from({ length: flame.count }, (_, i) => i);
  const value = (i: number): number => flame.nodes[i]?.value ?? 0;
  const shown = all.length > most ? all.sort((a, b) => value(b) - value(a)).slice(0, most) : all;
  const of = (make: (i: number) => number | null): (number | null)[] => shown.map(make);
  const base = (i: number): number | null => flame.nodes[i]?.base ?? null;
  return makeTable([
    textColumn(
      "name",
      "Frame",
      "Scope, function or op.",
      shown.map((i) => flame.nodes[i]?.name),
    ),
    numberColumn("value", what, unit, "Of the frame and all below it.", of(value)),
    numberColumn(
      "share",
      "Share",
      "fraction",
      "Of the whole graph.",
      of((i) => (flame.total > 0 ? value(i) / flame.total : null)),
    ),
    numberColumn(
      "self",
      `${what}, self`,
      unit,
      "Without the frames below it.",
      of((i) => Math.max(0, flame.self[i] ?? 0)),
    ),
    ...(flame.hasBase
      ? [
          numberColumn("base", `${what}, base`, unit, "Of the same frame in the base.", of(base)),
          {
            ...numberColumn(
              "difference",
              `Δ ${what}`,
              unit,
              "Run minus base.",
              of((i) => value(i) - (base(i) ?? 0)),
            ),
            signed: true,
          },
        ]
      : []),
    numberColumn(
      "depth",
      "Depth",
      null,
      "Number of frames above it.",
      of((i) => flame.depth[i] ?? 0),
    ),
    textColumn(
      "path",
      "Path",
      "Frames above it and itself, the outermost first.",
      shown.map((i) => pathOf(flame, i).join(" > ")),
    ),
  ]);
}
