// Tree layout by d3-hierarchy: the root at the top, parents centred above their children. Pure.
import { hierarchy, tree } from "d3-hierarchy";

interface Branch {
  id: string;
  /** Id of the parent; a node without parent, with an unknown one or in a cycle is a root. */
  parent: string;
}

export interface Place {
  /** Upper left corner. */
  x: number;
  y: number;
  depth: number;
}

export interface Layout {
  width: number;
  height: number;
  /** One per node, in the order of the nodes. */
  places: Place[];
  /** Pairs of indexes, child first. */
  edges: { from: number; to: number }[];
  /** Node indexes in preorder. */
  order: number[];
}

export const NODE_WIDTH = 212;
export const NODE_HEIGHT = 110;
const GAP_X = 24;
const GAP_Y = 44;
const MARGIN = 12;

/** Children of every node, and the roots. */
export function treeOf(nodes: readonly Branch[]): { children: number[][]; roots: number[] } {
  const indexById = new Map<string, number>();
  nodes.forEach(({ id }, i) => {
    if (!indexById.has(id)) indexById.set(id, i);
  });
  const above = nodes.map(({ parent }, i) => {
    const parentIndex = parent === "" ? undefined : indexById.get(parent);
    return parentIndex === undefined || parentIndex === i ? -1 : parentIndex;
  });
  cutCircles(above);
  const children: number[][] = nodes.map(() => []);
  const roots: number[] = [];
  above.forEach((parent, i) => (parent < 0 ? roots : (children[parent] ?? roots)).push(i));
  return { children, roots };
}

/** Makes the first visited node of a cycle a root. */
function cutCircles(above: number[]): void {
  const state = new Uint8Array(above.length);
  for (let start = 0; start < above.length; start++) {
    const path: number[] = [];
    let node = start;
    while (node >= 0 && state[node] === 0) {
      state[node] = 1;
      path.push(node);
      node = above[node] ?? -1;
    }
    if (node >= 0 && state[node] === 1) above[node] = -1;
    for (const visited of path) state[visited] = 2;
  }
}

/** Lays out all nodes. */
export function layOut(nodes: readonly Branch[]): Layout {
  const { children, roots } = treeOf(nodes);
  // A common root above all trees, which is not drawn.
  const above = hierarchy(-1, (node) => (node < 0 ? roots : (children[node] ?? [])));
  const laid = tree<number>()
    .nodeSize([NODE_WIDTH + GAP_X, NODE_HEIGHT + GAP_Y])
    .separation(() => 1)(above);
  const places: Place[] = nodes.map(() => ({ x: 0, y: 0, depth: 0 }));
  const edges: Layout["edges"] = [];
  const order: number[] = [];
  const drawn = laid.descendants().slice(1);
  const left = drawn.reduce((least, { x }) => Math.min(least, x), Infinity);
  const right = drawn.reduce((most, { x }) => Math.max(most, x), -Infinity);
  laid.eachBefore(({ data: node, x, depth, parent }) => {
    if (node < 0 || !parent) return;
    places[node] = { x: x - left + MARGIN, y: MARGIN + (depth - 1) * (NODE_HEIGHT + GAP_Y), depth: depth - 1 };
    order.push(node);
    if (parent.data >= 0) edges.push({ from: node, to: parent.data });
  });
  return {
    width: drawn.length ? right - left + NODE_WIDTH + 2 * MARGIN : 0,
    height: drawn.length ? 2 * MARGIN + laid.height * NODE_HEIGHT + (laid.height - 1) * GAP_Y : 0,
    places,
    edges,
    order,
  };
}
