// Summary, figures and charts' data of the memory viewer. Pure.
import { formatBytes, formatExact, formatPercent, formatRatio, plural } from "../../base/format";
import { STATES, UNKNOWN, partLook } from "../../page/memory/palette";
import { categoryColour } from "../../base/colour";
import type { Theme } from "../../base/colour";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import { numbersOf, textsOf } from "../../api/payload/fields";
import type { DeviceMemory, ProgramMemory } from "../../base/documents";
import { rowsOf } from "../../base/table/table_data";
import type { TableData } from "../../base/table/table_data";
import { pickRows, withoutColumns } from "../../base/table/transform";

/** A row of `ProgramMemory.buffers`. */
export interface Buffer {
  /** Its row: the order of the program. */
  index: number;
  name: string;
  size: number;
  unpadded: number | null;
  category: string | null;
  opcode: string | null;
  op: string | null;
  shape: string | null;
  /** Events from 1; null: live from the start, or to the end. */
  alloc: number | null;
  free: number | null;
  source: string | null;
  stack: string | null;
  /** Null: the sum of the small buffers. */
  buffer_id: number | null;
}

/** A row of `ProgramMemory.blocks`; without an id it is a whole allocation. */
export interface Block {
  name: string;
  offset: number;
  size: number;
  begin: number;
  end: number;
  buffer_id: number | null;
}

export const buffersOf = ({ buffers }: Pick<ProgramMemory, "buffers">): Buffer[] =>
  rowsOf<Omit<Buffer, "index">>(buffers).map((buffer, index) => ({ ...buffer, index }));
export const blocksOf = ({ blocks }: Pick<ProgramMemory, "blocks">): Block[] => rowsOf<Block>(blocks);

/** Buffers as a table: all columns but the call stack, which the card of a buffer shows. */
export const bufferTable = ({ buffers }: Pick<ProgramMemory, "buffers">, shown: readonly Buffer[]): TableData =>
  withoutColumns(
    pickRows(
      buffers,
      shown.map(({ index }) => index),
    ),
    ["stack"],
  );

/** Memory before each event and after the last, with the instructions; empty without a heap simulation. */
export const heapOf = ({ heap }: Pick<ProgramMemory, "heap">) => ({
  sizes: numbersOf(heap, "size", "the heap"),
  unpadded: numbersOf(heap, "unpadded", "the heap"),
  instructions: textsOf(heap, "instruction", "the heap"),
});

/** The buffer in the address. */
export const keyOf = ({ buffer_id: id }: Buffer): string => String(id ?? -1);

/** Bytes that padding of its shape takes; 0 for the small buffers. */
const paddingOf = ({ size, unpadded }: Buffer): number => (unpadded === null ? 0 : size - unpadded);

const onTpu = ({ hardware }: Pick<DeviceMemory, "hardware">): boolean => hardware === "TPU" || hardware === "UNKNOWN_HARDWARE";

/** Memory spaces of TPUs by the compiler's number. */
const SPACES: readonly { id: string; name: string; note: string }[] = [
  { id: "0", name: "HBM", note: "main memory of the device" },
  { id: "1", name: "VMEM", note: "vector memory of a TPU core" },
  { id: "2", name: "Sflag", note: "sync flags of a TPU core" },
  { id: "3", name: "CMEM", note: "common memory of some TPUs" },
  { id: "4", name: "SMEM", note: "scalar memory of a TPU core" },
  { id: "5", name: "Host", note: "memory of the host, for offloaded buffers" },
  { id: "6", name: "SparseCore", note: "memory of a SparseCore" },
];

/** Memory spaces of other devices than TPUs. */
const OTHER_SPACES: readonly { id: string; name: string; note: string }[] = [
  { id: "0", name: "device memory", note: "memory of the GPU" },
  { id: "5", name: "host memory", note: "memory of the host, for offloaded buffers" },
];

/** The memory spaces to choose from: on TPUs all, elsewhere the main memory and those that the program uses. */
export function spacesOf({ device, spaces }: Pick<ProgramMemory, "device" | "spaces">): { id: string; name: string; note: string }[] {
  if (onTpu(device)) return [...SPACES];
  const ids = [...new Set(["0", ...spaces.map(String)])];
  return ids.map((id) => ({ id, name: spaceName(id, device), note: OTHER_SPACES.find((space) => space.id === id)?.note ?? "" }));
}

/** Name of a memory space on a device; on CPUs the main memory is just memory. */
export function spaceName(id: string, device: Pick<DeviceMemory, "hardware">): string {
  const known = onTpu(device) ? SPACES : OTHER_SPACES;
  if (device.hardware === "CPU_ONLY" && id === "0") return "memory";
  return known.find((space) => space.id === id)?.name ?? `memory space ${id}`;
}

/** Memory of the device that a program in a memory space has to fit into; null if unknown, or another memory. */
export function capacityOf({ device }: Pick<ProgramMemory, "device">, space: string): number | null {
  return space === "0" && device.hardware !== "CPU_ONLY" && device.bytes > 0 ? device.bytes : null;
}

const CAPACITY_SOURCES: Readonly<Record<string, string>> = {
  allocator: "What the device's allocator manages, as it recorded (the smallest of several devices).",
  device: "As the device reports it; the runtime may reserve a part.",
  model: "By the specification of the model; the runtime reserves a part.",
};

/** What the program takes of the device, in words; a verdict only where it does not fit, for what ran has fitted. */
function fitOf(view: ProgramMemory, space: string): { fits: boolean; short: string; text: string } | null {
  const capacity = capacityOf(view, space);
  // What a program needs that did not run says nothing about the device's memory.
  if (capacity === null || view.did_not_run) return null;
  const needed = Math.max(view.total_bytes, view.peak_bytes);
  const where = `${formatBytes(capacity)}${view.device.model ? ` (${view.device.model})` : ""}`;
  const reserves = `With fragmentation it reserves ${formatBytes(view.total_bytes)}`;
  if (needed > capacity) {
    const short = `does not fit by ${formatBytes(needed - capacity)}`;
    return { fits: false, short, text: `${reserves}, which does not fit into ${where} by ${formatBytes(needed - capacity)}.` };
  }
  return {
    fits: true,
    short: `${formatPercent((100 * view.peak_bytes) / capacity)} of ${formatBytes(capacity)}`,
    text: `${reserves}; ${formatBytes(capacity - needed)} of ${where} are left for other programs and arrays on the device.`,
  };
}

const CATEGORY_HELP: Readonly<Record<string, string>> = {
  Parameter: "Arguments of the program, live for the whole program.",
  Output: "Results of the program, live for the whole program.",
  Temporary: "Live from the instruction that defines it to the last that reads it.",
  Constant: "Part of the program.",
  "Thread-local": "Scratch memory of one thread.",
};

export const SMALL = "Small buffers";
const categoryOf = (buffer: Buffer): string => buffer.category || SMALL;

/** As kinds are in the timeline: temporaries are what allocators count as stack. */
function categoryLook(category: string): ReturnType<typeof partLook> {
  const place = ["Parameter", "Output", "Thread-local", "Constant"].indexOf(category);
  return category === "Temporary" ? STATES.stack : place < 0 ? UNKNOWN : partLook(place);
}

/** Colour of a buffer in all charts, by its index in program order. */
export const bufferColour = (buffer: Buffer, theme: Theme): string => categoryColour(buffer.index, theme);

/** Whether the compiler simulated a heap, so that sizes over time are known. */
export const hasSeries = ({ heap }: Pick<ProgramMemory, "heap">): boolean => heap.rowCount > 0;

export const isEmpty = (view: ProgramMemory): boolean => view.buffers.rowCount === 0 && view.peak_bytes === 0 && view.scoped_bytes === 0;

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** Sizes at the peak by category, largest first. */
export function byCategory(buffers: readonly Buffer[]): { category: string; size: number; count: number }[] {
  const groups = new Map<string, { category: string; size: number; count: number }>();
  for (const buffer of buffers) {
    const category = categoryOf(buffer);
    const group = groups.get(category) ?? { category, size: 0, count: 0 };
    group.size += buffer.size;
    group.count++;
    groups.set(category, group);
  }
  return [...groups.values()].sort((a, b) => b.size - a.size);
}

export interface Summary {
  tone: "bad" | "none";
  title: string;
  sentences: string[];
  parts: SharePart[];
}

const NOT_RUN = ", but did not run in the recording";

/** The summary. */
export function headline(view: ProgramMemory, module: string, space: string): Summary {
  const { peak_bytes: peak, peak_event: peakEvent, indefinite_bytes: indefinite, device } = view;
  const buffers = buffersOf(view);
  const memory = spaceName(space, device);
  const largest = buffers.filter(({ buffer_id: id }) => id !== null).sort((a, b) => b.size - a.size)[0];
  const padding = peak - view.peak_unpadded_bytes;
  const sentences: string[] = [];
  if (buffers.length === 0 && peak === 0) {
    const scoped =
      `Instructions use it as scratch memory while they run: at most ${formatBytes(view.scoped_bytes)}, by ` +
      `${view.scoped_instruction || "an unnamed instruction"}.`;
    return { tone: "none", title: `${module} has no buffers in ${memory}`, sentences: [scoped], parts: [] };
  }
  const fit = fitOf(view, space);
  if (view.unknown_memory) sentences.push(view.unknown_memory);
  if (fit) sentences.push(fit.text);
  if (peakEvent !== null) {
    const peakInstruction = heapOf(view).instructions[peakEvent];
    sentences.push(
      `The peak is at event ${peakEvent + 1} of ${view.heap.rowCount - 1}${peakInstruction ? `, instruction ${peakInstruction}` : ""}.`,
    );
  }
  if (indefinite > 0 && peak > 0)
    sentences.push(
      `${formatBytes(Math.min(indefinite, peak))} of it (` +
        `${formatPercent((100 * Math.min(indefinite, peak)) / peak)}) is live for the whole program; ` +
        `temporaries take ${formatBytes(Math.max(0, peak - indefinite))}.`,
    );
  if (largest) sentences.push(`Largest buffer: ${largest.name}, ${formatBytes(largest.size)}${largest.op ? `, from ${largest.op}` : ""}.`);
  sentences.push(
    padding > 0 && peak > 0
      ? `Padding of shapes takes ${formatBytes(padding)} (${formatPercent((100 * padding) / peak)}).`
      : "No memory is lost to padding.",
  );
  const total = sum(buffers.map(({ size }) => size));
  return {
    tone: fit && !fit.fits ? "bad" : "none",
    title: `${module} needs ${formatBytes(peak)} of ${memory} at its peak${view.did_not_run ? NOT_RUN : fit ? `: ${fit.short}` : ""}`,
    sentences,
    parts: byCategory(buffers).map(({ category, size, count }) => ({
      name: category === SMALL ? "Small (below 16 KiB)" : category,
      share: ratio(size, total) ?? 0,
      text: category === SMALL ? formatBytes(size) : `${formatBytes(size)}, ${plural(count, "buffer")}`,
      ...categoryLook(category),
      ...(CATEGORY_HELP[category] ? { help: CATEGORY_HELP[category] } : {}),
    })),
  };
}

/** The overview panel. */
export function figures(view: ProgramMemory, space: string): Figure[] {
  const fit = fitOf(view, space);
  const capacity = capacityOf(view, space);
  const asksCapacity = space === "0" && view.device.hardware !== "CPU_ONLY";
  const { peak_bytes: peak, peak_unpadded_bytes: unpadded, total_bytes: total, indefinite_bytes: indefinite } = view;
  const size = (name: string, bytes: number, help: string, more: Partial<Figure> = {}): Figure => ({
    name,
    value: formatBytes(bytes),
    exact: formatExact(bytes, "bytes"),
    help: `${help}\nSource: HLO, buffer assignment.`,
    ...more,
  });
  const padding = peak - unpadded;
  const waste = ratio(total - peak, total - indefinite);
  return [
    size(
      "Peak memory allocation",
      peak,
      "Largest memory usage at any time.\nReplay of the compiler's heap simulation, with padded shapes.",
    ),
    size("With fragmentation", total, "Memory that the program reserves.\nSum of all allocations that are not thread-local.", {
      part: true,
    }),
    size("Without padding", unpadded, "The same peak with unpadded shapes.\nProduct of dimensions and element size.", { part: true }),
    size("Padding overhead", padding, "Memory lost to padding at the peak.\nPeak - peak without padding.", {
      part: true,
      ...(peak > 0 ? { detail: `${formatPercent((100 * padding) / peak)} of the peak` } : {}),
    }),
    ...(asksCapacity
      ? [
          {
            name: "Device memory",
            value: capacity === null ? null : formatBytes(capacity),
            ...(capacity === null ? {} : { exact: formatExact(capacity, "bytes") }),
            ...(fit && !fit.fits ? { detail: fit.short } : {}),
            help: `Memory of one device, for everything on it.\n${CAPACITY_SOURCES[view.device.source] ?? ""}`,
            reason: "Unknown: the profile names no allocator, device property or known model.",
          },
        ]
      : []),
    size("Arguments", view.parameter_bytes, "Parameters of the program.\nSum of allocations of entry parameters."),
    size(
      "Outputs",
      view.output_bytes,
      "Results of the program; may share memory with donated arguments.\nSum of allocations that may be live out.",
    ),
    size(
      "HLO temporaries",
      Math.max(0, peak - indefinite),
      "Intermediate buffers at the peak.\nPeak - buffers live for the whole program.",
    ),
    size(
      "Temporaries with fragmentation",
      Math.max(0, total - indefinite),
      "Memory reserved for temporaries.\nTotal - buffers live for the whole program.",
      { part: true },
    ),
    {
      name: "Fragmentation",
      value: waste === null ? null : formatPercent(100 * waste),
      ...(waste === null ? {} : { exact: formatExact(waste, "fraction") }),
      better: "lower",
      part: true,
      reason: "The program reserves no temporaries.",
      help:
        "Share of the memory reserved for temporaries that is unused at the peak.\n" +
        "(total - peak) / (total - buffers live for the whole program).\n" +
        "Source: HLO, buffer assignment.",
    },
    size("Not reusable", view.not_reusable_bytes, "Thread-local buffers and tuples, which cannot share memory."),
    ...(view.scoped_bytes > 0
      ? [
          size("Maximum scoped VMEM", view.scoped_bytes, "Largest vector memory that one instruction uses as scratch while it runs.", {
            detail: view.scoped_instruction,
          }),
        ]
      : []),
  ];
}

/** Orders of the buffer charts. */
export type Order = "program" | "size" | "padding";

export function ordered(buffers: readonly Buffer[], order: Order): Buffer[] {
  switch (order) {
    case "program":
      return [...buffers];
    case "size":
      return [...buffers].sort((a, b) => b.size - a.size || a.index - b.index);
    case "padding":
      return buffers.filter((buffer) => paddingOf(buffer) > 0).sort((a, b) => paddingOf(b) - paddingOf(a) || a.index - b.index);
  }
}

export const weight = (buffer: Buffer, order: Order): number => (order === "padding" ? paddingOf(buffer) : buffer.size);

/** Left edges of the segments on a bar of width 1, followed by the right edge of the last. */
export function edges(buffers: readonly Buffer[], order: Order): Float64Array {
  const total = sum(buffers.map((one) => weight(one, order)));
  const out = new Float64Array(buffers.length + 1);
  buffers.forEach((one, i) => (out[i + 1] = (out[i] ?? 0) + (total > 0 ? weight(one, order) / total : 0)));
  return out;
}

/** End of the axis of both charts, which counts events: between k and k + 1 memory is as the first k events left it. */
export function axisEnd({ heap, blocks }: Pick<ProgramMemory, "heap" | "blocks">): number {
  return blocksOf({ blocks }).reduce(
    (all, block) => Math.max(all, blockSpan(block)[1] + (block.buffer_id === null ? 0 : 1)),
    Math.max(heap.rowCount, 1),
  );
}

/** A block on that axis, from the event that allocates it to the one that frees it; a frame is as long as all events. */
export function blockSpan({ buffer_id: id, begin, end }: Block): [number, number] {
  return id === null ? [begin - 1, end + 1] : [begin, end];
}

/** The lifetime of a buffer on that axis. */
export function lifetime({ alloc, free }: Buffer, points: number): { begin: number; end: number } {
  return { begin: alloc ?? 0, end: Math.min(points, free ?? points) };
}

/** The properties of a buffer. */
export function card(buffer: Buffer): Figure[] {
  const { size, unpadded } = buffer;
  const small = buffer.buffer_id === null;
  const extra = paddingOf(buffer);
  const padded = extra > 0;
  const text = (name: string, value: string | null, reason: string, help?: string): Figure => ({
    name,
    value: value || null,
    reason,
    ...(help ? { help } : {}),
  });
  const summed = "This entry is the sum of many small buffers.";
  return [
    text("Name", small ? "Sum of buffers below 16 KiB" : buffer.name, summed),
    text(
      "Category",
      buffer.opcode,
      small ? summed : "The module does not contain it.",
      "Opcode of the instruction that defines the buffer.",
    ),
    { name: "Size", value: formatBytes(size), exact: formatExact(size, "bytes"), help: "Size with padding." },
    {
      name: "Unpadded size",
      value: unpadded === null ? null : formatBytes(unpadded),
      exact: formatExact(unpadded, "bytes"),
      reason: summed,
      help: "Product of dimensions and element size.",
    },
    {
      name: "Expansion",
      value: padded && unpadded !== null && unpadded > 0 ? `${formatRatio(size / unpadded)}x` : null,
      reason: "The shape is not padded.",
      help: "Size / unpadded size.",
      better: "lower",
    },
    {
      name: "Extra memory",
      value: padded ? formatBytes(extra) : null,
      exact: formatExact(extra, "bytes"),
      reason: "The shape is not padded.",
      help: "Size - unpadded size.",
      better: "lower",
    },
    text("Shape", buffer.shape, summed, "Element type, dimensions and layout."),
    text("Framework op", buffer.op, "The instruction has no framework op name.", "Name of the op in the framework."),
    text("Allocation type", buffer.category, summed, "Parameter, output, thread-local, temporary or constant."),
  ];
}

const matchesAll = (words: readonly string[], text: string): boolean => words.every((word) => text.includes(word));

/** Indexes of the buffers that match a search; null without a search. */
export function search(buffers: readonly Buffer[], query: string): ReadonlySet<number> | null {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  return new Set(
    buffers
      .filter((one) => matchesAll(words, [one.name, one.op, one.opcode, one.shape, one.category, keyOf(one)].join(" ").toLowerCase()))
      .map(({ index }) => index),
  );
}

/** Grouping of the treemap. */
export type Grouping = "category" | "op";

/** An op name without numbers and wrappers: "dot_general" for "jit(step)/jvp()/dot_general", "dot" for "dot.3". */
function opOf(buffer: Buffer): string {
  if (buffer.buffer_id === null) return SMALL;
  return buffer.op || buffer.opcode || buffer.name;
}

export function groups(buffers: readonly Buffer[], grouping: Grouping): { name: string; size: number; buffers: Buffer[] }[] {
  const grouped = new Map<string, Buffer[]>();
  for (const buffer of buffers) {
    const name = grouping === "category" ? categoryOf(buffer) : opOf(buffer);
    grouped.set(name, [...(grouped.get(name) ?? []), buffer]);
  }
  return [...grouped]
    .map(([name, list]) => ({ name, size: sum(list.map(({ size }) => size)), buffers: [...list].sort((a, b) => b.size - a.size) }))
    .sort((a, b) => b.size - a.size);
}
