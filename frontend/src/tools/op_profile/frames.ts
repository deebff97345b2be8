// The op tree as frames of a flame graph. Pure.
import type { FlameNode } from "../../base/flame/flame";
import type { Against } from "./against";
import type { OpNode } from "./decode";

/** Instructions inside fusions have no time of their own, so they are no frames. */
export function framesOf(node: OpNode, basePs: Against["basePs"] | null): FlameNode {
  const base = basePs === null ? undefined : (basePs.get(node) ?? null);
  return {
    name: node.kind === "root" ? "all" : node.label,
    value: node.timePs,
    ...(base === undefined ? {} : { base }),
    children: node.children.filter(({ kind }) => kind !== "part").map((child) => framesOf(child, basePs)),
    ...(node.op?.source ? { place: node.op.source } : {}),
  };
}
