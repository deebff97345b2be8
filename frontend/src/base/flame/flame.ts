// Frames of a flame graph in columns: places, sums, and what is visible in a window of them. Pure.

/** A frame with what it calls; values of children add up to at most its own. */
export interface FlameNode {
  name: string;
  value: number;
  /** Of the base; null: the base has no such frame; absent: there is no base. */
  base?: number | null;
  children: readonly FlameNode[];
  /** The source line `FILE:LINE` that it leads to. */
  place?: string;
}

/** Keys of the address: the zoomed frame, the search, the direction. */
export const FLAME_KEYS = ["frame", "frames", "flip"] as const;

/** Frames in the order of a walk from the root, callers before what they call; arrays have an entry per frame. */
export interface Flame {
  readonly count: number;
  readonly nodes: readonly FlameNode[];
  readonly depth: Uint16Array;
  readonly parent: Int32Array;
  /** Where a frame begins and ends, in values from the left edge. */
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** Value without that of the frames called. */
  readonly self: Float64Array;
  /** Frames of each depth from left to right. */
  readonly rows: readonly Int32Array[];
  readonly total: number;
  readonly hasBase: boolean;
}

/** Deeper frames are left out, so that a damaged profile cannot exhaust memory. */
const DEEPEST = 1024;

/** The places of all frames; callers above what they call, siblings from the largest to the smallest. */
export function layoutFlame(root: FlameNode): Flame {
  const nodes: FlameNode[] = [];
  const [depths, parents, begins]: [number[], number[], number[]] = [[], [], []];
  const waiting: { node: FlameNode; depth: number; parent: number; begin: number }[] = [{ node: root, depth: 0, parent: -1, begin: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth, parent, begin } = next;
    const at = nodes.push(node) - 1;
    depths.push(depth);
    parents.push(parent);
    begins.push(begin);
    if (depth + 1 >= DEEPEST) continue;
    let edge = begin;
    const below = [...node.children]
      .sort((a, b) => b.value - a.value)
      .map((child) => {
        const placed = { node: child, depth: depth + 1, parent: at, begin: edge };
        edge += child.value;
        return placed;
      });
    // The leftmost is placed next; spreading 100,000 of them would exceed the stack.
    for (let i = below.length - 1; i >= 0; i--) waiting.push(below[i] as (typeof below)[number]);
  }
  return inColumns(nodes, depths, parents, begins);
}

function inColumns(nodes: readonly FlameNode[], depths: readonly number[], parents: readonly number[], begins: readonly number[]): Flame {
  const self = Float64Array.from(nodes, ({ value }) => value);
  const rows: number[][] = [];
  nodes.forEach(({ value }, i) => {
    const parent = parents[i] ?? -1;
    if (parent >= 0) self[parent] = (self[parent] ?? 0) - value;
    (rows[depths[i] ?? 0] ??= []).push(i);
  });
  return {
    count: nodes.length,
    nodes,
    depth: Uint16Array.from(depths),
    parent: Int32Array.from(parents),
    begin: Float64Array.from(begins),
    end: Float64Array.from(nodes, ({ value }, i) => (begins[i] ?? 0) + value),
    self,
    rows: rows.map((row) => Int32Array.from(row)),
    total: nodes[0]?.value ?? 0,
    hasBase: nodes.some(({ base }) => base !== undefined),
  };
}

/** The part that is shown: values at the left and right edge. */
export interface FlameWindow {
  left: number;
  right: number;
}

/** What a block stands for: one frame, or `count` frames too narrow to draw from `frame` on. */
export type OnBlock = (frame: number, count: number, x: number, width: number) => void;

/** First position in a row whose frame ends after a value. */
function firstEndingAfter({ end }: Flame, row: Int32Array, value: number): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((end[row[middle] ?? 0] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Calls `onBlock` for what a depth shows in a window `width` pixels wide. Neighbours narrower than a pixel are one
 * block: their number does not matter for the time that a picture takes.
 */
export function blocksOf(flame: Flame, depth: number, { left, right }: FlameWindow, width: number, onBlock: OnBlock): void {
  const row = flame.rows[depth];
  if (row === undefined || right <= left) return;
  const scale = width / (right - left);
  let at = firstEndingAfter(flame, row, left);
  while (at < row.length) {
    const frame = row[at] ?? 0;
    const [begin, end] = [flame.begin[frame] ?? 0, flame.end[frame] ?? 0];
    if (begin >= right) return;
    const x = Math.max(0, (begin - left) * scale);
    const wide = Math.min(width, (end - left) * scale) - x;
    if ((end - begin) * scale >= 1) {
      onBlock(frame, 1, x, wide);
      at += 1;
      continue;
    }
    at = narrow(flame, row, at, { left, scale, x }, onBlock);
  }
}

interface Narrow {
  left: number;
  scale: number;
  x: number;
}

/** A block of frames narrower than a pixel that lie next to each other; returns the position after them. */
function narrow(flame: Flame, row: Int32Array, from: number, { left, scale, x }: Narrow, onBlock: OnBlock): number {
  const frame = row[from] ?? 0;
  let [at, edge] = [from, flame.end[frame] ?? 0];
  for (;;) {
    // All that end within the next pixel, at once.
    const next = firstEndingAfter(flame, row, edge + 1 / scale);
    const last = row[Math.max(at, next - 1)] ?? frame;
    edge = Math.max(edge, flame.end[last] ?? 0);
    at = Math.max(at + 1, next);
    const following = row[at];
    if (following === undefined) break;
    const [begin, end] = [flame.begin[following] ?? 0, flame.end[following] ?? 0];
    if ((end - begin) * scale >= 1 || (begin - edge) * scale >= 1) break;
  }
  onBlock(frame, at - from, x, Math.max(1, (edge - left) * scale - x));
  return at;
}

/** How many frames the block at a pixel stands for: more than one where they are too narrow to draw. */
export function countAt(flame: Flame, depth: number, window: FlameWindow, width: number, x: number): number {
  let found = 1;
  blocksOf(flame, depth, window, width, (_, count, left, wide) => {
    if (left <= x && x < left + wide) found = count;
  });
  return found;
}

/** The frame at a value and depth; -1 for none. */
export function frameAt(flame: Flame, value: number, depth: number): number {
  const row = flame.rows[depth];
  if (row === undefined) return -1;
  const frame = row[firstEndingAfter(flame, row, value)] ?? -1;
  return frame >= 0 && (flame.begin[frame] ?? 0) <= value ? frame : -1;
}

/** Frames whose name has a text, in any case, and their value; frames inside another hit do not count twice. */
export function searchFlame(flame: Flame, text: string): { hits: Uint8Array; count: number; value: number } {
  const wanted = text.trim().toLowerCase();
  const hits = new Uint8Array(flame.count);
  const covered = new Uint8Array(flame.count);
  let [count, value] = [0, 0];
  if (wanted === "") return { hits, count, value };
  flame.nodes.forEach((node, i) => {
    const parent = flame.parent[i] ?? -1;
    const inside = parent >= 0 && covered[parent] === 1;
    const hit = node.name.toLowerCase().includes(wanted);
    covered[i] = inside || hit ? 1 : 0;
    if (!hit) return;
    hits[i] = 1;
    count += 1;
    if (!inside) value += node.value;
  });
  return { hits, count, value };
}

/** Names from below the root to a frame. */
export function pathOf(flame: Flame, frame: number): string[] {
  const path: string[] = [];
  for (let at = frame; at > 0; at = flame.parent[at] ?? -1) path.unshift(flame.nodes[at]?.name ?? "");
  return path;
}

/** Children of each frame, from left to right; the frame itself if it has none. */
function children(flame: Flame, frame: number): number[] {
  const row = flame.rows[(flame.depth[frame] ?? 0) + 1] ?? new Int32Array(0);
  let at = firstEndingAfter(flame, row, flame.begin[frame] ?? 0);
  // Frames without value end where they begin.
  while (at > 0 && flame.parent[row[at - 1] ?? 0] === frame) at -= 1;
  const found: number[] = [];
  for (; at < row.length && flame.parent[row[at] ?? 0] === frame; at++) found.push(row[at] ?? 0);
  return found;
}

/** The frame of a path of names; the deepest known one. */
export function frameOfPath(flame: Flame, path: readonly string[]): number {
  let frame = 0;
  for (const name of path) {
    const next = children(flame, frame).find((child) => flame.nodes[child]?.name === name);
    if (next === undefined) break;
    frame = next;
  }
  return frame;
}

/** The frame that an arrow leads to: caller, largest callee, neighbours; the frame itself if there is none. */
export function neighbour(flame: Flame, frame: number, key: "caller" | "callee" | "before" | "after"): number {
  const parent = flame.parent[frame] ?? -1;
  if (key === "caller") return parent < 0 ? frame : parent;
  if (key === "callee") return children(flame, frame)[0] ?? frame;
  const row = flame.rows[flame.depth[frame] ?? 0] ?? new Int32Array(0);
  const at = row.indexOf(frame) + (key === "before" ? -1 : 1);
  const next = row[at] ?? frame;
  return (flame.nodes[next]?.value ?? 0) > 0 ? next : frame;
}

/** How much a frame differs from the base, -1 (only in the base) to 1 (only in the run): difference over the larger. */
export function change({ value, base }: FlameNode): number {
  const old = base ?? 0;
  const most = Math.max(value, old);
  return most > 0 ? (value - old) / most : 0;
}
