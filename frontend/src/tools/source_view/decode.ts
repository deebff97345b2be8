// Decodes the answer about source lines: lines, ops, buffers of a program at its memory peak, and call stacks.
import { asDict, asList, asNumber, asTable, asText, columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import type { TableData } from "../../base/table/table_data";

export interface Frame {
  file: string;
  /** "" if unknown. */
  name: string;
  line: number;
}

export interface Op {
  name: string;
  programId: string;
  program: string;
  category: string;
  /** The framework op without its type; "" if unknown. */
  framework: string;
  /** Position of its line. */
  line: number;
  /** Innermost call first; empty without location. */
  stack: readonly number[];
  selfPs: number;
  runs: number;
  flops: number;
  bytes: number;
}

export interface Buffer {
  name: string;
  shape: string;
  category: string;
  framework: string;
  line: number;
  stack: readonly number[];
  size: number;
}

interface Memory {
  program: string;
  peakBytes: number;
  programs: readonly { name: string; peakBytes: number }[];
}

export interface Source {
  /** As the server sent them, for CSV. */
  lines: TableData;
  /** Null: no location. */
  places: readonly (Frame | null)[];
  ops: readonly Op[];
  buffers: readonly Buffer[];
  frames: readonly Frame[];
  memory: Memory | null;
  /** Where the ops ran. */
  place: string;
  totalPs: number;
  cores: number;
}

const WHAT = "the answer about source lines";

function framesOf(table: TableData, what: string): (Frame | null)[] {
  const [files, names, lines] = [textsOf(table, "file", what), textsOf(table, "function", what), columnOf(table, "line") ?? []];
  return files.map((file, row) => {
    const line = lines[row];
    return typeof line === "number" ? { file, name: names[row] ?? "", line } : null;
  });
}

function readStacks(value: unknown): number[][] {
  return asList(value, "the stacks").map((one) => asList(one, "a stack").map((frame) => asNumber(frame, "a frame of a stack")));
}

function readOps(table: TableData, stacks: readonly number[][]): Op[] {
  const what = "the table of ops";
  const text = (id: string): string[] => textsOf(table, id, what);
  const number = (id: string): number[] => numbersOf(table, id, what);
  const [names, ids, programs, categories, frameworks] = [
    text("name"),
    text("program_id"),
    text("program"),
    text("category"),
    text("framework_op"),
  ];
  const [lines, stack, self, runs, flops, bytes] = ["line", "stack", "self_ps", "occurrences", "flops", "bytes"].map(number);
  return names.map((name, row) => ({
    name,
    programId: ids[row] ?? "",
    program: programs[row] ?? "",
    category: categories[row] ?? "",
    framework: frameworks[row] ?? "",
    line: lines?.[row] ?? 0,
    stack: stacks[stack?.[row] ?? -1] ?? [],
    selfPs: self?.[row] ?? 0,
    runs: runs?.[row] ?? 0,
    flops: flops?.[row] ?? 0,
    bytes: bytes?.[row] ?? 0,
  }));
}

function readBuffers(table: TableData, stacks: readonly number[][]): Buffer[] {
  const what = "the table of buffers";
  const [names, shapes, categories, frameworks] = ["name", "shape", "category", "framework_op"].map((id) => textsOf(table, id, what));
  const [lines, stack, sizes] = ["line", "stack", "size"].map((id) => numbersOf(table, id, what));
  return (names ?? []).map((name, row) => ({
    name,
    shape: shapes?.[row] ?? "",
    category: categories?.[row] ?? "",
    framework: frameworks?.[row] ?? "",
    line: lines?.[row] ?? 0,
    stack: stacks[stack?.[row] ?? -1] ?? [],
    size: sizes?.[row] ?? 0,
  }));
}

function readMemory(value: unknown): Memory | null {
  if (value === null || value === undefined) return null;
  const memory = asDict(value, "the memory of a program");
  return {
    program: asText(memory["program"], "the name of the program"),
    peakBytes: asNumber(memory["peak_bytes"], "the peak of the program"),
    programs: asList(memory["programs"], "the programs").map((one) => {
      const program = asDict(one, "a program");
      return { name: asText(program["name"], "the name of a program"), peakBytes: asNumber(program["peak_bytes"], "its peak") };
    }),
  };
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readSource(value: unknown): Source {
  const answer = asDict(value, WHAT);
  const lines = asTable(answer["lines"], "the table of lines");
  const stacks = readStacks(answer["stacks"]);
  return {
    lines,
    places: framesOf(lines, "the table of lines"),
    ops: readOps(asTable(answer["ops"], "the table of ops"), stacks),
    buffers: readBuffers(asTable(answer["buffers"], "the table of buffers"), stacks),
    frames: framesOf(asTable(answer["frames"], "the table of calls"), "the table of calls").map(
      (frame) => frame ?? { file: "", name: "", line: 0 },
    ),
    memory: readMemory(answer["memory"]),
    place: asText(answer["place"], "the place of the ops"),
    totalPs: asNumber(answer["total_ps"], "the time of the recording"),
    cores: asNumber(answer["cores"], "the number of cores"),
  };
}
