// Summary, figures and charts' data of the memory viewer. Pure.
import { formatBytes, formatExact, formatPercent, formatRatio, plural } from "../../base/format";
import { categoryColour } from "../../base/colour";
import type { Theme } from "../../base/colour";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import type { Block, Buffer, Device, MemoryView, Span } from "./decode";

const MIB = 2 ** 20;
export const bytes = (mib: number): string => formatBytes(mib * MIB);

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
export function spacesOf({ device, spaces }: Pick<MemoryView, "device" | "spaces">): { id: string; name: string; note: string }[] {
  if (device.hardware === "TPU" || device.hardware === "") return [...SPACES];
  const ids = [...new Set(["0", ...spaces.map(String)])];
  return ids.map((id) => ({ id, name: spaceName(id, device), note: OTHER_SPACES.find((space) => space.id === id)?.note ?? "" }));
}

/** Name of a memory space on a device; on CPUs the main memory is just memory. */
export function spaceName(id: string, { hardware }: Pick<Device, "hardware">): string {
  const known = hardware === "TPU" || hardware === "" ? SPACES : OTHER_SPACES;
  if (hardware === "CPU_ONLY" && id === "0") return "memory";
  return known.find((space) => space.id === id)?.name ?? `memory space ${id}`;
}

/** Memory of the device that a program in a memory space has to fit into; null if unknown, or another memory. */
export function capacityOf({ device }: Pick<MemoryView, "device">, space: string): number | null {
  return space === "0" && device.hardware !== "CPU_ONLY" && device.memoryMib > 0 ? device.memoryMib : null;
}

const CAPACITY_SOURCES: Readonly<Record<string, string>> = {
  allocator: "What the device's allocator manages, as it recorded (the smallest of several devices).",
  device: "As the device reports it; the runtime may reserve a part.",
  model: "By the specification of the model; the runtime reserves a part.",
};

/** Whether the program fits into the device, in words: "fits into 31.25 GiB (TPU v6 Lite), 28 GiB to spare". */
function fitOf(view: MemoryView, space: string): { fits: boolean; short: string; text: string } | null {
  const capacity = capacityOf(view, space);
  // What a program needs that did not run says nothing about the device's memory.
  if (capacity === null || view.didNotRun) return null;
  const needed = Math.max(view.totalMib, view.peakMib);
  const where = `${bytes(capacity)}${view.device.model ? ` (${view.device.model})` : ""}`;
  const fits = needed <= capacity;
  const short = fits ? "fits" : `does not fit by ${bytes(needed - capacity)}`;
  return {
    fits,
    short,
    text: fits ? `fits into ${where}, ${bytes(capacity - needed)} to spare` : `does not fit into ${where} by ${bytes(needed - capacity)}`,
  };
}

/** Categories of buffers in a fixed order, so that their colours are stable. */
const CATEGORIES = ["Parameter", "Output", "Temporary", "Constant", "Thread-local"] as const;
const CATEGORY_HELP: Readonly<Record<string, string>> = {
  Parameter: "Arguments of the program, live for the whole program.",
  Output: "Results of the program, live for the whole program.",
  Temporary: "Live from the instruction that defines it to the last that reads it.",
  Constant: "Part of the program.",
  "Thread-local": "Scratch memory of one thread.",
};

export const SMALL = "Small buffers";
const categoryOf = (buffer: Buffer): string => buffer.category || SMALL;

function categoryHue(category: string): number {
  const categoryIndex = (CATEGORIES as readonly string[]).indexOf(category);
  return categoryIndex < 0 ? 7 : ([0, 2, 1, 3, 4][categoryIndex] ?? 7);
}

/** Colour of a buffer in all charts, by its index in program order. */
export const bufferColour = (buffer: Buffer, theme: Theme): string => categoryColour(buffer.index, theme);

/** Whether the compiler simulated a heap, so that sizes over time are known. */
export const hasSeries = (view: MemoryView): boolean => view.sizes.length > 0;

export const isEmpty = (view: MemoryView): boolean => view.buffers.length === 0 && view.peakMib === 0 && view.scopedMib === 0;

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** Sizes at the peak by category, largest first. */
export function byCategory(buffers: readonly Buffer[]): { category: string; mib: number; count: number }[] {
  const groups = new Map<string, { category: string; mib: number; count: number }>();
  for (const buffer of buffers) {
    const category = categoryOf(buffer);
    const group = groups.get(category) ?? { category, mib: 0, count: 0 };
    group.mib += buffer.sizeMib;
    group.count++;
    groups.set(category, group);
  }
  return [...groups.values()].sort((a, b) => b.mib - a.mib);
}

export interface Summary {
  tone: "bad" | "none";
  title: string;
  sentences: string[];
  parts: SharePart[];
}

const NOT_RUN = ", but did not run in the recording";

/** The summary. */
export function headline(view: MemoryView, module: string, space: string): Summary {
  const { peakMib, peakUnpaddedMib, buffers, indefiniteMib, totalMib, device } = view;
  const memory = spaceName(space, device);
  const largest = [...buffers].filter(({ id }) => id >= 0).sort((a, b) => b.sizeMib - a.sizeMib)[0];
  const padding = peakMib - peakUnpaddedMib;
  const sentences: string[] = [];
  if (buffers.length === 0 && peakMib === 0) {
    const scoped =
      `Instructions use it as scratch memory while they run: at most ${bytes(view.scopedMib)}, by ` +
      `${view.scopedInstruction || "an unnamed instruction"}.`;
    return { tone: "none", title: `${module} has no buffers in ${memory}`, sentences: [scoped], parts: [] };
  }
  const fit = fitOf(view, space);
  if (view.unknownMemory) sentences.push(view.unknownMemory);
  if (fit)
    sentences.push(
      `With fragmentation it reserves ${bytes(totalMib)}, which ${fit.text}; other programs and arrays on the device are not counted.`,
    );
  if (hasSeries(view)) {
    const peakInstruction = view.instructions[view.peakEvent];
    sentences.push(
      `The peak is at event ${view.peakEvent + 1} of ${view.sizes.length - 1}${peakInstruction ? `, instruction ${peakInstruction}` : ""}.`,
    );
  }
  if (indefiniteMib > 0 && peakMib > 0)
    sentences.push(
      `${bytes(Math.min(indefiniteMib, peakMib))} of it (` +
        `${formatPercent((100 * Math.min(indefiniteMib, peakMib)) / peakMib)}) is live for the whole program; ` +
        `temporaries take ${bytes(Math.max(0, peakMib - indefiniteMib))}.`,
    );
  if (largest) sentences.push(`Largest buffer: ${largest.name}, ${bytes(largest.sizeMib)}${largest.op ? `, from ${largest.op}` : ""}.`);
  sentences.push(
    padding > 0 && peakMib > 0
      ? `Padding of shapes takes ${bytes(padding)} (${formatPercent((100 * padding) / peakMib)}).`
      : "No memory is lost to padding.",
  );
  const total = sum(buffers.map(({ sizeMib }) => sizeMib));
  return {
    tone: fit && !fit.fits ? "bad" : "none",
    title: `${module} needs ${bytes(peakMib)} of ${memory} at its peak${view.didNotRun ? NOT_RUN : fit ? `: ${fit.short}` : ""}`,
    sentences,
    parts: byCategory(buffers).map(({ category, mib, count }) => ({
      name: category === SMALL ? "Small (below 16 KiB)" : category,
      share: ratio(mib, total) ?? 0,
      text: category === SMALL ? bytes(mib) : `${bytes(mib)}, ${plural(count, "buffer")}`,
      colour: categoryHue(category),
      ...(CATEGORY_HELP[category] ? { help: CATEGORY_HELP[category] } : {}),
    })),
  };
}

/** The overview panel. */
export function figures(view: MemoryView, space: string): Figure[] {
  const fit = fitOf(view, space);
  const capacity = capacityOf(view, space);
  const asksCapacity = space === "0" && view.device.hardware !== "CPU_ONLY";
  const { peakMib, peakUnpaddedMib, totalMib, indefiniteMib } = view;
  const size = (name: string, mib: number, help: string, more: Partial<Figure> = {}): Figure => ({
    name,
    value: bytes(mib),
    exact: formatExact(mib, "MiB"),
    help: `${help}\nSource: HLO, buffer assignment.`,
    ...more,
  });
  const padding = peakMib - peakUnpaddedMib;
  const waste = ratio(totalMib - peakMib, totalMib - indefiniteMib);
  return [
    size(
      "Peak memory allocation",
      peakMib,
      "Largest memory usage at any time.\nReplay of the compiler's heap simulation, with padded shapes.",
    ),
    size("With fragmentation", totalMib, "Memory that the program reserves.\nSum of all allocations that are not thread-local.", {
      part: true,
    }),
    size("Without padding", peakUnpaddedMib, "The same peak with unpadded shapes.\nProduct of dimensions and element size.", {
      part: true,
    }),
    size("Padding overhead", padding, "Memory lost to padding at the peak.\nPeak - peak without padding.", {
      part: true,
      ...(peakMib > 0 ? { detail: `${formatPercent((100 * padding) / peakMib)} of the peak` } : {}),
    }),
    ...(asksCapacity
      ? [
          {
            name: "Device memory",
            value: capacity === null ? null : bytes(capacity),
            ...(capacity === null ? {} : { exact: formatExact(capacity, "MiB") }),
            ...(fit ? { detail: fit.short } : {}),
            help: `Memory of one device, for everything on it.\n${CAPACITY_SOURCES[view.device.source] ?? ""}`,
            reason: "Unknown: the profile names no allocator, device property or known model.",
          },
        ]
      : []),
    size("Arguments", view.parametersMib, "Parameters of the program.\nSum of allocations of entry parameters."),
    size(
      "Outputs",
      view.liveOutMib,
      "Results of the program; may share memory with donated arguments.\nSum of allocations that may be live out.",
    ),
    size(
      "HLO temporaries",
      Math.max(0, peakMib - indefiniteMib),
      "Intermediate buffers at the peak.\nPeak - buffers live for the whole program.",
    ),
    size(
      "With fragmentation ",
      Math.max(0, totalMib - indefiniteMib),
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
    size("Not reusable", view.nonReusableMib, "Thread-local buffers and tuples, which cannot share memory."),
    ...(view.scopedMib > 0
      ? [
          size("Maximum scoped VMEM", view.scopedMib, "Largest vector memory that one instruction uses as scratch while it runs.", {
            detail: view.scopedInstruction,
          }),
        ]
      : []),
  ];
}

/** Orders of the buffer charts. */
export type Order = "program" | "size" | "padding";

export function ordered(buffers: readonly Buffer[], order: Order): Buffer[] {
  const padding = (buffer: Buffer): number => buffer.sizeMib - buffer.unpaddedMib;
  switch (order) {
    case "program":
      return [...buffers];
    case "size":
      return [...buffers].sort((a, b) => b.sizeMib - a.sizeMib || a.index - b.index);
    case "padding":
      return buffers.filter((one) => one.id >= 0 && padding(one) > 0).sort((a, b) => padding(b) - padding(a) || a.index - b.index);
  }
}

export const weight = (buffer: Buffer, order: Order): number =>
  order === "padding" ? buffer.sizeMib - buffer.unpaddedMib : buffer.sizeMib;

/** Left edges of the segments on a bar of width 1, followed by the right edge of the last. */
export function edges(buffers: readonly Buffer[], order: Order): Float64Array {
  const total = sum(buffers.map((one) => weight(one, order)));
  const out = new Float64Array(buffers.length + 1);
  buffers.forEach((one, i) => (out[i + 1] = (out[i] ?? 0) + (total > 0 ? weight(one, order) / total : 0)));
  return out;
}

/** End of the axis of both charts, which counts events: between k and k + 1 memory is as the first k events left it. */
export function axisEnd({ sizes, blocks }: Pick<MemoryView, "sizes" | "blocks">): number {
  return blocks.reduce((all, block) => Math.max(all, blockSpan(block)[1] + (block.id < 0 ? 0 : 1)), Math.max(sizes.length, 1));
}

/** A block on that axis: allocated by event `begin` (counted from 0), freed by event `end`; a frame is as long as all events. */
export function blockSpan({ id, begin, end }: Block): [number, number] {
  return id < 0 ? [begin, end + 1] : [begin + 1, end + 1];
}

/** The lifetime of a buffer on that axis. */
export function lifetime(buffer: Buffer, points: number): Span {
  return buffer.span ? { begin: buffer.span.begin + 1, end: Math.min(points, buffer.span.end + 1) } : { begin: 0, end: points };
}

/** The properties of a buffer. */
export function card(buffer: Buffer): Figure[] {
  const small = buffer.id < 0;
  const extra = buffer.sizeMib - buffer.unpaddedMib;
  const padded = !small && extra > 0;
  const text = (name: string, value: string, reason: string, help?: string): Figure => ({
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
    { name: "Size", value: bytes(buffer.sizeMib), exact: formatExact(buffer.sizeMib, "MiB"), help: "Size with padding." },
    {
      name: "Unpadded size",
      value: small ? null : bytes(buffer.unpaddedMib),
      exact: formatExact(buffer.unpaddedMib, "MiB"),
      reason: summed,
      help: "Product of dimensions and element size.",
    },
    {
      name: "Expansion",
      value: padded && buffer.unpaddedMib > 0 ? `${formatRatio(buffer.sizeMib / buffer.unpaddedMib)}x` : null,
      reason: "The shape is not padded.",
      help: "Size / unpadded size.",
      better: "lower",
    },
    {
      name: "Extra memory",
      value: padded ? bytes(extra) : null,
      exact: formatExact(extra, "MiB"),
      reason: "The shape is not padded.",
      help: "Size - unpadded size.",
      better: "lower",
    },
    text("Shape", buffer.shape, summed, "Element type, dimensions and layout."),
    text("Framework op", buffer.op, "The instruction has no framework op name.", "Name of the op in the framework."),
    text("Allocation type", small ? "" : buffer.category, summed, "Parameter, output, thread-local, temporary or constant."),
  ];
}

const matchesAll = (words: readonly string[], text: string): boolean => words.every((word) => text.includes(word));

/** Indexes of the buffers that match a search; null without a search. */
export function search(buffers: readonly Buffer[], query: string): ReadonlySet<number> | null {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  return new Set(
    buffers
      .filter((one) => matchesAll(words, [one.name, one.op, one.opcode, one.shape, one.category, String(one.id)].join(" ").toLowerCase()))
      .map(({ index }) => index),
  );
}

/** Grouping of the treemap. */
export type Grouping = "category" | "op";

/** An op name without numbers and wrappers: "dot_general" for "jit(step)/jvp()/dot_general", "dot" for "dot.3". */
function opOf(buffer: Buffer): string {
  if (buffer.id < 0) return SMALL;
  return buffer.op || buffer.opcode || buffer.name;
}

export function groups(buffers: readonly Buffer[], grouping: Grouping): { name: string; mib: number; buffers: Buffer[] }[] {
  const grouped = new Map<string, Buffer[]>();
  for (const buffer of buffers) {
    const name = grouping === "category" ? categoryOf(buffer) : opOf(buffer);
    grouped.set(name, [...(grouped.get(name) ?? []), buffer]);
  }
  return [...grouped]
    .map(([name, list]) => ({
      name,
      mib: sum(list.map(({ sizeMib }) => sizeMib)),
      buffers: [...list].sort((a, b) => b.sizeMib - a.sizeMib),
    }))
    .sort((a, b) => b.mib - a.mib);
}
