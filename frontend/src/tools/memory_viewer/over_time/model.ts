// The chart of memory over time, and the prediction for other sizes of the batch. Pure.
import type { StepsChart } from "../../../base/chart/chart_spec";
import { formatBytes, formatRatio } from "../../../base/format";
import { makeTable, numberColumn, textColumn } from "../../../base/table/columns";
import type { TableData } from "../../../base/table/table_data";
import type { MemoryOverTime, Series } from "./decode";

export const STACKS = ["category", "line"] as const;
export type Stack = (typeof STACKS)[number];

/** Kinds have a colour each, on all programs. */
const COLOURS: Readonly<Record<string, number>> = {
  parameter: 0,
  argument: 4,
  "kept for backward": 5,
  temporary: 2,
  output: 3,
  constant: 7,
  unknown: 6,
};

const partsOf = (found: MemoryOverTime, by: Stack): readonly Series[] => (by === "category" ? found.categories : found.lines);

const sentenceCase = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Stacked areas that add up to the heap at every instant. */
export function overTimeChart(found: MemoryOverTime, by: Stack): StepsChart {
  const parts = partsOf(found, by);
  const { shown, names, heap } = found;
  const to = Math.max(1, found.instants);
  return {
    kind: "steps",
    x: { name: "Program order (events of the HLO sequence)", unit: null, from: 0, to },
    y: { name: "Memory", unit: "bytes" },
    at: [...shown],
    series: parts.map(({ name, bytes }, i) => ({
      name: by === "category" ? sentenceCase(name) : name,
      colour: by === "category" ? (COLOURS[name] ?? 6) : i,
      draw: "area" as const,
      opacity: 0.85,
      values: bytes,
    })),
    sentence: `Memory over time: ${String(shown.length)} of ${String(found.instants)} instants, peak ${formatBytes(found.peakBytes)} at instant ${String(found.peak)}.`,
    tip: (place) => {
      const all = heap[place];
      if (all === undefined) return null;
      const lines = parts
        .map(({ name, bytes }, i) => ({
          name: sentenceCase(name),
          size: bytes[place] ?? 0,
          colour: by === "category" ? (COLOURS[name] ?? 6) : i,
        }))
        .filter(({ size }) => size > 0)
        .sort((a, b) => b.size - a.size)
        .map(({ name, size, colour }) => ({ name, text: formatBytes(size), colour }));
      const title = names[place] ? `After ${names[place]}` : "Before the first event";
      return { title, lines: [{ name: "Sum", text: formatBytes(all), colour: null }, ...lines] };
    },
    table: () => overTimeTable(found, by),
  };
}

export function overTimeTable(found: MemoryOverTime, by: Stack): TableData {
  return makeTable([
    numberColumn("instant", "Instant", null, "Events of the heap simulation before it.", found.shown),
    textColumn("name", "Instruction", "Of the event before it.", found.names),
    numberColumn("heap", "Sum", "bytes", "Memory in use.", found.heap),
    ...partsOf(found, by).map(({ name, bytes }, i) => numberColumn(`part_${String(i)}`, sentenceCase(name), "bytes", null, bytes)),
  ]);
}

/** The peak at `k` times the batch. */
export function peakAt({ corners }: Pick<MemoryOverTime, "corners">, k: number): number {
  return corners.reduce((most, [fixed, scaled]) => Math.max(most, fixed + k * scaled), 0);
}

/** The largest factor of the batch that fits into a device; null if every one does, or none. */
export function largestFactor({ corners }: Pick<MemoryOverTime, "corners">, device: number): number | null {
  const factors = corners.map(([fixed, scaled]) => (scaled > 0 ? (device - fixed) / scaled : fixed > device ? 0 : Infinity));
  const least = Math.min(...factors);
  return Number.isFinite(least) && least > 0 ? least : null;
}

/** What the slider says. */
export function fitSentence(found: MemoryOverTime, k: number): string {
  const predicted = peakAt(found, k);
  const { batch, peakBytes, deviceBytes } = found;
  const size = batch > 0 ? ` (${String(batch)} to ${String(Math.round(batch * k))})` : "";
  const change = peakBytes > 0 ? `, ${formatRatio(predicted / peakBytes)} times today's ${formatBytes(peakBytes)}` : "";
  const parts = [`Batch × ${formatRatio(k)}${size}: peak of ${formatBytes(predicted)}${change}.`];
  if (deviceBytes > 0) {
    const left = deviceBytes - predicted;
    const most = largestFactor(found, deviceBytes);
    parts.push(
      left >= 0
        ? `It fits: ${formatBytes(left)} of ${formatBytes(deviceBytes)} stay free.`
        : `It does not fit: ${formatBytes(-left)} are missing.`,
    );
    if (most !== null) parts.push(`The largest that fits is about × ${formatRatio(most)}.`);
  }
  return parts.join(" ");
}

/** A list of numbers in the address with one more, or without it. */
export function toggled(list: string | null, number: number, wanted: boolean): string | null {
  const numbers = new Set((list ?? "").split(",").filter(Boolean));
  if (wanted) numbers.add(String(number));
  else numbers.delete(String(number));
  return [...numbers].sort((a, b) => Number(a) - Number(b)).join(",") || null;
}
