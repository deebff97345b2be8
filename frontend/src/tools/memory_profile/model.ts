// Summary, figures, chart and tables of the memory profile page. Pure.
import { columnsOf, makeTable } from "../../base/table/columns";
import type { Colour, Mark, StepsChart } from "../../base/chart/chart_spec";
import { amountsTable } from "../../base/table/difference";
import { formatBytes, formatCount, formatExact, formatPercent, formatTime, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import { NOT_SEEN } from "./decode";
import type { Activity, LiveRow, Memory, MemoryProfile, ModuleRun, Snapshot } from "./decode";

/** Red, orange and green, as the user documents say; stripes and order tell them apart with red-green colour blindness. */
export const PARTS: Readonly<Record<"stack" | "heap" | "free", { name: string; colour: Colour; striped: boolean; help: string }>> = {
  stack: {
    name: "Stack",
    colour: { light: "#c8321f", dark: "#f2664f" },
    striped: true,
    help: "Reserved for running programs: their temporaries.\nThe allocator's bytes_reserved.\nSource: trace.",
  },
  heap: {
    name: "Heap",
    colour: 1,
    striped: false,
    help: "Used by live buffers: weights, optimizer state, inputs, outputs.\nThe allocator's bytes_allocated.\nSource: trace.",
  },
  free: { name: "Free", colour: 2, striped: false, help: "Not in use.\nThe allocator's bytes_available.\nSource: trace." },
};

type PartId = keyof typeof PARTS;
const PART_IDS: readonly PartId[] = ["stack", "heap", "free"];

/** Below this used share of the capacity, free memory is initially hidden, because the used memory would look flat. */
const SMALL_USE = 0.1;
const FULL = 0.95;
const NEARLY_FULL = 0.8;

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** The memory with the largest used share at its peak; the first if several are equal. */
export function fullest(memories: readonly Memory[]): Memory | null {
  let best: Memory | null = null;
  for (const memory of memories) {
    if (!best || share(memory.peak.used, memory.peak.capacity) > share(best.peak.used, best.peak.capacity)) best = memory;
  }
  return best;
}

export interface Summary {
  tone: "bad" | "fair" | "good";
  title: string;
  sentences: string[];
  parts: SharePart[];
}

/** The summary. */
export function headline(profile: MemoryProfile, memory: Memory): Summary {
  const { peak } = memory;
  const full = share(peak.used, peak.capacity);
  const state = full >= FULL ? "Memory is full" : full >= NEARLY_FULL ? "Memory is nearly full" : "Memory is not full";
  const largest = memory.live.reduce<LiveRow | null>(
    (best, row) => (best === null || row.allocated * row.occurrences > best.allocated * best.occurrences ? row : best),
    null,
  );
  const sentences = [
    `The peak is ${formatTime(peak.timePs)} after the start of the recording, with a fragmentation of the free ` +
      `memory of ${formatPercent(100 * peak.fragmentation)}.`,
  ];
  if (largest && peak.used > 0) {
    const bytes = largest.allocated * largest.occurrences;
    sentences.push(
      `${formatPercent(100 * share(bytes, peak.used))} of the memory in use belongs to ${liveName(largest)} (${formatBytes(bytes)}).`,
    );
  }
  if (peak.lifetime > peak.used)
    sentences.push(`The heap peak since the program started, ${formatBytes(peak.lifetime)}, was outside this profile.`);
  if (profile.memories.length > 1) {
    sentences.push(
      memory === fullest(profile.memories)
        ? `Of ${plural(profile.memories.length, "memory", "memories")}, this one has the highest usage.`
        : `Of ${plural(profile.memories.length, "memory", "memories")}, memory ${fullest(profile.memories)?.id ?? ""} has a higher usage.`,
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

/** The name of a row within a sentence. */
function liveName(row: LiveRow): string {
  if (row.op === "stack") return "the stack of running programs";
  if (row.op === NOT_SEEN) return "what was allocated before the recording, or is not recorded";
  if (row.special) return `"${row.op}"`;
  return row.op || (row.occurrences > 1 ? `${row.occurrences} allocations of an unnamed op` : "an allocation of an unnamed op");
}

/** The summary fields. */
export function figures(memory: Memory): Figure[] {
  const { peak, snapshots } = memory;
  const releases = snapshots.filter((one) => one.release).length;
  const bytes = (name: string, value: number, help: string, more: Partial<Figure> = {}): Figure => ({
    name,
    value: formatBytes(value),
    exact: formatExact(value, "bytes"),
    help,
    ...more,
  });
  const counted = "Number among the points of the timeline: all events up to 1,000, else a sample.\nSource: trace.";
  return [
    { name: "Allocations", value: formatCount(snapshots.length - releases), help: counted },
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
      value: formatTime(peak.timePs),
      exact: formatExact(peak.timePs, "ps"),
      help: "Time of the peak within this profile, from the start of the recording, as in the trace viewer.",
      part: true,
    },
    bytes("Stack reservation", peak.stack, PARTS.stack.help, { part: true }),
    bytes("Heap allocation", peak.heap, PARTS.heap.help, { part: true }),
    bytes("Free memory", peak.free, PARTS.free.help, { part: true }),
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
export function hidesFree({ peak }: Memory): boolean {
  return share(peak.used, peak.capacity) < SMALL_USE;
}

const signed = (row: Activity, bytes: number): string => (row.release ? `-${formatBytes(bytes)}` : formatBytes(bytes));

/** The fields of the tooltip, in order. */
export function popUp(one: Snapshot): [string, string][] {
  const known = (value: string): string => value || "-";
  return [
    ["Event", one.release ? "deallocation" : "allocation"],
    ["Requested size", signed(one, one.requested)],
    ["Allocation size", signed(one, one.allocated)],
    ["Op", known(one.op)],
    ["Step", known(one.step)],
    ["Region type", known(one.region)],
    ["Data type", known(one.dataType)],
    ["Shape", known(one.shape)],
    ["Memory in use", formatBytes(one.stack + one.heap)],
    ["Stack, heap, free", `${formatBytes(one.stack)}, ${formatBytes(one.heap)}, ${formatBytes(one.free)}`],
    ["Fragmentation", formatPercent(100 * one.fragmentation)],
  ];
}

/** The table of live allocations at the peak. */
export function breakdown(live: readonly LiveRow[]): TableData {
  const { text, number } = columnsOf(live);
  return makeTable([
    text("op", "Op name", "The op that requested the memory.\nRecorded by TensorFlow only.", (row) => row.op),
    number(
      "allocation",
      "Allocation size",
      "bytes",
      "Bytes allocated: the requested size rounded up by the allocator.",
      (row) => row.allocated,
    ),
    number("requested", "Requested size", "bytes", "Bytes that the program requested.", (row) => row.requested),
    number("occurrences", "Occurrences", null, "Number of identical allocations that are live at the peak.", (row) => row.occurrences),
    text("region", "Region type", "Purpose: temp, output, persist/dynamic (kept across steps), stack.", (row) => row.region),
    text("dtype", "Data type", "Type of the elements.", (row) => row.dataType),
    text("shape", "Shape", "Dimensions of the tensor.", (row) => row.shape),
  ]);
}

/** The timeline as a table. */
export function history(snapshots: readonly Snapshot[]): TableData {
  const { text, number } = columnsOf(snapshots);
  return makeTable([
    number("time", "Timestamp", "ps", "From the start of the recording.", (one) => one.timePs),
    text("event", "Event", "Allocation or deallocation.", (one) => (one.release ? "deallocation" : "allocation")),
    number("requested", "Requested size", "bytes", "Negative for deallocations.", (one) => (one.release ? -one.requested : one.requested)),
    number("allocation", "Allocation size", "bytes", "Negative for deallocations.", (one) =>
      one.release ? -one.allocated : one.allocated,
    ),
    text("op", "Op name", "The op that requested the memory.", (one) => one.op),
    text("step", "Step", "Step that the event belongs to.", (one) => one.step),
    text("region", "Region type", "Purpose of the memory.", (one) => one.region),
    text("dtype", "Data type", "Type of the elements.", (one) => one.dataType),
    text("shape", "Shape", "Dimensions of the tensor.", (one) => one.shape),
    number("used", "Memory in use", "bytes", "Stack + heap after the event.", (one) => one.stack + one.heap),
    number("stack", "Stack", "bytes", null, (one) => one.stack),
    number("heap", "Heap", "bytes", null, (one) => one.heap),
    number("free", "Free", "bytes", null, (one) => one.free),
    number("fragmentation", "Fragmentation", "fraction", "Lower is better.", (one) => one.fragmentation),
  ]);
}

const FRAGMENTATION = "Fragmentation (right axis)";
/** Minimum length of the time axis, for a profile with one event. */
const MIN_AXIS_PS = 1e6;

/** Stack, heap and free memory stacked, and fragmentation, over time. */
export function historyChart({ snapshots, peak }: Memory): StepsChart {
  const timesPs = snapshots.map(({ timePs }) => timePs);
  const begin = timesPs[0] ?? 0;
  const parts = PART_IDS.filter((id) => snapshots.some((one) => one[id] > 0));
  return {
    kind: "steps",
    x: { name: "Timestamp (ms)", unit: null, from: begin, to: Math.max(begin + MIN_AXIS_PS, timesPs.at(-1) ?? 0), labelFactor: 1e-9 },
    y: { name: "Memory usage", unit: "bytes" },
    right: { name: "Fragmentation", unit: "percent", max: 100 },
    at: timesPs,
    series: [
      ...parts.map((id) => ({
        name: PARTS[id].name,
        colour: PARTS[id].colour,
        striped: PARTS[id].striped,
        draw: "area" as const,
        opacity: id === "free" ? 0.35 : 0.9,
        values: snapshots.map((one) => one[id]),
      })),
      { name: FRAGMENTATION, colour: 0, draw: "line", right: true, dashed: true, values: snapshots.map((one) => 100 * one.fragmentation) },
    ],
    sentence: `Memory in use over time: ${snapshots.length} points, peak ${formatBytes(peak.used)} at ${formatTime(peak.timePs)}.`,
    tip: (place) => {
      const snapshot = snapshots[place];
      return snapshot
        ? { title: formatTime(snapshot.timePs), lines: popUp(snapshot).map(([name, text]) => ({ name, text, colour: null })) }
        : null;
    },
    table: () => history(snapshots),
  };
}

/** The mark of the peak in the chart. */
export function peakMark({ peak }: Memory): Mark {
  return { from: peak.timePs, colour: null, label: "peak" };
}

/** The peak as a marker of the trace viewer: "TIME,LABEL". */
export function peakMarker({ id, peak }: Memory): string {
  return `${peak.timePs},peak of memory ${id}: ${formatBytes(peak.used)}`;
}

/** Runs of modules on the device with this memory id; all runs if there is no such device. */
export function modulesOf(modules: readonly ModuleRun[], memory: string): ModuleRun[] {
  const mine = modules.filter(({ device }) => device.split(":").at(-1) === memory);
  return mine.length ? mine : [...modules];
}

export function moduleTable(modules: readonly ModuleRun[]): TableData {
  const { text, number } = columnsOf(modules);
  return makeTable([
    text("module", "HLO module", "Name and program id of the compiled program.", (one) => one.name),
    text("device", "Device", "Device that ran it.", (one) => one.device),
    number("start", "Start", "ps", "From the start of the recording.", (one) => one.beginPs),
    number("end", "End", "ps", "From the start of the recording.", (one) => one.endPs),
    number("duration", "Duration", "ps", "End - start.", (one) => one.endPs - one.beginPs),
    text("id", "Id", "Number of the run within the profile.", (one) => one.id),
  ]);
}

/** The state of a memory at its peak, in the run and in the base. */
export function peaksTable({ peak }: Memory, { peak: base }: Memory): TableData {
  const amounts = (one: typeof peak): [string, number][] => [
    ["Peak memory usage", one.used],
    ["Stack reservation", one.stack],
    ["Heap allocation", one.heap],
    ["Free memory", one.free],
    ["Memory capacity", one.capacity],
    ["Peak heap usage, lifetime", one.lifetime],
  ];
  return amountsTable("At the peak", "bytes", amounts(peak), amounts(base));
}
