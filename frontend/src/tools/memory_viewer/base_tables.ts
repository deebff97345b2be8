// The memory of a program beside that of the same program in a base. Pure.
import type { ComparedRuns } from "../../base/documents";
import { textsOf } from "../../api/payload/fields";
import { amountsTable, joinTables, keysOf, pairRows, withoutId, withoutNumber } from "../../base/table/difference";
import type { TableData } from "../../base/table/table_data";
import type { ProgramMemory } from "../../base/documents";
import { bufferTable, buffersOf, byCategory } from "./model";
import type { Buffer } from "./model";

/** The program of a base that a program corresponds to: of the same name, as the comparison found, or of the same name but for the id. */
export function moduleOfBase(names: readonly string[], module: string, found: ComparedRuns | null): string | null {
  if (names.includes(module)) return module;
  const name = withoutId(module);
  const row = found === null ? -1 : textsOf(found.programs, "program", "the table of programs").indexOf(name);
  const known = found === null || row < 0 ? name : textsOf(found.programs, "base_program", "the table of programs")[row] || name;
  return names.find((one) => withoutId(one) === known) ?? names.find((one) => withoutId(one) === name) ?? null;
}

function amounts(view: ProgramMemory): [string, number | null][] {
  const kinds = byCategory(buffersOf(view)).map(({ category, size }): [string, number] => [`At the peak: ${category}`, size]);
  return [
    ["Peak memory usage", view.peak_bytes],
    ["Peak without padding", view.peak_unpadded_bytes],
    ["Live for the whole program", view.indefinite_bytes],
    ["Arguments", view.parameter_bytes],
    ["Allocated in all", view.total_bytes],
    ...kinds,
  ];
}

/** Sizes of the program in both runs. */
export const sizesTable = (view: ProgramMemory, base: ProgramMemory): TableData =>
  amountsTable("Memory", "bytes", amounts(view), amounts(base));

/** The table of the given buffers with those of a base: by name, framework op and shape, else by opcode and name without its number. */
export function withBaseBuffers(view: ProgramMemory, base: ProgramMemory, buffers: readonly Buffer[], searched: boolean): TableData {
  const [run, theirs] = [bufferTable(view, buffers), bufferTable(base, buffersOf(base))];
  const exact = ["name", "category", "op", "shape"];
  const kindless = (table: TableData): string[] => {
    const rest = keysOf(table, ["category", "opcode", "op"]);
    return keysOf(table, ["name"]).map((name, row) => `${withoutNumber(name.replace(/\{[\d,]*\}$/, ""))}\0${rest[row] ?? ""}`);
  };
  const pairs = pairRows([
    { run: keysOf(run, exact), base: keysOf(theirs, exact) },
    { run: keysOf(run, ["name", "category", "opcode"]), base: keysOf(theirs, ["name", "category", "opcode"]), unique: true },
    { run: kindless(run), base: kindless(theirs), unique: true },
  ]);
  const every = { run: buffers.map((_, row) => row), rest: searched ? [] : pairs.rest };
  return joinTables(run, theirs, pairs, { sums: ["size", "unpadded"] }, every);
}
