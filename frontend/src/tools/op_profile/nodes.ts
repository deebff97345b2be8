// The op profile as the page shows it: nodes with short names, the tree with and without idle time. Pure.
import type { OpNode, OpNotes, OpProfile } from "../../base/documents";
import { partsOfOp, shortNamesWithin } from "../../base/kernel_name";
import type { NameParts } from "../../base/kernel_name";

export const GROUPINGS = ["program", "category", "provenance"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface TreeNode extends Omit<OpNode, "children"> {
  readonly children: readonly TreeNode[];
  /** The name, of duplicates with the words that tell them from the longest. */
  readonly title: string;
  /** The title with its kernel shortened. */
  readonly label: string;
}

export interface Trees {
  whole: TreeNode;
  busy: TreeNode;
  device: string;
  notes: OpNotes;
}

export function treesOf({ ops, idle, total_ps, device, notes }: OpProfile): Trees {
  const short = shortNames([ops, ...idle]);
  const shown = (node: OpNode): TreeNode => {
    const after = node.kind === "duplicates" ? " and its duplicate(s)" : "";
    const name = (node.kind === "op" || node.kind === "duplicates" ? short.get(node.name) : null) ?? node.name;
    return { ...node, title: node.name + after, label: name + after, children: node.children.map(shown) };
  };
  const busy = shown(ops);
  const children = [...busy.children, ...idle.map(shown)];
  return { whole: { ...busy, time_ps: total_ps, children, count: busy.count + idle.length }, busy, device, notes };
}

/** Names of ops by name, their kernels as short as tells them apart. */
function shortNames(roots: readonly OpNode[]): ReadonlyMap<string, string> {
  const parts: NameParts[] = [];
  const collect = (node: OpNode): void => {
    if (node.kind === "op" || node.kind === "duplicates") parts.push(partsOfOp(node.name, node.category));
    node.children.forEach(collect);
  };
  roots.forEach(collect);
  return shortNamesWithin(parts);
}

/** `file:line` of an op's source; "" if unknown. */
export const sourceOf = ({ source_file: file, source_line: line }: OpNode | TreeNode): string =>
  file && line > 0 ? `${file}:${line}` : file;

/** Whether it is one op, or several that are identical. */
export const isOp = ({ kind }: TreeNode): boolean => kind === "op" || kind === "duplicates";
