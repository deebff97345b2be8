// The op tree as frames of a flame graph. Pure.
import type { FlameNode } from "../../base/flame/flame";
import type { Against } from "./against";
import { sourceOf } from "./nodes";
import type { TreeNode } from "./nodes";

/** What is inside an op is no frame: instructions in fusions are not timed, and SparseCores run beside the op. */
export function framesOf(node: TreeNode, basePs: Against["basePs"] | null): FlameNode {
  const source = sourceOf(node);
  const base = basePs === null ? undefined : (basePs.get(node) ?? null);
  return {
    name: node.kind === "root" ? "all" : node.label,
    value: node.time_ps,
    ...(base === undefined ? {} : { base }),
    children: node.kind === "op" ? [] : node.children.map((child) => framesOf(child, basePs)),
    ...(source ? { place: source } : {}),
  };
}
