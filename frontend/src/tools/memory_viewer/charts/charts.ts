// The charts of the memory viewer. Pure.
import type { BlocksChart, StepsChart, Tip, TreemapChart } from "../../../base/chart/chart_spec";
import { categoryColour } from "../../../base/colour";
import type { Theme } from "../../../base/colour";
import { formatBytes, formatCount, formatPercent, plural } from "../../../base/format";
import type { ProgramMemory } from "../../../base/documents";
import { SMALL, axisEnd, blockSpan, blocksOf, bufferColour, bufferTable, buffersOf, capacityOf, groups, heapOf } from "../model";
import type { Buffer, Grouping } from "../model";

function tipOf(title: string, ...lines: readonly (readonly [string, string])[]): Tip {
  return { title, lines: lines.map(([name, text]) => ({ name, text, colour: null })) };
}

const PROGRAM_ORDER = "Program order (events of the HLO sequence)";

export const CAPACITY = "Device memory";
/** Below this share of the capacity, its line is hidden at first, because the program's curve would look flat. */
const SMALL_USE = 0.2;

/** Whether the line of the capacity is hidden at first. */
export const hidesCapacity = (view: ProgramMemory, space: string): boolean => view.peak_bytes < SMALL_USE * (capacityOf(view, space) ?? 0);

/** Memory in use before each event and after the last, and the device's capacity if it is known. */
export function spaceChart(view: ProgramMemory, space: string): StepsChart {
  const { sizes, unpadded, instructions } = heapOf(view);
  const peak = view.peak_bytes;
  const capacity = capacityOf(view, space);
  const points = sizes.length;
  const padded = sizes.some((size, i) => size !== unpadded[i]);
  return {
    kind: "steps",
    x: { name: PROGRAM_ORDER, unit: null, from: 0, to: axisEnd(view) },
    y: { name: "Memory", unit: "bytes" },
    at: sizes.map((_, i) => i),
    series: [
      { name: padded ? "Size" : "Size (no shape is padded)", colour: 0, draw: "area", outlined: true, opacity: 0.22, values: sizes },
      ...(padded ? [{ name: "Unpadded size", colour: 5, draw: "line" as const, dashed: true, values: unpadded }] : []),
      ...(capacity === null ? [] : [{ name: CAPACITY, colour: 3, draw: "line" as const, dashed: true, values: sizes.map(() => capacity) }]),
    ],
    sentence: `Memory in use over the program order: ${points} points, peak ${formatBytes(peak)} after event ${(view.peak_event ?? 0) + 1}.`,
    tip: (place) => {
      const [size, plain] = [sizes[place], unpadded[place]];
      if (size === undefined) return null;
      const title = place === points - 1 ? "After the last event" : `Before event ${place + 1}: ${instructions[place] || "(no name)"}`;
      return tipOf(
        title,
        ["Size", formatBytes(size)],
        ["Unpadded size", plain === undefined ? "-" : formatBytes(plain)],
        ["Share of the peak", formatPercent((100 * size) / (peak || 1))],
      );
    },
    table: () => view.heap,
  };
}

/** Blocks of buffers live at the peak in full colour, others faded; blocks without a buffer are empty frames. */
export function blocksChart(view: Pick<ProgramMemory, "blocks" | "heap">, buffers: ReadonlyMap<number, Buffer>, theme: Theme): BlocksChart {
  const blocks = blocksOf(view);
  const to = axisEnd(view);
  return {
    kind: "blocks",
    x: { name: PROGRAM_ORDER, unit: null, from: 0, to },
    y: { name: "Offset", unit: "bytes" },
    blocks: blocks.map((block, i) => {
      const { buffer_id: id, name, offset, size } = block;
      const buffer = buffers.get(id ?? -1);
      return {
        name,
        x: blockSpan(block),
        y: [offset, offset + size],
        colour: id === null ? null : buffer ? bufferColour(buffer, theme) : categoryColour(i, theme),
        opacity: buffer ? 1 : 0.55,
      };
    }),
    sentence: `Allocation timeline: ${plural(blocks.length, "block")} over ${plural(to - 1, "event")}.`,
    tip: (place) => {
      const block = blocks[place];
      return block
        ? tipOf(
            block.name,
            ["Size", formatBytes(block.size)],
            ["Offset", formatBytes(block.offset)],
            ["Events", `${formatCount(block.begin)} to ${formatCount(block.end)}`],
          )
        : null;
    },
    table: () => view.blocks,
  };
}

/** Treemap of the buffers at the peak; buffers that do not match a search are faded. */
export function peakTreemap(
  view: Pick<ProgramMemory, "buffers">,
  grouping: Grouping,
  found: ReadonlySet<number> | null,
  theme: Theme,
): TreemapChart {
  const buffers = buffersOf(view);
  const list = groups(buffers, grouping);
  const byPlace = new Map(buffers.map((buffer) => [buffer.index, buffer]));
  return {
    kind: "treemap",
    groups: list.map(({ name, size, buffers: members }) => ({
      name,
      text: formatBytes(size),
      tiles: members.map((buffer) => ({
        place: buffer.index,
        name: buffer.buffer_id === null ? "small" : buffer.name,
        text: formatBytes(buffer.size),
        value: buffer.size,
        colour: bufferColour(buffer, theme),
        faded: found !== null && !found.has(buffer.index),
      })),
    })),
    sentence: `Memory at the peak by ${grouping}: ${plural(list.length, "group")}, ${plural(buffers.length, "buffer")}.`,
    tip: (place) => {
      const buffer = byPlace.get(place);
      return buffer ? tipOf(buffer.buffer_id === null ? SMALL : buffer.name, ["Size", formatBytes(buffer.size)]) : null;
    },
    table: () => bufferTable(view, buffers),
  };
}
