// Derived numbers of a node: shares, waste, rates, padding. Null where undefined.
import type { Dimension } from "../../base/documents";
import { isOp } from "./nodes";
import type { TreeNode } from "./nodes";

/** Instructions inside fusions are not timed. */
export function share(node: TreeNode, root: TreeNode): number | null {
  return node.kind === "part" || root.time_ps <= 0 ? null : node.time_ps / root.time_ps;
}

/** Time share x (1 - the larger of FLOPS and HBM utilisation); null if the HBM traffic is unknown. */
export function wasted(node: TreeNode, root: TreeNode): number | null {
  const [part, hbm] = [share(node, root), node.memory_use[0]];
  if (part === null || hbm === null || hbm === 0) return null;
  return part * Math.max(0, 1 - Math.max(node.flops_use ?? 0, hbm));
}

/** Share of all HBM bytes. */
export function trafficShare(node: TreeNode, root: TreeNode): number | null {
  const [mine, all] = [node.bytes[0], root.bytes[0]];
  return all > 0 && node.kind !== "part" && node.kind !== "idle" && !node.contains ? mine / all : null;
}

/** Amount per second; null without time. */
export function perSecond(amount: number, node: TreeNode): number | null {
  return node.time_ps > 0 && node.kind !== "idle" ? amount / (node.time_ps / 1e12) : null;
}

const PYTORCH = ":PyTorch";

/** `jit(f)/a/dot_general:MatMul` -> "MatMul"; `jit(f)/a/add:` -> "add"; `Net_0/aten::mm:PyTorch` -> "aten::mm"; null if there is none. */
export function frameworkOp(provenance: string): string | null {
  if (provenance.endsWith(PYTORCH)) return provenance.slice(0, -PYTORCH.length).split("/").pop() || null;
  const colon = provenance.lastIndexOf(":");
  const tail = colon < 0 ? "" : provenance.slice(colon + 1);
  const path = colon < 0 ? provenance : provenance.slice(0, colon);
  return (tail.split("/").pop() ?? "").trim() || (path.split("/").pop() ?? "").trim() || null;
}

interface Fit {
  /** For example "Pad to 256: 2 x 128". */
  hint: string;
  padded: number;
  /** Share of the padded size that is used. */
  used: number;
}

/** How a dimension fits the hardware's tiles. */
export function fit({ size, alignment }: Dimension): Fit {
  if (alignment <= 1 || size <= 0) return { hint: "No padding", padded: size, used: 1 };
  const tiles = Math.ceil(size / alignment);
  const padded = tiles * alignment;
  const times = tiles > 1 ? `: ${tiles} x ${alignment}` : "";
  return { hint: `${padded === size ? "Exact fit" : `Pad to ${padded}`}${times}`, padded, used: size / padded };
}

/** The timed leaves of the tree, without instructions inside fusions. */
export function leaves(node: TreeNode): TreeNode[] {
  if (isOp(node)) return [node];
  return node.children.flatMap(leaves);
}
