// The nodes to draw: similar siblings beyond the first few are grouped until expanded. Pure.
import { plural } from "../../../base/format";
import { treeOf } from "./layout";
import type { PipelineIterator } from "../../../base/documents";

/** Number of similar siblings that are always drawn. */
const SHOWN_ALIKE = 4;

/** 2 bottleneck, 1 on the critical path, 0 neither. */
export type Role = PipelineIterator["role"];

export interface Drawn {
  id: string;
  parent: string;
  name: string;
  long_name: string;
  begin_ps: number;
  duration_ps: number;
  self_ps: number;
  calls: number;
  role: Role;
  /** Nodes of the run that it represents: one iterator, or siblings and their descendants. */
  nodes: number[];
  /** Number of siblings grouped in it; 0 for an iterator. */
  grouped: number;
}

function single(nodes: readonly PipelineIterator[], at: number): Drawn {
  const node = nodes[at] as PipelineIterator;
  return { ...node, nodes: [at], grouped: 0 };
}

/** A node and its descendants. */
function below(children: readonly (readonly number[])[], from: number): number[] {
  const reached = [from];
  for (let i = 0; i < reached.length; i++) reached.push(...(children[reached[i] ?? -1] ?? []));
  return reached;
}

function siblingGroup(
  nodes: readonly PipelineIterator[],
  children: readonly (readonly number[])[],
  alike: readonly number[],
  id: string,
): Drawn {
  const first = nodes[alike[0] ?? 0] as PipelineIterator;
  const sum = (of: (node: PipelineIterator) => number): number => alike.reduce((all, i) => all + of(nodes[i] as PipelineIterator), 0);
  return {
    id,
    parent: first.parent,
    name: `${plural(alike.length, `more ${first.name}`, `more ${first.name}`)}`,
    long_name: first.long_name,
    begin_ps: alike.reduce((least, i) => Math.min(least, nodes[i]?.begin_ps ?? least), Infinity),
    duration_ps: sum((node) => node.duration_ps),
    self_ps: sum((node) => node.self_ps),
    calls: sum((node) => node.calls),
    role: alike.reduce<Role>((most, i) => Math.max(most, nodes[i]?.role ?? 0) as Role, 0),
    nodes: alike.flatMap((i) => below(children, i)),
    grouped: alike.length,
  };
}

/** Parents before children; among siblings the bottleneck and the critical path first. `opened`: ids of expanded groups. */
export function drawnNodes(nodes: readonly PipelineIterator[], opened: ReadonlySet<string>): Drawn[] {
  const { children, roots } = treeOf(nodes);
  const leading = (a: number, b: number): number =>
    (nodes[b]?.role ?? 0) - (nodes[a]?.role ?? 0) || (nodes[b]?.self_ps ?? 0) - (nodes[a]?.self_ps ?? 0);
  const drawn: Drawn[] = [];
  const waiting: (number | Drawn)[] = [];
  const add = (siblings: readonly number[]): void => {
    const alike = new Map<string, number[]>();
    for (const i of siblings) alike.set(nodes[i]?.long_name ?? "", [...(alike.get(nodes[i]?.long_name ?? "") ?? []), i]);
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
