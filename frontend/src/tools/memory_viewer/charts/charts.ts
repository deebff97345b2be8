// The charts of the memory viewer. Pure.
import type { BlocksChart, StepsChart, Tip, TreemapChart } from "../../../base/chart/chart_spec";
import { categoryColour } from "../../../base/colour";
import type { Theme } from "../../../base/colour";
import { formatBytes, formatCount, formatPercent, plural } from "../../../base/format";
import { columnsOf, makeTable } from "../../../base/table/columns";
import type { TableData } from "../../../base/table/table_data";
import type { Block, Buffer, MemoryView } from "../decode";
import { SMALL, axisEnd, blockSpan, bufferColour, bytes, capacityOf, groups } from "../model";
import { bufferTable, spaceTable } from "../tables";
import type { Grouping } from "../model";

function tipOf(title: string, ...lines: readonly (readonly [string, string])[]): Tip {
  return { title, lines: lines.map(([name, text]) => ({ name, text, colour: null })) };
}

const PROGRAM_ORDER = "Program order (events of the HLO sequence)";

export const CAPACITY = "Device memory";
/** Below this share of the capacity, its line is hidden at first, because the program's curve would look flat. */
const SMALL_USE = 0.2;

/** Whether the line of the capacity is hidden at first. */
export const hidesCapacity = (view: MemoryView, space: string): boolean => view.peakMib < SMALL_USE * (capacityOf(view, space) ?? 0);

/** Memory in use before each event and after the last, and the device's capacity if it is known. */
export function spaceChart(view: MemoryView, space: string): StepsChart {
  const { sizes, unpadded, peakMib, peakEvent } = view;
  const capacity = capacityOf(view, space);
  const points = sizes.length;
  const padded = sizes.some((size, i) => size !== unpadded[i]);
  return {
    kind: "steps",
    x: { name: PROGRAM_ORDER, unit: null, from: 0, to: axisEnd(view) },
    y: { name: "Memory", unit: "MiB" },
    at: sizes.map((_, i) => i),
    series: [
      { name: padded ? "Size" : "Size (no shape is padded)", colour: 0, draw: "area", outlined: true, opacity: 0.22, values: sizes },
      ...(padded ? [{ name: "Unpadded size", colour: 5, draw: "line" as const, dashed: true, values: unpadded }] : []),
      ...(capacity === null ? [] : [{ name: CAPACITY, colour: 3, draw: "line" as const, dashed: true, values: sizes.map(() => capacity) }]),
    ],
    sentence: `Memory in use over the program order: ${points} points, peak ${bytes(peakMib)} after event ${peakEvent + 1}.`,
    tip: (place) => {
      const [size, plain] = [sizes[place], unpadded[place]];
      if (size === undefined) return null;
      const title = place === points - 1 ? "After the last event" : `Before event ${place + 1}: ${view.instructions[place] || "(no name)"}`;
      return tipOf(
        title,
        ["Size", bytes(size)],
        ["Unpadded size", plain === undefined ? "-" : bytes(plain)],
        ["Share of the peak", formatPercent((100 * size) / (peakMib || 1))],
      );
    },
    table: () => spaceTable(view),
  };
}

/** Blocks of buffers live at the peak in full colour, others faded; blocks without a buffer are empty frames. */
export function blocksChart(view: Pick<MemoryView, "blocks" | "sizes">, buffers: ReadonlyMap<number, Buffer>, theme: Theme): BlocksChart {
  const { blocks } = view;
  const to = axisEnd(view);
  return {
    kind: "blocks",
    x: { name: PROGRAM_ORDER, unit: null, from: 0, to },
    y: { name: "Offset", unit: "bytes" },
    blocks: blocks.map((block, i) => {
      const { id, name, offset, size } = block;
      const buffer = buffers.get(id);
      return {
        name,
        x: blockSpan(block),
        y: [offset, offset + size],
        colour: id < 0 ? null : buffer ? bufferColour(buffer, theme) : categoryColour(i, theme),
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
            [
              "Events",
              block.id < 0 ? `1 to ${formatCount(block.end)}` : `${formatCount(block.begin + 1)} to ${formatCount(block.end + 1)}`,
            ],
          )
        : null;
    },
    table: () => blockTable(blocks),
  };
}

function blockTable(blocks: readonly Block[]): TableData {
  const { text, number } = columnsOf(blocks);
  return makeTable([
    text("name", "Buffer", "Instruction that defines the buffer.", ({ name }) => name),
    number("offset", "Offset", "bytes", "First byte within the allocation.", ({ offset }) => offset),
    number("size", "Size", "bytes", "Size with padding.", ({ size }) => size),
    number("begin", "Allocated at", null, "Event of the program order, from 1.", ({ begin }) => begin + 1),
    number("end", "Freed at", null, "Event of the program order, from 1.", ({ id, end }) => (id < 0 ? end : end + 1)),
  ]);
}

/** Treemap of the buffers at the peak; buffers that do not match a search are faded. */
export function peakTreemap(buffers: readonly Buffer[], grouping: Grouping, found: ReadonlySet<number> | null, theme: Theme): TreemapChart {
  const list = groups(buffers, grouping);
  const byPlace = new Map(buffers.map((buffer) => [buffer.index, buffer]));
  return {
    kind: "treemap",
    groups: list.map(({ name, mib, buffers: members }) => ({
      name,
      text: bytes(mib),
      tiles: members.map((buffer) => ({
        place: buffer.index,
        name: buffer.id < 0 ? "small" : buffer.name,
        text: bytes(buffer.sizeMib),
        value: buffer.sizeMib,
        colour: bufferColour(buffer, theme),
        faded: found !== null && !found.has(buffer.index),
      })),
    })),
    sentence: `Memory at the peak by ${grouping}: ${plural(list.length, "group")}, ${plural(buffers.length, "buffer")}.`,
    tip: (place) => {
      const buffer = byPlace.get(place);
      return buffer ? tipOf(buffer.id < 0 ? SMALL : buffer.name, ["Size", bytes(buffer.sizeMib)]) : null;
    },
    table: () => bufferTable(buffers, []),
  };
}
