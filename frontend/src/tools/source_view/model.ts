// What the page says in its headline, and the tree as a table for CSV. Pure.
import { formatBytes, formatPercent, formatTime } from "../../base/format";
import { numberColumn, textColumn, makeTable } from "../../base/table/columns";
import type { TableColumn, TableData } from "../../base/table/table_data";
import { overCores } from "../../page/op_request";
import type { Source } from "../../base/documents";
import { LABELS, UNITS } from "./grid";
import { buffersOf, difference, opsOf, placesOf } from "./tree";
import type { Frame, Measure, Node } from "./tree";

const shown = ({ file, function: name, line }: Frame): string =>
  `${file.replace(/^.*[\\/]/, "")}:${String(line)}${name === "" ? "" : ` (${name})`}`;

/** The line with most of something; null if nothing has a line. */
function largest(places: readonly (Frame | null)[], of: (line: number) => number): { place: Frame; value: number } | null {
  const best = places.reduce<number | null>((most, place, i) => (place !== null && (most === null || of(i) > of(most)) ? i : most), null);
  const place = best === null ? null : (places[best] ?? null);
  return best === null || place === null || of(best) <= 0 ? null : { place, value: of(best) };
}

const sumsOf = <T>(items: readonly T[], lineOf: (item: T) => number, valueOf: (item: T) => number): ((line: number) => number) => {
  const sums = new Map<number, number>();
  for (const item of items) sums.set(lineOf(item), (sums.get(lineOf(item)) ?? 0) + valueOf(item));
  return (line) => sums.get(line) ?? 0;
};

const WHERE: Readonly<Record<string, string>> = {
  device: "device time",
  cpu: "op time on the CPU",
  "framework device": "device time",
  "framework host": "op time on the host",
};

export function summaryOf(source: Source): { headline: string; lines: string[] } {
  const [places, ops] = [placesOf(source), opsOf(source)];
  const total = ops.reduce((sum, { self_ps }) => sum + self_ps, 0);
  const time = sumsOf(
    ops,
    ({ line }) => line,
    ({ self_ps }) => self_ps,
  );
  const size = sumsOf(
    buffersOf(source),
    ({ line }) => line,
    (buffer) => buffer.size,
  );
  const percent = (part: number, all: number): string => formatPercent(all > 0 ? (100 * part) / all : 0);
  const what = WHERE[source.place] ?? "op time";
  const [slowest, biggest] = [largest(places, time), largest(places, size)];
  const none = places.findIndex((place) => place === null);
  const lost = none < 0 ? 0 : time(none);
  const lines = [`${formatTime(total)} of ${what}${overCores(source.cores || null)}.`];
  if (slowest !== null)
    lines[0] +=
      lost > 0 ? ` ${percent(lost, total)} has no location: its ops are in the row "no location".` : " All of it has a source line.";
  else if (ops.some(({ category }) => category.startsWith("aten::"))) lines.push("PyTorch's profiler records lines with with_stack=True.");
  if (source.memory !== null) {
    const { program, peak_bytes: peak } = source.memory;
    lines.push(
      `Memory peak of ${program}: ${formatBytes(peak)}` +
        (biggest === null ? "." : `, ${percent(biggest.value, peak)} of it for ${shown(biggest.place)}.`),
    );
  }
  const headline =
    slowest === null
      ? `No op has a source line: ${what} by name scope`
      : `${percent(slowest.value, total)} of the ${what} comes from ${shown(slowest.place)}`;
  return { headline, lines };
}

/** All nodes of the tree in its order, with exact values. */
export function treeTable(root: Node, measures: readonly Measure[], withBase: boolean): TableData {
  const nodes: { node: Node; depth: number }[] = [];
  const walk = (node: Node, depth: number): void => {
    nodes.push({ node, depth });
    node.children.forEach((child) => walk(child, depth + 1));
  };
  root.children.forEach((child) => walk(child, 0));
  const text = (id: string, label: string, of: (node: Node) => string): TableColumn =>
    textColumn(
      id,
      label,
      null,
      nodes.map(({ node }) => of(node)),
    );
  const number = (id: string, label: string, unit: string | null, of: (node: Node) => number | null): TableColumn =>
    numberColumn(
      id,
      label,
      unit,
      null,
      nodes.map(({ node }) => of(node)),
    );
  return makeTable([
    numberColumn(
      "depth",
      "Depth",
      null,
      null,
      nodes.map(({ depth }) => depth),
    ),
    text("kind", "Kind", ({ kind }) => (kind === "none" ? "no location" : kind)),
    text("name", "Name", ({ label }) => label),
    text("file", "File", ({ place }) => place?.file ?? ""),
    number("line", "Line", null, ({ place }) => (place !== null && place.line > 0 ? place.line : null)),
    ...measures.flatMap((one) => [
      number(one, LABELS[one], UNITS[one], ({ sums }) => sums[one] || null),
      ...(withBase
        ? [
            number(`base_${one}`, `${LABELS[one]}, base`, UNITS[one], ({ base }) => base?.[one] ?? null),
            number(`difference_${one}`, `Δ ${LABELS[one]}`, UNITS[one], (node) => difference(node, one)),
          ]
        : []),
    ]),
    number("runs", "Runs", null, ({ sums }) => sums.runs || null),
  ]);
}
