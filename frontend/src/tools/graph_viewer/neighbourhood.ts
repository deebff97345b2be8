// The instructions around one, and where to draw them: layers from operands above to users below.
import type { HloText } from "./hlo_text";

export interface Edge {
  from: number;
  to: number;
}

export interface Around {
  /** Instructions by index. */
  nodes: number[];
  edges: Edge[];
  /** Nodes with neighbours that are not shown. */
  open: ReadonlySet<number>;
  /** Nodes left out because there were too many. */
  cut: number;
}

/** More cannot be read in one picture. */
export const MOST_NODES = 80;

/** Steps from `start` along `next`, nearest first. */
function walk(start: readonly number[], next: (node: number) => readonly number[], hops: number, seen: Set<number>, order: number[]): void {
  let edge = [...start];
  for (let hop = 0; hop < hops && edge.length; hop++) {
    const found: number[] = [];
    for (const node of edge) for (const other of next(node)) {
      if (seen.has(other)) continue;
      seen.add(other);
      found.push(other);
    }
    order.push(...found);
    edge = found;
  }
}

function edgesAmong(hlo: HloText, nodes: readonly number[]): Edge[] {
  const kept = new Set(nodes);
  return nodes.flatMap((to) => [...new Set(hlo.instructions[to]?.operands ?? [])].filter((from) => kept.has(from)).map((from) => ({ from, to })));
}

function close(hlo: HloText, wanted: number[]): Around {
  const nodes = wanted.slice(0, MOST_NODES);
  const kept = new Set(nodes);
  const open = new Set(nodes.filter((node) => [...(hlo.instructions[node]?.operands ?? []), ...(hlo.instructions[node]?.users ?? [])].some((other) => !kept.has(other))));
  return { nodes, edges: edgesAmong(hlo, nodes), open, cut: wanted.length - nodes.length };
}

/** What an instruction is made from and what is made from it, up to `hops` steps away. */
export function aroundInstruction(hlo: HloText, centre: number, hops: number): Around {
  const [up, down]: [number[], number[]] = [[], []];
  walk([centre], (node) => hlo.instructions[node]?.operands ?? [], hops, new Set([centre]), up);
  walk([centre], (node) => hlo.instructions[node]?.users ?? [], hops, new Set([centre]), down);
  // Operands and users in turn, so that a limit takes from both.
  const wanted = [centre];
  for (let i = 0; i < Math.max(up.length, down.length); i++) for (const node of [up[i], down[i]]) if (node !== undefined && !wanted.includes(node)) wanted.push(node);
  return close(hlo, wanted);
}

/** A whole computation, its root first when it must be cut. */
export function aroundComputation(hlo: HloText, computation: number): Around {
  const own = hlo.computations[computation]?.instructions ?? [];
  return close(hlo, [...own].reverse());
}

export interface Placed {
  node: number;
  x: number;
  y: number;
}

export interface Drawn {
  width: number;
  height: number;
  nodes: Placed[];
  /** Points from the lower edge of one node to the upper edge of another. */
  edges: { from: number; to: number; points: [number, number][] }[];
}

export const NODE_WIDTH = 156;
export const NODE_HEIGHT = 50;
const GAP_X = 20;
const GAP_Y = 34;
const MARGIN = 12;
const BEND_WIDTH = 14;
const SWEEPS = 6;

/** A node, or a bend of an edge that crosses a layer. */
interface Item {
  layer: number;
  width: number;
  x: number;
  above: Item[];
  below: Item[];
}

/** Layer of each node: below all its operands; those without operands right above their first user. */
export function layers(nodes: readonly number[], edges: readonly Edge[]): Map<number, number> {
  const above = new Map<number, number[]>(nodes.map((node) => [node, []]));
  const below = new Map<number, number[]>(nodes.map((node) => [node, []]));
  for (const { from, to } of edges) {
    above.get(to)?.push(from);
    below.get(from)?.push(to);
  }
  const layer = new Map<number, number>();
  const left = new Map(nodes.map((node) => [node, above.get(node)?.length ?? 0]));
  const ready = nodes.filter((node) => left.get(node) === 0);
  for (let node = ready.shift(); node !== undefined; node = ready.shift()) {
    layer.set(node, Math.max(-1, ...(above.get(node) ?? []).map((one) => layer.get(one) ?? 0)) + 1);
    for (const next of below.get(node) ?? []) {
      const rest = (left.get(next) ?? 1) - 1;
      left.set(next, rest);
      if (rest === 0) ready.push(next);
    }
  }
  for (const node of nodes) {
    const users = below.get(node) ?? [];
    if ((above.get(node)?.length ?? 0) === 0 && users.length) layer.set(node, Math.min(...users.map((one) => layer.get(one) ?? 0)) - 1);
    // A circle cannot come from a sound module; its nodes share the first layer.
    else if (!layer.has(node)) layer.set(node, 0);
  }
  return layer;
}

const mean = (items: readonly Item[]): number => items.reduce((all, { x }) => all + x, 0) / items.length;

/** Moves every item of a row towards its neighbours without changing the order or coming too close. */
function settle(row: Item[], side: "above" | "below"): void {
  const wish = row.map((item) => (item[side].length ? mean(item[side]) : item.x));
  const room = (a: Item, b: Item): number => (a.width + b.width) / 2 + GAP_X;
  const [fromLeft, fromRight] = [[...wish], [...wish]];
  row.forEach((item, i) => {
    const before = row[i - 1];
    if (before) fromLeft[i] = Math.max(fromLeft[i] ?? 0, (fromLeft[i - 1] ?? 0) + room(before, item));
  });
  for (let i = row.length - 2; i >= 0; i--) {
    const [item, after] = [row[i], row[i + 1]];
    if (item && after) fromRight[i] = Math.min(fromRight[i] ?? 0, (fromRight[i + 1] ?? 0) - room(item, after));
  }
  row.forEach((item, i) => (item.x = ((fromLeft[i] ?? 0) + (fromRight[i] ?? 0)) / 2));
}

function reorder(rows: Item[][], side: "above" | "below"): void {
  const order = side === "above" ? rows : [...rows].reverse();
  for (const row of order) {
    const key = new Map(row.map((item) => [item, item[side].length ? mean(item[side]) : item.x]));
    row.sort((a, b) => (key.get(a) ?? 0) - (key.get(b) ?? 0));
    settle(row, side);
  }
}

/** Places nodes and edges. */
export function layOut({ nodes, edges }: Pick<Around, "nodes" | "edges">): Drawn {
  const found = layers(nodes, edges);
  const first = Math.min(0, ...found.values());
  const items = new Map(nodes.map((node): [number, Item] => [node, { layer: (found.get(node) ?? 0) - first, width: NODE_WIDTH, x: 0, above: [], below: [] }]));
  const rows: Item[][] = [];
  const put = (item: Item): void => { (rows[item.layer] ??= []).push(item); };
  for (const item of items.values()) put(item);
  const paths = edges.map(({ from, to }) => {
    const [start, end] = [items.get(from), items.get(to)];
    const path: Item[] = start ? [start] : [];
    for (let layer = (start?.layer ?? 0) + 1; end && layer < end.layer; layer++) {
      const bend: Item = { layer, width: BEND_WIDTH, x: 0, above: [], below: [] };
      put(bend);
      path.push(bend);
    }
    if (end) path.push(end);
    path.forEach((item, i) => {
      const next = path[i + 1];
      if (next) { item.below.push(next); next.above.push(item); }
    });
    return { from, to, path };
  });
  for (let i = 0; i < rows.length; i++) rows[i] ??= [];
  for (const row of rows) row.forEach((item, i) => (item.x = i * (NODE_WIDTH + GAP_X)));
  for (let sweep = 0; sweep < SWEEPS; sweep++) reorder(rows, sweep % 2 ? "below" : "above");
  return finish(items, paths, rows);
}

function finish(items: ReadonlyMap<number, Item>, paths: readonly { from: number; to: number; path: Item[] }[], rows: readonly Item[][]): Drawn {
  const all = rows.flat();
  const left = Math.min(0, ...all.map(({ x, width }) => x - width / 2)) ;
  const start = all.length ? Math.min(...all.map(({ x, width }) => x - width / 2)) : left;
  const x = (item: Item): number => item.x - start + MARGIN;
  const top = (item: Item): number => MARGIN + item.layer * (NODE_HEIGHT + GAP_Y);
  const right = all.reduce((most, item) => Math.max(most, x(item) + item.width / 2), 0);
  return {
    width: right + MARGIN,
    height: rows.length ? 2 * MARGIN + rows.length * NODE_HEIGHT + (rows.length - 1) * GAP_Y : 0,
    nodes: [...items].map(([node, item]) => ({ node, x: x(item) - NODE_WIDTH / 2, y: top(item) })),
    edges: paths.map(({ from, to, path }) => ({
      from, to,
      points: path.flatMap((item, i): [number, number][] => {
        if (i === 0) return [[x(item), top(item) + NODE_HEIGHT]];
        if (i === path.length - 1) return [[x(item), top(item)]];
        return [[x(item), top(item)], [x(item), top(item) + NODE_HEIGHT]];
      }),
    })),
  };
}

/** A smooth line: upright at every point. */
export function edgePath(points: readonly (readonly [number, number])[]): string {
  const parts = points.map(([px, py], i) => {
    const before = points[i - 1];
    if (!before) return `M${px} ${py}`;
    const middle = (before[1] + py) / 2;
    return `C${before[0]} ${middle} ${px} ${middle} ${px} ${py}`;
  });
  return parts.join("");
}

/** Groups of opcodes that share a colour. */
const GROUPS: readonly (readonly [string, RegExp])[] = [
  ["communication", /^(all-|collective|reduce-scatter|infeed|outfeed|send|recv|partition-id|replica-id)/],
  ["async", /-(start|done|update)$/],
  ["matrix", /^(convolution|dot|fft|ragged-dot|triangular-solve|cholesky)/],
  ["control", /^(call|conditional|while|custom-call)/],
  ["fusion", /^(fusion|map)/],
  ["parameter", /^(parameter|constant|iota)/],
  ["movement", /^(concatenate|slice|dynamic-slice|reshape|copy|bitcast|transpose|pad|reverse|tuple|get-tuple-element|convert)/],
  ["reduction", /^(reduce|gather|scatter|batch-norm|sort|select-and-scatter|topk)/],
  ["broadcast", /^(broadcast|dynamic-update-slice)/],
];

export function groupOf(opcode: string): string {
  return GROUPS.find(([, pattern]) => pattern.test(opcode))?.[0] ?? "elementwise";
}
