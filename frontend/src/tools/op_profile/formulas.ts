// Numbers of a node: shares, utilisation, waste, rates, padding. Null where a number does not exist.
import type { Dimension, OpNode, OpProfile } from "./decode";

/** Which peaks are known: without one a utilisation is missing, not 0. */
export interface Peaks {
  flops: boolean;
  memory: readonly boolean[];
}

/** A peak is unknown when the whole tree did work and yet used none of it; nothing is known without FLOPs and bytes. */
export function peaksOf({ whole, device, notes }: OpProfile): Peaks {
  const none = notes.onCpu || device === "CPU_ONLY" || device === "UNKNOWN_HARDWARE" || (whole.flops === 0 && whole.bytes.every((bytes) => bytes === 0));
  return {
    flops: !none && !(whole.weightedFlops === 0 && whole.flops > 0),
    memory: whole.bandwidth.map((use, i) => !none && !(use === 0 && (whole.bytes[i] ?? 0) > 0)),
  };
}

/** Parts of fusions have no time of their own. */
export function share(node: OpNode, root: OpNode): number | null {
  return node.kind === "part" || root.timePs <= 0 ? null : node.timePs / root.timePs;
}

/** FLOPS utilisation, not capped: above 1 the trace or the peak is wrong, and the reader should see it. */
export function flopsUse(node: OpNode, root: OpNode, peaks: Peaks): number | null {
  const part = share(node, root);
  return part === null || part === 0 || node.kind === "idle" || !peaks.flops ? null : node.weightedFlops / part;
}

export function memoryUse(node: OpNode, memory: number, peaks: Peaks): number | null {
  if (node.kind === "part" || node.kind === "idle" || node.timePs <= 0 || !peaks.memory[memory]) return null;
  return node.bandwidth[memory] ?? null;
}

/** Share of all time in which neither compute nor HBM was used; null without HBM traffic, where nothing can be said. */
export function wasted(node: OpNode, root: OpNode, peaks: Peaks): number | null {
  const [part, hbm] = [share(node, root), memoryUse(node, 0, peaks)];
  if (part === null || hbm === null || hbm === 0) return null;
  return part * Math.max(0, 1 - Math.max(flopsUse(node, root, peaks) ?? 0, hbm));
}

/** Share of all HBM bytes. */
export function trafficShare(node: OpNode, root: OpNode): number | null {
  const [mine, all] = [node.bytes[0] ?? 0, root.bytes[0] ?? 0];
  return all > 0 && node.kind !== "part" && node.kind !== "idle" ? mine / all : null;
}

/** An amount per second; null without time. */
export function perSecond(amount: number, node: OpNode): number | null {
  return node.timePs > 0 && node.kind !== "idle" ? amount / (node.timePs / 1e12) : null;
}

/** `jit(f)/a/dot_general:MatMul` -> "MatMul"; `jit(f)/a/add:` -> "add"; null when there is none. */
export function frameworkOp(provenance: string): string | null {
  const at = provenance.lastIndexOf(":");
  const tail = at < 0 ? "" : provenance.slice(at + 1);
  const path = at < 0 ? provenance : provenance.slice(0, at);
  return (tail.split("/").pop() ?? "").trim() || (path.split("/").pop() ?? "").trim() || null;
}

export interface Fit {
  /** In words: "Pad to 256: 2 x 128". */
  hint: string;
  padded: number;
  /** Part of the padded size that is used. */
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

/** Leaves of the tree with time, parts of fusions left out. */
export function leaves(node: OpNode): OpNode[] {
  if (node.kind === "op" || node.kind === "duplicates") return [node];
  return node.children.flatMap(leaves);
}
