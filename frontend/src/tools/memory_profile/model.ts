// Summary, figures, chart and tables of the memory profile page. Pure.
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import type { Colour, Mark, StepsChart } from "../../base/chart/chart_spec";
import { amountsTable } from "../../base/table/difference";
import { STATES } from "../../page/memory/palette";
import { formatBytes, formatCount, formatExact, formatPercent, formatTime, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { pickRows, rowsWhere } from "../../base/table/transform";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import type { AllocatorMemory, MemoryProfile } from "../../base/documents";

/** The states of memory, in the order of the stack. */
export const PARTS: Readonly<Record<"stack" | "heap" | "free", { name: string; colour: Colour; striped: boolean; help: string }>> = {
  stack: {
    name: "Stack",
    ...STATES.stack,
    help: "Reserved for running programs: their temporaries.\nThe allocator's bytes_reserved.\nSource: trace.",
  },
  heap: {
    name: "Heap",
    ...STATES.heap,
    help: "Used by live buffers: weights, optimizer state, inputs, outputs.\nThe allocator's bytes_allocated.\nSource: trace.",
  },
  free: { name: "Free", ...STATES.free, help: "Not in use.\nThe allocator's bytes_available.\nSource: trace." },
};

type PartId = keyof typeof PARTS;
const PART_IDS: readonly PartId[] = ["stack", "heap", "free"];

/** Below this used share of the capacity, free memory is initially hidden, because the used memory would look flat. */
const SMALL_USE = 0.1;
const FULL = 0.95;
const NEARLY_FULL = 0.8;

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** The memory with the largest used share at its peak; the first if several are equal. */
export function fullest(memories: readonly AllocatorMemory[]): AllocatorMemory | null {
  let best: AllocatorMemory | null = null;
  for (const memory of memories) {
    if (!best || share(memory.peak.used, memory.peak.capacity) > share(best.peak.used, best.peak.capacity)) best = memory;
  }
  return best;
}

/** What a memory is called: a TPU core, or the name of the allocator. */
export const nameOf = ({ id, device }: AllocatorMemory): string => device || id;

export interface Summary {
  tone: "bad" | "fair" | "good";
  title: string;
  sentences: string[];
  parts: SharePart[];
}

/** The summary. */
export function headline(profile: MemoryProfile, memory: AllocatorMemory): Summary {
  const { peak } = memory;
  const full = share(peak.used, peak.capacity);
  const state = full >= FULL ? "Memory is full" : full >= NEARLY_FULL ? "Memory is nearly full" : "Memory is not full";
  const live = liveRows(memory);
  const largest = live.reduce<LiveRow | null>((best, row) => (best === null || row.bytes > best.bytes ? row : best), null);
  const sentences = [
    `The peak is at ${formatTime(peak.time_ps)} of the recording, with a fragmentation of ${formatPercent(100 * peak.fragmentation)}.`,
  ];
  if (largest && peak.used > 0) {
    sentences.push(
      `${formatPercent(100 * share(largest.bytes, peak.used))} of the memory in use belongs to ${liveName(largest)} (${formatBytes(largest.bytes)}).`,
    );
  }
  if (peak.segments !== null) sentences.push(segmentsSentence(peak.segments, peak.used, peak.largest_free));
  if (peak.lifetime > peak.used)
    sentences.push(`The heap peak since the program started, ${formatBytes(peak.lifetime)}, was outside this profile.`);
  if (profile.memories.length > 1) {
    sentences.push(
      memory === fullest(profile.memories)
        ? `It is the fullest of ${plural(profile.memories.length, "memory", "memories")}.`
        : `Of ${plural(profile.memories.length, "memory", "memories")}, ${nameOf(fullest(profile.memories) ?? memory)} has a higher usage.`,
    );
  }
  return {
    tone: full >= FULL ? "bad" : full >= NEARLY_FULL ? "fair" : "good",
    title:
      peak.capacity > 0
        ? `${state}: at the peak ${formatBytes(peak.used)} of ${formatBytes(peak.capacity)} (${formatPercent(100 * full)}) is in use`
        : `${formatBytes(peak.used)} is in use at the peak; the allocator does not say how much there is`,
    sentences,
    parts: PART_IDS.map((id) => ({ ...PARTS[id], share: share(peak[id], peak.capacity), text: formatBytes(peak[id]) })).filter(
      (part) => part.share > 0,
    ),
  };
}

/** What the segments of an allocator hold at its peak, and whether what is free in them is in one piece. */
function segmentsSentence(segments: number, used: number, largest: number | null): string {
  const free = segments - used;
  const piece = largest === null || free <= 0 ? "" : `, the largest block ${formatBytes(largest)}`;
  const unused = `${formatBytes(free)} (${formatPercent(100 * share(free, segments))})`;
  return `Segments take ${formatBytes(segments)} of the device: ${unused} of it is free for reuse${piece}.`;
}

/** Lines were recorded that ask for memory. */
export const hasLines = ({ live }: AllocatorMemory): boolean => textsOf(live, "source", "the live allocations").some((line) => line !== "");

/** Memory at the peak of each run by the line that asks for it; null if neither has lines. */
export function linesTable(memory: AllocatorMemory, base: AllocatorMemory): TableData | null {
  if (!hasLines(memory) && !hasLines(base)) return null;
  const amounts = (one: AllocatorMemory): [string, number][] => {
    const sums = new Map<string, number>();
    const lines = textsOf(one.live, "source", "the live allocations");
    for (const [row, { bytes }] of liveRows(one).entries()) {
      const line = lines[row] || "no line";
      sums.set(line, (sums.get(line) ?? 0) + bytes);
    }
    return [...sums];
  };
  return amountsTable("Line", "bytes", amounts(memory), amounts(base));
}

/** Rows of the live allocations that are no recorded allocation. */
const STACK = "stack";
const NOT_SEEN = "Allocated before or not recorded";

interface LiveRow {
  op: string;
  occurrences: number;
  /** Of all occurrences. */
  bytes: number;
}

function liveRows({ live }: AllocatorMemory): LiveRow[] {
  const what = "the live allocations";
  const [sizes, counts] = [numbersOf(live, "allocation", what), numbersOf(live, "occurrences", what)];
  return textsOf(live, "op", what).map((op, row) => ({ op, occurrences: counts[row] ?? 0, bytes: (sizes[row] ?? 0) * (counts[row] ?? 0) }));
}

/** No recorded allocation at the peak has the name of its op. */
export function isUnnamed(memory: AllocatorMemory): boolean {
  return memory.live.rowCount > 0 && liveRows(memory).every(({ op }) => op === "" || op === STACK || op === NOT_SEEN);
}

/** The name of a row within a sentence. */
function liveName({ op, occurrences }: LiveRow): string {
  if (op === STACK) return "the stack of running programs";
  if (op === NOT_SEEN) return "what was allocated before the recording, or is not recorded";
  return op || (occurrences > 1 ? `${occurrences} allocations of an unnamed op` : "an allocation of an unnamed op");
}

/** The summary fields. */
export function figures(memory: AllocatorMemory): Figure[] {
  const { peak, timeline } = memory;
  const releases = textsOf(timeline, "event", "the timeline").filter((event) => event === "deallocation").length;
  const bytes = (name: string, value: number, help: string, more: Partial<Figure> = {}): Figure => ({
    name,
    value: formatBytes(value),
    exact: formatExact(value, "bytes"),
    help,
    ...more,
  });
  const counted = "Number among the points of the timeline: all events up to 1,000, else a sample.\nSource: trace.";
  return [
    { name: "Allocations", value: formatCount(timeline.rowCount - releases), help: counted },
    { name: "Deallocations", value: formatCount(releases), help: counted },
    bytes(
      "Memory capacity",
      peak.capacity,
      "All memory that the allocator manages.\nStack + heap + free at the peak.\nSource: trace.",
      peak.capacity > 0 ? {} : { value: "unknown" },
    ),
    bytes(
      "Peak heap usage, lifetime",
      peak.lifetime,
      "Largest heap since the program started, including before the profile.\nThe allocator's peak_bytes_in_use.\nSource: trace.",
    ),
    bytes(
      "Peak memory usage",
      peak.used,
      "Largest memory usage within this profile.\nMaximum of stack + heap over the events.\nSource: trace.",
    ),
    {
      name: "Time of the peak",
      value: formatTime(peak.time_ps),
      exact: formatExact(peak.time_ps, "ps"),
      help: "Time of the peak within this profile, from the start of the recording, as in the trace viewer.",
      part: true,
    },
    bytes("Stack reservation", peak.stack, PARTS.stack.help, { part: true }),
    bytes("Heap allocation", peak.heap, PARTS.heap.help, { part: true }),
    bytes("Free memory", peak.free, PARTS.free.help, { part: true }),
    ...(peak.segments === null
      ? []
      : [
          bytes("Segments", peak.segments, "Memory that the allocator has from the device, in use or free for reuse.\nSource: trace.", {
            part: true,
          }),
          bytes(
            "Largest free block",
            peak.largest_free ?? 0,
            "Of the segments: a larger allocation needs a new segment.\nFollows from segments and blocks.",
            peak.largest_free === null ? { part: true, value: "unknown" } : { part: true },
          ),
        ]),
    {
      name: "Fragmentation",
      value: formatPercent(100 * peak.fragmentation),
      exact: formatExact(peak.fragmentation, "fraction"),
      better: "lower",
      part: true,
      help:
        "Fragmentation of the free memory: if high, a large allocation can fail although enough memory is free.\n" +
        "100 * (1 - largest free chunk / all free memory).\n" +
        "Source: trace.",
    },
  ];
}

/** Whether free memory should be hidden initially. */
export function hidesFree({ peak }: AllocatorMemory): boolean {
  return share(peak.used, peak.capacity) < SMALL_USE;
}

const TIPS = ["event", "requested", "allocation", "op", "step", "region", "dtype", "shape", "used"] as const;

/** The fields of the tooltip, in order. */
export function popUp(timeline: TableData, row: number): [string, string][] {
  const bytes = (id: string): string => formatBytes(numbersOf(timeline, id, "the timeline")[row]);
  const fields = TIPS.map((id): [string, string] => {
    const column = timeline.columns.find((candidate) => candidate.id === id);
    const value = column?.values[row] ?? null;
    return [column?.label ?? id, typeof value === "number" ? formatBytes(value) : String(value ?? "-")];
  });
  return [
    ...fields,
    ["Stack, heap, free", `${bytes("stack")}, ${bytes("heap")}, ${bytes("free")}`],
    ["Fragmentation", formatPercent(100 * (numbersOf(timeline, "fragmentation", "the timeline")[row] ?? 0))],
  ];
}

const FRAGMENTATION = "Fragmentation (right axis)";
/** Minimum length of the time axis, for a profile with one event. */
const MIN_AXIS_PS = 1e6;

/** Stack, heap and free memory stacked, and fragmentation, over time. */
export function historyChart({ timeline, peak }: AllocatorMemory): StepsChart {
  const values = (id: string): number[] => numbersOf(timeline, id, "the timeline");
  const timesPs = values("time");
  const begin = timesPs[0] ?? 0;
  const parts = PART_IDS.map((id) => ({ id, bytes: values(id) })).filter(({ bytes }) => bytes.some((size) => size > 0));
  const segments = columnOf(timeline, "segments") === null ? [] : values("segments");
  const fragmentation = values("fragmentation").map((fraction) => 100 * fraction);
  return {
    kind: "steps",
    x: { name: "Timestamp (ms)", unit: null, from: begin, to: Math.max(begin + MIN_AXIS_PS, timesPs.at(-1) ?? 0), labelFactor: 1e-9 },
    y: { name: "Memory usage", unit: "bytes" },
    right: { name: "Fragmentation", unit: "percent", max: 100 },
    at: timesPs,
    series: [
      ...parts.map(({ id, bytes }) => ({
        name: PARTS[id].name,
        colour: PARTS[id].colour,
        striped: PARTS[id].striped,
        draw: "area" as const,
        opacity: id === "free" ? 0.35 : 0.9,
        values: bytes,
      })),
      ...(segments.some((size) => size > 0)
        ? [{ name: "Segments", colour: 3 as const, draw: "line" as const, dashed: true, values: segments }]
        : []),
      { name: FRAGMENTATION, colour: 0, draw: "line", right: true, dashed: true, values: fragmentation },
    ],
    sentence: `Memory in use over time: ${timesPs.length} points, peak ${formatBytes(peak.used)} at ${formatTime(peak.time_ps)}.`,
    tip: (place) => {
      const time = timesPs[place];
      return time === undefined
        ? null
        : { title: formatTime(time), lines: popUp(timeline, place).map(([name, text]) => ({ name, text, colour: null })) };
    },
    table: () => timeline,
  };
}

/** The mark of the peak in the chart. */
export function peakMark({ peak }: AllocatorMemory): Mark {
  return { from: peak.time_ps, colour: null, label: "peak" };
}

/** The peak as a marker of the trace viewer: "TIME,LABEL". */
export function peakMarker({ id, peak }: AllocatorMemory): string {
  return `${peak.time_ps},peak of memory ${id}: ${formatBytes(peak.used)}`;
}

/** Runs of modules on the device with this memory id; all runs if there is no such device. */
export function modulesOf(modules: TableData, { device }: Pick<AllocatorMemory, "device">): TableData {
  const devices = columnOf(modules, "device") ?? [];
  const rows = rowsWhere(modules, (row) => devices[row] === device);
  return rows.length ? pickRows(modules, rows) : modules;
}

/** The state of a memory at its peak, in the run and in the base. */
export function peaksTable({ peak }: AllocatorMemory, { peak: base }: AllocatorMemory): TableData {
  const amounts = (one: typeof peak): [string, number][] => [
    ["Peak memory usage", one.used],
    ["Stack reservation", one.stack],
    ["Heap allocation", one.heap],
    ["Free memory", one.free],
    ["Memory capacity", one.capacity],
    ...(one.segments === null ? [] : [["Segments", one.segments] as [string, number]]),
    ...(one.largest_free === null ? [] : [["Largest free block", one.largest_free] as [string, number]]),
    ["Peak heap usage, lifetime", one.lifetime],
  ];
  return amountsTable("At the peak", "bytes", amounts(peak), amounts(base));
}
