// The nodes to draw: similar siblings beyond the first few are grouped until expanded. Pure.
import { plural } from "../../../base/format";
import { treeOf } from "./layout";
import type { IteratorNode, Role } from "../types";

/** Number of similar siblings that are always drawn. */
const SHOWN_ALIKE = 4;

export interface Drawn {
  id: string;
  parent: string;
  name: string;
  longName: string;
  beginPs: number;
  durationPs: number;
  selfPs: number;
  calls: number;
  role: Role;
  /** Nodes of the run that it represents: one iterator, or siblings and their descendants. */
  nodes: number[];
  /** Number of siblings grouped in it; 0 for an iterator. */
  grouped: number;
}

function single(nodes: readonly IteratorNode[], at: number): Drawn {
  const node = nodes[at] as IteratorNode;
  return { ...node, nodes: [at], grouped: 0 };
}

/** A node and its descendants. */
function below(children: readonly (readonly number[])[], from: number): number[] {
  const reached = [from];
  for (let i = 0; i < reached.length; i++) reached.push(...(children[reached[i] ?? -1] ?? []));
  return reached;
}

function siblingGroup(
  nodes: readonly IteratorNode[],
  children: readonly (readonly number[])[],
  alike: readonly number[],
  id: string,
): Drawn {
  const first = nodes[alike[0] ?? 0] as IteratorNode;
  const sum = (of: (node: IteratorNode) => number): number => alike.reduce((all, i) => all + of(nodes[i] as IteratorNode), 0);
  return {
    id,
    parent: first.parent,
    name: `${plural(alike.length, `more ${first.name}`, `more ${first.name}`)}`,
    longName: first.longName,
    beginPs: alike.reduce((least, i) => Math.min(least, nodes[i]?.beginPs ?? least), Infinity),
    durationPs: sum((node) => node.durationPs),
    selfPs: sum((node) => node.selfPs),
    calls: sum((node) => node.calls),
    role: alike.reduce<Role>((most, i) => Math.max(most, nodes[i]?.role ?? 0) as Role, 0),
    nodes: alike.flatMap((i) => below(children, i)),
    grouped: alike.length,
  };
}

/** Parents before children; among siblings the bottleneck and the critical path first. `opened`: ids of expanded groups. */
export function drawnNodes(nodes: readonly IteratorNode[], opened: ReadonlySet<string>): Drawn[] {
  const { children, roots } = treeOf(nodes);
  const leading = (a: number, b: number): number =>
    (nodes[b]?.role ?? 0) - (nodes[a]?.role ?? 0) || (nodes[b]?.selfPs ?? 0) - (nodes[a]?.selfPs ?? 0);
  const drawn: Drawn[] = [];
  const waiting: (number | Drawn)[] = [];
  const add = (siblings: readonly number[]): void => {
    const alike = new Map<string, number[]>();
    for (const i of siblings) alike.set(nodes[i]?.longName ?? "", [...(alike.get(nodes[i]?.longName ?? "") ?? []), i]);
    const next: (number | Drawn)[] = [];
    for (const [name, group] of alike) {
      const id = `more ${nodes[group[0] ?? 0]?.parent ?? ""} ${name}`;
      // A group of a single sibling would save no space.
      const fold = group.length > SHOWN_ALIKE + 1 && !opened.has(id);
      const sorted = fold ? [...group].sort(leading) : group;
      next.push(...(fold ? sorted.slice(0, SHOWN_ALIKE) : sorted));
      if (fold) next.push(siblingGroup(nodes, children, sorted.slice(SHOWN_ALIKE), id));
    }
    waiting.push(...next.reverse());
  };
  add(roots);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    drawn.push(typeof next === "number" ? single(nodes, next) : next);
    if (typeof next === "number") add(children[next] ?? []);
  }
  return drawn;
}
