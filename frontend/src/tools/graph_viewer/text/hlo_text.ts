// Parses HLO text, with or without percent signs, to computations, instructions and their uses.

interface Instruction {
  name: string;
  /** Index of its line, from 0. */
  line: number;
  /** Index of its computation. */
  computation: number;
  opcode: string;
  shape: string;
  root: boolean;
  /** Instructions by index; only those of the same computation. */
  operands: number[];
  users: number[];
  /** Computations by index. */
  calls: number[];
  /** Offset of the operands and attributes within the line. */
  tail: number;
}

interface Computation {
  name: string;
  line: number;
  entry: boolean;
  instructions: number[];
  /** Instructions that call it. */
  callers: number[];
}

export interface HloText {
  lines: string[];
  instructions: Instruction[];
  computations: Computation[];
  /** Index of the instruction that a line defines, -1 for other lines. */
  atLine: Int32Array;
  /** Index of the computation that contains a line, -1 for none. */
  within: Int32Array;
  byName: ReadonlyMap<string, number>;
  computationByName: ReadonlyMap<string, number>;
}

const HEAD = /^(ENTRY )?%?([\w.\-$:<>]+)\s*(?:\(.*\)\s*->\s*.*)?\{\s*$/;
const DEFINITION = /^\s+(ROOT )?%?([\w.\-$:]+) = /;
const NAME = /%?([A-Za-z_][\w.\-$:]*)/g;

const OPEN = "([{";
const CLOSE = ")]}";

/** Index of the first character from `at` on that is one of `ends`, outside brackets and quotes. */
function skip(text: string, at: number, ends: string): number {
  let depth = 0;
  let quoted = false;
  for (let i = at; i < text.length; i++) {
    const c = text.charAt(i);
    if (c === '"' && text.charAt(i - 1) !== "\\") quoted = !quoted;
    if (quoted) continue;
    if (depth === 0 && ends.includes(c)) return i;
    if (OPEN.includes(c)) depth++;
    else if (CLOSE.includes(c)) depth--;
  }
  return text.length;
}

/** Splits at commas that are outside brackets and quotes. */
export function splitTop(text: string): string[] {
  const parts: string[] = [];
  for (let position = 0; position < text.length;) {
    const end = skip(text, position, ",");
    parts.push(text.slice(position, end).trim());
    position = end + 1;
  }
  return parts.filter(Boolean);
}

interface Draft {
  operands: string[];
  attributes: string;
}

/** Empties quoted strings, which do not affect the graph. */
const withoutQuotes = (text: string): string => text.replace(/"(?:[^"\\]|\\.)*"/g, '""');

function readLine(line: string, start: number): { shape: string; opcode: string; tail: number } & Draft {
  const shapeEnd = skip(line, start, " ");
  const open = line.indexOf("(", shapeEnd);
  if (open < 0)
    return { shape: line.slice(start, shapeEnd), opcode: line.slice(shapeEnd).trim(), tail: line.length, operands: [], attributes: "" };
  const close = skip(line, open + 1, ")");
  const operands = splitTop(line.slice(open + 1, close).replace(/\/\*.*?\*\//g, "")).map(
    (part) => part.split(/\s+/).at(-1)?.replace(/^%/, "") ?? "",
  );
  return {
    shape: line.slice(start, shapeEnd),
    opcode: line.slice(shapeEnd, open).trim(),
    tail: open,
    operands,
    attributes: withoutQuotes(line.slice(close + 1)),
  };
}

/** Parses a module; lines that are neither headers nor definitions are kept as text. */
export function readHlo(text: string): HloText {
  const lines = text.replace(/\n$/, "").split("\n");
  const instructions: Instruction[] = [];
  const computations: Computation[] = [];
  const drafts: Draft[] = [];
  const atLine = new Int32Array(lines.length).fill(-1);
  const within = new Int32Array(lines.length).fill(-1);
  let current = -1;
  lines.forEach((line, number) => {
    const head = current < 0 && !line.startsWith("HloModule") ? HEAD.exec(line) : null;
    if (head) {
      current = computations.length;
      computations.push({ name: head[2] ?? "", line: number, entry: head[1] !== undefined, instructions: [], callers: [] });
    }
    within[number] = current;
    if (/^\s*\}/.test(line)) current = -1;
    const definition = current >= 0 && !head ? DEFINITION.exec(line) : null;
    if (!definition) return;
    const { operands, attributes, ...rest } = readLine(line, definition[0].length);
    atLine[number] = instructions.length;
    computations[current]?.instructions.push(instructions.length);
    instructions.push({
      ...rest,
      name: definition[2] ?? "",
      line: number,
      computation: current,
      root: definition[1] !== undefined,
      operands: [],
      users: [],
      calls: [],
    });
    drafts.push({ operands, attributes });
  });
  const computationByName = new Map(computations.map(({ name }, i) => [name, i]));
  link(instructions, computations, drafts, computationByName);
  // If names are not unique, they refer to the first.
  const byName = new Map<string, number>();
  instructions.forEach(({ name }, i) => {
    if (!byName.has(name)) byName.set(name, i);
  });
  return { lines, instructions, computations, atLine, within, byName, computationByName };
}

function link(
  instructions: Instruction[],
  computations: Computation[],
  drafts: readonly Draft[],
  computationByName: ReadonlyMap<string, number>,
): void {
  for (const { instructions: own } of computations) {
    const local = new Map(own.map((i) => [instructions[i]?.name ?? "", i]));
    for (const i of own) {
      const [instruction, draft] = [instructions[i], drafts[i]];
      if (!instruction || !draft) continue;
      instruction.operands = draft.operands.flatMap((name) => local.get(name) ?? []);
      for (const operand of new Set(instruction.operands)) instructions[operand]?.users.push(i);
      const called = [...draft.attributes.matchAll(NAME)].flatMap((match) => computationByName.get(match[1] ?? "") ?? []);
      instruction.calls = [...new Set(called)];
      for (const computation of instruction.calls) computations[computation]?.callers.push(i);
    }
  }
}

/** A piece of a line; `target` is the name that a click selects. */
interface Piece {
  text: string;
  kind: "plain" | "definition" | "link";
  /** Name of an instruction or a computation. */
  target: string | null;
}

/** Splits a line into text and links: its own name, its operands, the computations that it calls. */
export function pieces(hlo: HloText, number: number): Piece[] {
  const line = hlo.lines[number] ?? "";
  const index = hlo.atLine[number] ?? -1;
  const instruction = index < 0 ? undefined : hlo.instructions[index];
  if (!instruction) {
    const computation = hlo.computations[hlo.within[number] ?? -1];
    if (!computation || computation.line !== number) return [{ text: line, kind: "plain", target: null }];
    return piecesAround(line, line.indexOf(computation.name), computation.name, "definition");
  }
  const [before, name, after] = piecesAround(
    line.slice(0, instruction.tail),
    line.indexOf(instruction.name),
    instruction.name,
    "definition",
  );
  const targets = new Set([
    ...instruction.operands.map((i) => hlo.instructions[i]?.name ?? ""),
    ...instruction.calls.map((i) => hlo.computations[i]?.name ?? ""),
  ]);
  const out: Piece[] = [before, name, after].filter((piece) => piece !== undefined);
  const tail = line.slice(instruction.tail);
  const blind = tail.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => " ".repeat(quoted.length));
  let done = 0;
  for (const match of blind.matchAll(NAME)) {
    const target = match[1] ?? "";
    if (!targets.has(target)) continue;
    out.push(
      { text: tail.slice(done, match.index), kind: "plain", target: null },
      { text: tail.slice(match.index, match.index + match[0].length), kind: "link", target },
    );
    done = match.index + match[0].length;
  }
  out.push({ text: tail.slice(done), kind: "plain", target: null });
  return out.filter(({ text }) => text !== "");
}

function piecesAround(line: string, at: number, name: string, kind: Piece["kind"]): Piece[] {
  return [
    { text: line.slice(0, at), kind: "plain", target: null },
    { text: name, kind, target: name },
    { text: line.slice(at + name.length), kind: "plain", target: null },
  ];
}

/** Lines that contain a text, case-insensitive. */
export function findLines(lines: readonly string[], query: string): number[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  return lines.flatMap((line, i) => (line.toLowerCase().includes(wanted) ? [i] : []));
}

/** Number of instructions by opcode, most frequent first. */
export function opcodes(hlo: HloText): [string, number][] {
  const counts = new Map<string, number>();
  for (const { opcode } of hlo.instructions) counts.set(opcode, (counts.get(opcode) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
