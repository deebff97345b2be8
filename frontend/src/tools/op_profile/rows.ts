// The visible rows of the tree, in order, including rows for hidden children. Pure.
import { columnsOf, makeTable } from "../../base/table/columns";
import { hashText } from "../../base/colour";
import type { TableColumn, TableData } from "../../base/table/table_data";
import { differencePs } from "./against";
import type { Against } from "./against";
import { frameworkOp, share, trafficShare, wasted } from "./formulas";
import { sourceOf } from "./nodes";
import type { TreeNode } from "./nodes";

export const ORDERS = ["time", "wasted", "traffic", "difference"] as const;
export type Order = (typeof ORDERS)[number];

export interface Options {
  /** Maximum number of children of one node. */
  limit: number;
  /** Only the longest children that make up 90 % of their parent's time. */
  top90: boolean;
  order: Order;
  /** Times in the base; null without one. */
  basePs?: Against["basePs"] | null;
}

export interface Row {
  /** Stable across orders and limits, short enough for the address bar. */
  id: string;
  parent: string | null;
  node: TreeNode;
  depth: number;
  /** The last row of a parent may stand for hidden children. */
  kind: "node" | "hidden";
  /** Number of hidden children. */
  left: number;
  /** Position among its visible siblings, from 1, and their number. */
  place: number;
  siblings: number;
}

const TOP = 0.9;

function value(node: TreeNode, root: TreeNode, { order, basePs = null }: Options): number {
  if (order === "difference" && basePs !== null) return Math.abs(differencePs(node, basePs) ?? 0);
  if (order === "wasted") return wasted(node, root) ?? -1;
  if (order === "traffic") return trafficShare(node, root) ?? -1;
  return node.time_ps;
}

/** Sorted children, as many as the options allow. Instructions in fusions stay in the server's order, by FLOPs. */
function shownChildren(parent: TreeNode, root: TreeNode, options: Options): TreeNode[] {
  const timed = parent.children.some(({ kind }) => kind !== "part");
  if (!timed) return parent.children.slice(0, options.limit);
  const sorted = parent.children
    .map((node) => ({ node, by: value(node, root, options) }))
    .sort((a, b) => b.by - a.by)
    .map(({ node }) => node);
  let count = Math.min(options.limit, sorted.length);
  if (options.top90) {
    let sum = 0;
    const needed = sorted.findIndex((node) => (sum += node.time_ps) >= TOP * parent.time_ps);
    if (needed >= 0) count = Math.min(count, needed + 1);
  }
  return sorted.slice(0, count);
}

/** Ids of children in the order of the response; equal names are distinguished by a counter. */
function childIds(parent: string, node: TreeNode): Map<TreeNode, string> {
  const seen = new Map<string, number>();
  return new Map(
    node.children.map((child) => {
      const again = seen.get(child.title) ?? 0;
      seen.set(child.title, again + 1);
      return [child, hashText(`${parent}/${child.title}${again ? `#${again}` : ""}`).toString(36)];
    }),
  );
}

/** The rows below the root; `open` has the ids of expanded nodes, `full` those whose children are all shown. */
export function visibleRows(root: TreeNode, options: Options, open: ReadonlySet<string>, full: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const add = (node: TreeNode, id: string, depth: number, parent: string | null): void => {
    const ids = childIds(id, node);
    const everything = { ...options, limit: Infinity, top90: false };
    const shown = shownChildren(node, root, full.has(id || "root") ? everything : options);
    shown.forEach((child, i) => {
      const childId = ids.get(child) ?? "";
      rows.push({ id: childId, parent, node: child, depth, kind: "node", left: 0, place: i + 1, siblings: shown.length });
      if (open.has(childId)) add(child, childId, depth + 1, childId);
    });
    const left = node.count - shown.length;
    if (left > 0)
      rows.push({ id: `${id}+`, parent, node, depth, kind: "hidden", left, place: shown.length + 1, siblings: shown.length + 1 });
  };
  add(root, "", 0, null);
  return rows;
}

/** The path from the root to a node, inclusive; empty if the id is unknown. */
export function pathTo(root: TreeNode, id: string): { id: string; node: TreeNode }[] {
  const find = (node: TreeNode, nodeId: string): { id: string; node: TreeNode }[] | null => {
    for (const [child, childId] of childIds(nodeId, node)) {
      const here = { id: childId, node: child };
      if (childId === id) return [here];
      const below = find(child, childId);
      if (below) return [here, ...below];
    }
    return null;
  };
  return find(root, "") ?? [];
}

/** The id of the first op of a name, of a program or of any; null if the tree has none. */
export function idOfOp(root: TreeNode, { op, program }: { op: string; program: string | null }): string | null {
  const find = (node: TreeNode, nodeId: string): string | null => {
    for (const [child, id] of childIds(nodeId, node)) {
      const own = child.kind === "op" && child.name === op && (program === null || child.program_id === program);
      const found = own ? id : find(child, id);
      if (found !== null) return found;
    }
    return null;
  };
  return find(root, "");
}

/** Nodes expanded initially: from the root down to the first level with several nodes. */
export function firstOpen(root: TreeNode): string[] {
  const ids: string[] = [];
  let [node, id] = [root, ""];
  for (let depth = 0; depth < 2; depth++) {
    const timed = node.children.filter(({ kind }) => kind === "group");
    const longest = timed.reduce<TreeNode | null>((best, child) => (best && best.time_ps >= child.time_ps ? best : child), null);
    if (!longest) break;
    id = childIds(id, node).get(longest) ?? "";
    node = longest;
    ids.push(id);
  }
  return ids;
}

/** The whole tree as a table, for CSV. */
export function treeTable(root: TreeNode, basePs: Against["basePs"] | null = null): TableData {
  const all: { node: TreeNode; depth: number; path: string }[] = [];
  const add = (node: TreeNode, depth: number, path: string): void => {
    for (const child of node.children) {
      const name = path ? `${path} > ${child.title}` : child.title;
      all.push({ node: child, depth, path: name });
      add(child, depth + 1, name);
    }
  };
  add(root, 0, "");
  const columns = columnsOf(all);
  const text = (id: string, label: string, of: (n: TreeNode) => string | null): TableColumn =>
    columns.text(id, label, null, ({ node }) => of(node));
  const number = (id: string, label: string, unit: string | null, of: (n: TreeNode) => number | null): TableColumn =>
    columns.number(id, label, unit, null, ({ node }) => of(node));
  const timed = (id: string, label: string, unit: string | null, of: (n: TreeNode) => number): TableColumn =>
    number(id, label, unit, (n) => (n.kind === "part" ? null : of(n)));
  return makeTable([
    columns.text("path", "Path", null, ({ path }) => path),
    columns.number("level", "Level", null, null, ({ depth }) => depth),
    text("kind", "Kind", (n) => n.kind),
    text("name", "Name", (n) => n.title),
    text("category", "Category", (n) => n.category || null),
    text("framework_op", "Framework op", (n) => frameworkOp(n.framework_op)),
    timed("time", "Time", "ps", (n) => n.time_ps),
    ...(basePs === null
      ? []
      : [
          timed("base_time", "Time, base", "ps", (n) => basePs.get(n) ?? 0),
          { ...number("difference_time", "Time, difference", "ps", (n) => differencePs(n, basePs)), signed: true },
        ]),
    number("share", "Time share", "fraction", (n) => share(n, root)),
    number("wasted", "Wasted", "fraction", (n) => wasted(n, root)),
    number("flops_use", "FLOPS utilisation", "fraction", (n) => n.flops_use),
    number("hbm_use", "HBM utilisation", "fraction", (n) => n.memory_use[0]),
    number("hbm_share", "HBM bytes share", "fraction", (n) => trafficShare(n, root)),
    number("flops", "FLOPs", null, (n) => n.model_flops),
    timed("hbm_bytes", "HBM bytes", "bytes", (n) => n.bytes[0]),
    timed("read_bytes", "On-chip bytes read", "bytes", (n) => n.bytes[1]),
    timed("write_bytes", "On-chip bytes written", "bytes", (n) => n.bytes[2]),
    timed("occurrences", "Occurrences", null, (n) => n.runs),
    text("expression", "Expression", (n) => n.expression || null),
    text("source", "Source", (n) => sourceOf(n) || null),
  ]);
}
