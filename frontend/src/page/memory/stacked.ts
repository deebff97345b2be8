// The chart of memory over time, and its table: parts that add up to the memory in use at every moment. Pure.
import type { Colour, StepsChart } from "../../base/chart/chart_spec";
import { formatBytes } from "../../base/format";
import { makeTable, numberColumn } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";

export interface Part {
  name: string;
  bytes: readonly number[];
  colour: Colour;
  striped?: boolean;
}

/** Memory at some moments, ascending. */
export interface MemoryParts {
  x: StepsChart["x"];
  at: readonly number[];
  heap: readonly number[];
  parts: readonly Part[];
  sentence: string;
  /** The title of a moment's tip. */
  titleAt: (place: number) => string;
  /** Columns of the table that tell a moment. */
  moments: () => ReturnType<typeof makeTable>["columns"][number][];
}

const sentenceCase = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Stacked areas that add up to the heap at every moment. */
export function stackedChart(memory: MemoryParts): StepsChart {
  const { x, at, heap, parts, sentence, titleAt } = memory;
  return {
    kind: "steps",
    x,
    y: { name: "Memory", unit: "bytes" },
    at: [...at],
    series: parts.map(({ name, bytes, colour, striped = false }) => ({
      name: sentenceCase(name),
      colour,
      striped,
      draw: "area" as const,
      opacity: 0.85,
      values: bytes,
    })),
    sentence,
    tip: (place) => {
      const all = heap[place];
      if (all === undefined) return null;
      const lines = parts
        .map(({ name, bytes, colour }) => ({ name: sentenceCase(name), size: bytes[place] ?? 0, colour }))
        .filter(({ size }) => size > 0)
        .sort((a, b) => b.size - a.size)
        .map(({ name, size, colour }) => ({ name, text: formatBytes(size), colour }));
      return { title: titleAt(place), lines: [{ name: "Sum", text: formatBytes(all), colour: null }, ...lines] };
    },
    table: () => stackedTable(memory),
  };
}

export function stackedTable({ heap, parts, moments }: MemoryParts): TableData {
  return makeTable([
    ...moments(),
    numberColumn("heap", "Sum", "bytes", "Memory in use.", heap),
    ...parts.map(({ name, bytes }, i) => numberColumn(`part_${String(i)}`, sentenceCase(name), "bytes", null, bytes)),
  ]);
}
