// The tree of files, functions, lines and ops, or of name scopes; with a base, both sides in one tree. Pure.
import { columnOf } from "../../api/payload/fields";
import type { Source } from "../../base/documents";
import { compareNatural, rowsOf } from "../../base/table/table_data";

export interface Frame {
  file: string;
  /** "" if unknown. */
  function: string;
  line: number;
}

/** A row of `Source.ops`. */
export interface Op {
  name: string;
  program_id: string;
  program: string;
  category: string;
  framework_op: string;
  line: number;
  stack: number;
  self_ps: number;
  occurrences: number;
  flops: number | null;
  bytes: number | null;
}

/** A row of `Source.buffers`. */
export interface Buffer {
  name: string;
  shape: string;
  category: string;
  framework_op: string;
  line: number;
  stack: number;
  size: number;
}

export const opsOf = ({ ops }: Source): Op[] => rowsOf<Op>(ops);
export const buffersOf = ({ buffers }: Source): Buffer[] => rowsOf<Buffer>(buffers);

/** The source lines; null: no location. */
export const placesOf = ({ lines }: Source): (Frame | null)[] =>
  rowsOf<Frame & { line: number | null }>(lines).map((frame) => (frame.line === null ? null : frame));

/** The calls of a stack, innermost first. */
export function callsOf({ stacks, frames }: Source): (stack: number) => Frame[] {
  const calls = rowsOf<Frame>(frames);
  return (stack) => (stacks[stack] ?? []).flatMap((frame) => calls[frame] ?? []);
}

export const GROUPINGS = ["line", "scope"] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const MEASURES = ["time", "peak", "flops", "bytes"] as const;
export type Measure = (typeof MEASURES)[number];

export type Kind = "root" | "file" | "function" | "line" | "scope" | "none" | "op" | "buffer";
export type Sums = Record<Measure, number> & { runs: number };

export interface Node {
  /** Kinds and labels from the root, one a line. */
  id: string;
  kind: Kind;
  label: string;
  sums: Sums;
  /** Of the base; null: it has no such node. */
  base: Sums | null;
  children: Node[];
  /** Of files, functions and lines. */
  place: Frame | null;
  op: Op | null;
  buffer: Buffer | null;
}

export const NO_LOCATION = "no location";
export const NO_SCOPE = "no scope";
const noSums = (): Sums => ({ time: 0, peak: 0, flops: 0, bytes: 0, runs: 0 });

interface Step {
  kind: Kind;
  label: string;
  place?: Frame | null;
}

/** File, function and line of what is from a line. */
function linePath(place: Frame | null | undefined): Step[] {
  if (!place) return [{ kind: "none", label: NO_LOCATION }];
  const file: Step = { kind: "file", label: place.file, place: { ...place, function: "", line: 0 } };
  const of: Step[] = place.function === "" ? [] : [{ kind: "function", label: place.function, place: { ...place, line: 0 } }];
  return [file, ...of, { kind: "line", label: `line ${String(place.line)}`, place }];
}

/** The scopes of a framework op: `jit(f)/dense/dot_general` -> jit(f), dense, dot_general. */
export function scopePath(framework: string): Step[] {
  const scopes = framework
    .replace(/:[^/:]*$/, "")
    .split("/")
    .filter(Boolean);
  return scopes.length === 0 ? [{ kind: "none", label: NO_SCOPE }] : scopes.map((label) => ({ kind: "scope", label }));
}

const keyOf = ({ kind, label }: Step): string => `${kind}:${label}`;
const idOf = (parent: Node, step: Step): string => (parent.id === "" ? keyOf(step) : `${parent.id}\n${keyOf(step)}`);

class Builder {
  readonly root: Node = makeNode("", "root", "");
  private readonly nodes = new Map<string, Node>();

  add(path: readonly Step[], sums: Sums, ofBase: boolean): void {
    let node = this.root;
    addTo(node, sums, ofBase);
    for (const step of path) {
      node = this.child(node, step);
      addTo(node, sums, ofBase);
    }
  }

  leaf(path: readonly Step[], more: Pick<Node, "op" | "buffer">): void {
    const node = this.nodes.get(path.map(keyOf).join("\n"));
    if (node) Object.assign(node, more);
  }

  private child(parent: Node, step: Step): Node {
    const id = idOf(parent, step);
    const known = this.nodes.get(id);
    if (known) return known;
    const node = makeNode(id, step.kind, step.label, step.place ?? null);
    this.nodes.set(id, node);
    parent.children.push(node);
    return node;
  }
}

function makeNode(id: string, kind: Kind, label: string, place: Frame | null = null): Node {
  return { id, kind, label, sums: noSums(), base: null, children: [], place, op: null, buffer: null };
}

function addTo(node: Node, sums: Sums, ofBase: boolean): void {
  if (ofBase) node.base ??= noSums();
  const target = ofBase ? node.base : node.sums;
  if (target === null) return;
  for (const [key, value] of Object.entries(sums)) target[key as keyof Sums] += value;
}

/** The name of an op in the tree: with its program if ops of several programs have the name. */
const opLabel = (op: Op, several: ReadonlySet<string>): string =>
  several.has(op.name) ? `${op.name} @ ${op.program || op.program_id}` : op.name;

function sharedNames(ops: readonly Op[]): Set<string> {
  const seen = new Set<string>();
  return new Set(ops.map(({ name }) => name).filter((name) => seen.has(name) || !seen.add(name)));
}

interface Side {
  source: Source;
  ofBase: boolean;
  /** Sums but memory are divided by it. */
  steps: number;
  file: (file: string) => string;
}

function addSide(builder: Builder, { source, ofBase, steps, file }: Side, by: Grouping): void {
  const [ops, places] = [opsOf(source), placesOf(source)];
  const several = sharedNames(ops);
  const placeOf = (line: number): Frame | null => {
    const place = places[line] ?? null;
    return place === null ? null : { ...place, file: file(place.file) };
  };
  const pathOf = (line: number, framework: string): Step[] => (by === "line" ? linePath(placeOf(line)) : scopePath(framework));
  const ofFramework = source.place.startsWith("framework");
  for (const op of ops) {
    // The name of a framework's op is its path.
    const above = ofFramework && by === "scope" ? scopePath(op.name).slice(0, -1) : pathOf(op.line, op.framework_op);
    const path: Step[] = [...above, { kind: "op", label: opLabel(op, several) }];
    const [flops, bytes] = [(op.flops ?? 0) / steps, (op.bytes ?? 0) / steps];
    builder.add(path, { time: op.self_ps / steps, peak: 0, flops, bytes, runs: op.occurrences / steps }, ofBase);
    if (!ofBase) builder.leaf(path, { op, buffer: null });
  }
  for (const buffer of buffersOf(source)) {
    const path: Step[] = [...pathOf(buffer.line, buffer.framework_op), { kind: "buffer", label: buffer.name || "unknown" }];
    builder.add(path, { ...noSums(), peak: buffer.size }, ofBase);
    if (!ofBase) builder.leaf(path, { op: null, buffer });
  }
}

/** Files of the base by those of the run: the same path, else the only one with the same last two parts, else with the same name. */
export function sameFiles(run: readonly string[], base: readonly string[]): (file: string) => string {
  const here = new Set(run);
  const ends = (count: number): Map<string, string | null> => {
    const found = new Map<string, string | null>();
    for (const file of here) {
      const end = file.split(/[\\/]/).slice(-count).join("/");
      found.set(end, found.has(end) ? null : file);
    }
    return found;
  };
  const levels = [2, 1].map((count) => [count, ends(count)] as const);
  const renamed = new Map(
    [...new Set(base)].map((file) => {
      if (here.has(file)) return [file, file] as const;
      const found = levels.map(([count, files]) => files.get(file.split(/[\\/]/).slice(-count).join("/"))).find(Boolean);
      return [file, found ?? file] as const;
    }),
  );
  return (file) => renamed.get(file) ?? file;
}

export const filesOf = (source: Source): string[] => placesOf(source).flatMap((place) => (place === null ? [] : [place.file]));

/** The tree of a run, with a base that of both; `steps` are those that sums are divided by, memory excepted. */
export function sourceTree(
  run: Source,
  by: Grouping,
  base: Source | null = null,
  steps: { run: number; base: number } | null = null,
): Node {
  const builder = new Builder();
  addSide(builder, { source: run, ofBase: false, steps: steps?.run ?? 1, file: (file) => file }, by);
  if (base !== null) {
    const file = sameFiles(filesOf(run), filesOf(base));
    addSide(builder, { source: base, ofBase: true, steps: steps?.base ?? 1, file }, by);
  }
  return builder.root;
}

/** Whether any op or buffer of the run has a line. */
export const hasLines = ({ lines }: Source): boolean => columnOf(lines, "line")?.some((line) => line !== null) ?? false;

/** Run minus base; null where neither has anything. */
export function difference({ sums, base }: Node, measure: Measure): number | null {
  const delta = sums[measure] - (base?.[measure] ?? 0);
  return sums[measure] === 0 && (base?.[measure] ?? 0) === 0 ? null : delta;
}

export interface Row {
  node: Node;
  depth: number;
  place: number;
  siblings: number;
}

export interface View {
  measure: Measure;
  /** Order by the difference to the base. */
  byDifference: boolean;
  open: ReadonlySet<string>;
  search: string;
}

/** The rows that are shown; while something is searched for, all that match with what is around them. */
export function visibleRows(root: Node, { measure, byDifference, open, search }: View): Row[] {
  const wanted = search.trim().toLowerCase();
  const found = wanted === "" ? null : matching(root, wanted);
  const rank = ({ sums, base }: Node): number =>
    byDifference ? Math.abs(sums[measure] - (base?.[measure] ?? 0)) : sums[measure] || (base?.[measure] ?? 0) * 1e-9;
  const rows: Row[] = [];
  const walk = (node: Node, depth: number): void => {
    const children = node.children
      .filter((child) => found?.has(child) ?? true)
      .sort((a, b) => rank(b) - rank(a) || b.sums.peak - a.sums.peak || compareNatural(a.label, b.label));
    children.forEach((child, i) => {
      rows.push({ node: child, depth, place: i + 1, siblings: children.length });
      if (open.has(child.id) || (found !== null && child.children.some((one) => found.has(one)))) walk(child, depth + 1);
    });
  };
  walk(root, 0);
  return rows;
}

function matching(root: Node, wanted: string): Set<Node> {
  const found = new Set<Node>();
  const walk = (node: Node): boolean => {
    const inside = node.children.map(walk).some(Boolean);
    const more = node.op?.framework_op ?? node.buffer?.shape ?? "";
    const hit = inside || `${node.label}\n${more}`.toLowerCase().includes(wanted);
    if (hit) found.add(node);
    return hit;
  };
  root.children.forEach(walk);
  return found;
}

/** Nodes from below the root to the one with an id; empty if there is none. */
export function pathTo(root: Node, id: string): Node[] {
  const path: Node[] = [];
  let node: Node | undefined = root;
  while (node && node.id !== id) {
    node = node.children.find((child) => id === child.id || id.startsWith(`${child.id}\n`));
    if (node) path.push(node);
  }
  return node ? path : [];
}

/** The node of `FILE:LINE`; FILE may be the end of a path. */
export function nodeOfLine(root: Node, wanted: string): Node | null {
  const match = /^(.*?)(?::(\d+))?$/s.exec(wanted.trim());
  const [file, line] = [match?.[1] ?? "", match?.[2] === undefined ? null : Number(match[2])];
  const isFile = (path: string): boolean => path === file || path.endsWith(`/${file}`) || path.endsWith(`\\${file}`);
  const walk = (node: Node): Node | null => {
    if (
      node.place !== null &&
      isFile(node.place.file) &&
      (line === null ? node.kind === "file" : node.kind === "line" && node.place.line === line)
    )
      return node;
    for (const child of node.children) {
      const found = walk(child);
      if (found) return found;
    }
    return null;
  };
  return walk(root);
}

/** What an op is part of: its line, or its scope; by the name of the op or of its framework op. */
export function parentOfOp(root: Node, wanted: string): Node | null {
  const plain = (name: string): string => name.replace(/:[^/:]*$/, "");
  const walk = (node: Node): Node | null => {
    for (const child of node.children) {
      if (child.op !== null && (child.op.name === wanted || (child.op.framework_op !== "" && child.op.framework_op === plain(wanted))))
        return node;
      const found = walk(child);
      if (found) return found;
    }
    return null;
  };
  return walk(root);
}

/** The nodes that are open at first: the largest file and its largest function. */
export function firstOpen(root: Node, measure: Measure): Set<string> {
  const open = new Set<string>();
  let node: Node | undefined = root;
  for (let depth = 0; depth < 3 && node; depth++) {
    node = node.children.reduce<Node | undefined>((most, one) => (!most || one.sums[measure] > most.sums[measure] ? one : most), undefined);
    if (node && node.children.length > 0) open.add(node.id);
  }
  return open;
}

/** All ops and buffers below a node, the largest first. */
export function leavesOf(node: Node): { ops: Op[]; buffers: Buffer[] } {
  const [ops, buffers]: [Op[], Buffer[]] = [[], []];
  const walk = (one: Node): void => {
    if (one.op !== null) ops.push(one.op);
    if (one.buffer !== null) buffers.push(one.buffer);
    one.children.forEach(walk);
  };
  walk(node);
  return { ops: ops.sort((a, b) => b.self_ps - a.self_ps), buffers: buffers.sort((a, b) => b.size - a.size) };
}

/** Sums of the lines of a file by line number. */
export function linesOf(root: Node, file: string): Map<number, Node> {
  const found = new Map<number, Node>();
  const walk = (node: Node): void => {
    if (node.kind === "line" && node.place !== null) found.set(node.place.line, node);
    node.children.forEach(walk);
  };
  root.children.filter(({ kind, label }) => kind === "file" && label === file).forEach(walk);
  return found;
}
