// The chart of memory over time, and the prediction for other sizes of the batch. Pure.
import type { StepsChart } from "../../../base/chart/chart_spec";
import { formatBytes, formatRatio } from "../../../base/format";
import { numberColumn, textColumn } from "../../../base/table/columns";
import type { TableData } from "../../../base/table/table_data";
import { stackedChart, stackedTable } from "../../../page/memory/stacked";
import { STATES, UNKNOWN, partLook } from "../../../page/memory/palette";
import type { MemoryParts } from "../../../page/memory/stacked";
import type { ProgramMemoryOverTime } from "../../../base/documents";

export const STACKS = ["category", "line"] as const;
export type Stack = (typeof STACKS)[number];

/** Kinds have a colour each, on all programs; temporaries are what allocators count as stack. */
const LOOKS: Readonly<Record<string, ReturnType<typeof partLook>>> = {
  parameter: partLook(0),
  output: partLook(1),
  argument: partLook(2),
  constant: partLook(3),
  "kept for backward": partLook(4),
  temporary: STATES.stack,
};

/** Stacked areas that add up to the heap at every instant. */
export const overTimeChart = (found: ProgramMemoryOverTime, by: Stack): StepsChart => stackedChart(partsOf(found, by));
export const overTimeTable = (found: ProgramMemoryOverTime, by: Stack): TableData => stackedTable(partsOf(found, by));

function partsOf(found: ProgramMemoryOverTime, by: Stack): MemoryParts {
  const { shown, names, heap, instants } = found;
  return {
    x: { name: "Program order (events of the HLO sequence)", unit: null, from: 0, to: Math.max(1, instants) },
    at: shown,
    heap,
    parts:
      by === "category"
        ? found.categories.map(({ name, bytes }) => ({ name, bytes, ...(LOOKS[name] ?? UNKNOWN) }))
        : found.lines.map(({ label, bytes }, i) => ({ name: label, bytes, ...partLook(i) })),
    sentence:
      `Memory over time: ${String(shown.length)} of ${String(instants)} instants, ` +
      `peak ${formatBytes(found.peak_bytes)} at instant ${String(found.peak)}.`,
    titleAt: (place) => (names[place] ? `After ${names[place]}` : "Before the first event"),
    moments: () => [
      numberColumn("instant", "Instant", null, "Events of the heap simulation before it.", shown),
      textColumn("name", "Instruction", "Of the event before it.", names),
    ],
  };
}

/** The peak at `k` times the batch. */
export function peakAt({ corners }: Pick<ProgramMemoryOverTime, "corners">, k: number): number {
  return corners.reduce((most, [fixed, scaled, above]) => (k > above ? Math.max(most, fixed + k * scaled) : most), 0);
}

/** The largest factor of the batch that fits into a device; null if every one does, or none. */
export function largestFactor({ corners }: Pick<ProgramMemoryOverTime, "corners">, device: number): number | null {
  const factors = corners.map(([fixed, scaled, above]) =>
    Math.max(above, scaled > 0 ? (device - fixed) / scaled : fixed > device ? 0 : Infinity),
  );
  const least = Math.min(...factors);
  return Number.isFinite(least) && least > 0 ? least : null;
}

/** What the slider says. */
export function fitSentence(found: ProgramMemoryOverTime, k: number): string {
  const predicted = peakAt(found, k);
  const { batch, peak_bytes: peakBytes, device_bytes: deviceBytes } = found;
  const size = batch > 0 ? ` (${String(batch)} to ${String(Math.round(batch * k))})` : "";
  const change = peakBytes > 0 ? `, ${formatRatio(predicted / peakBytes)} times today's ${formatBytes(peakBytes)}` : "";
  const [least, most] = k === 1 ? [1, 1] : found.recompiled;
  const range = k === 1 ? "" : ` (${formatBytes(least * predicted)} to ${formatBytes(most * predicted)} if the compiler fuses otherwise)`;
  const parts = [`Batch × ${formatRatio(k)}${size}: peak of ${formatBytes(predicted)}${range}${change}.`];
  if (deviceBytes > 0) {
    const left = deviceBytes - predicted;
    const largest = largestFactor(found, deviceBytes);
    const sure = most * predicted <= deviceBytes || least * predicted > deviceBytes;
    parts.push(
      left >= 0
        ? `It ${sure ? "fits" : "probably fits"}: ${formatBytes(left)} of ${formatBytes(deviceBytes)} stay free.`
        : `It ${sure ? "does not fit" : "probably does not fit"}: ${formatBytes(-left)} are missing.`,
    );
    if (largest !== null) parts.push(`The largest that fits is about × ${formatRatio(largest)}.`);
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
