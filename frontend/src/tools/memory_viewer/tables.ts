// The tables of the memory viewer. Pure.
import { columnsOf, makeTable, numberColumn } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";
import type { Buffer, MemoryView } from "./decode";

/** Buffers at the peak as a table. */
export function bufferTable(buffers: readonly Buffer[], instructions: readonly string[]): TableData {
  const { text, number } = columnsOf(buffers);
  const instructionAt = (event: number | undefined): string => (event === undefined ? "" : (instructions[event] ?? ""));
  return makeTable([
    text("name", "Instruction name", "Instruction that defines the buffer, with a tuple index in braces.", (one) =>
      one.id < 0 ? "small (below 16 KiB each)" : one.name,
    ),
    number("size", "Size", "MiB", "Size with padding.", (one) => one.sizeMib),
    number("unpadded", "Unpadded size", "MiB", "Product of dimensions and element size.", (one) => (one.id < 0 ? null : one.unpaddedMib)),
    text("category", "Allocation type", "Parameter, output, thread-local, temporary or constant.", (one) => one.category),
    text("opcode", "Opcode", "Opcode of the instruction.", (one) => one.opcode),
    text("op", "Framework op", "Name of the op in the framework.", (one) => one.op),
    text("shape", "Shape", "Element type, dimensions and layout.", (one) => one.shape),
    number("alloc", "Allocated at", null, "Event in program order, from 1; missing if live from the start.", (one) =>
      one.span ? one.span.begin + 1 : null,
    ),
    number("free", "Freed at", null, "Event in program order, from 1; missing if live to the end.", (one) =>
      one.span ? one.span.end + 1 : null,
    ),
    text("freed_by", "Freed at instruction", "Instruction of that event.", (one) => instructionAt(one.span?.end)),
    text("source", "Source", "Source line of the program.", (one) => one.source?.place ?? ""),
    number("buffer_id", "Buffer id", null, "Logical buffer id in the module.", (one) => (one.id < 0 ? null : one.id)),
  ]);
}

/** The working space as a table. */
export function spaceTable(view: MemoryView): TableData {
  const { sizes, unpadded, instructions } = view;
  const { text, number } = columnsOf(sizes);
  return makeTable([
    number("event", "Before event", null, "Position in the program order; the last row is after the last event.", (_, i) => i + 1),
    text("instruction", "Instruction", "Instruction of the event.", (_, i) => instructions[i]),
    numberColumn("size", "Size", "MiB", "Memory in use with padded shapes.", sizes),
    numberColumn("unpadded", "Unpadded size", "MiB", "Memory in use with unpadded shapes.", unpadded),
  ]);
}
