// Derived numbers of a node: shares, utilisation, waste, rates, padding. Null where undefined.
import type { Dimension, OpNode, OpProfile } from "./decode";

/** Which peaks are known: without a peak the utilisation is null, not 0. */
export interface Peaks {
  flops: boolean;
  memory: readonly boolean[];
  /** Bytes per second of HBM; null if unknown. */
  hbm: number | null;
}

/** A peak is unknown if the tree has FLOPs or bytes but no utilisation of it; without FLOPs and bytes all are unknown. */
export function peaksOf({ whole, device, notes }: OpProfile): Peaks {
  const none =
    notes.on_cpu ||
    device === "CPU_ONLY" ||
    device === "UNKNOWN_HARDWARE" ||
    (whole.flops === 0 && whole.bytes.every((bytes) => bytes === 0));
  return {
    flops: !none && !(whole.weightedFlops === 0 && whole.flops > 0),
    memory: whole.bandwidth.map((use, i) => !none && !(use === 0 && (whole.bytes[i] ?? 0) > 0)),
    hbm: notes.on_cpu || notes.limits.hbm_gib_per_s === null ? null : notes.limits.hbm_gib_per_s * 2 ** 30,
  };
}

/** Instructions inside fusions are not timed. */
export function share(node: OpNode, root: OpNode): number | null {
  return node.kind === "part" || root.timePs <= 0 ? null : node.timePs / root.timePs;
}

/** FLOPS utilisation, not capped, so that an inconsistent trace or peak is visible as a value above 1; null without FLOPs and bytes. */
export function flopsUse(node: OpNode, root: OpNode, peaks: Peaks): number | null {
  const part = share(node, root);
  if (part === null || part === 0 || node.kind === "idle" || node.contains || !peaks.flops) return null;
  return node.flops === 0 && node.bytes.every((bytes) => bytes === 0) ? null : node.weightedFlops / part;
}

export function memoryUse(node: OpNode, memory: number, peaks: Peaks): number | null {
  if (node.kind === "part" || node.kind === "idle" || node.contains || node.timePs <= 0 || !peaks.memory[memory]) return null;
  const use = node.bandwidth[memory] ?? null;
  // The server caps the value; for HBM the peak tells by how much it is exceeded.
  return memory === 0 && use !== null && use >= 1 && peaks.hbm !== null
    ? Math.max(1, (node.bytes[0] ?? 0) / (node.timePs / 1e12) / peaks.hbm)
    : use;
}

/** Time share x (1 - the larger of FLOPS and HBM utilisation); null if the HBM traffic is unknown. */
export function wasted(node: OpNode, root: OpNode, peaks: Peaks): number | null {
  const [part, hbm] = [share(node, root), memoryUse(node, 0, peaks)];
  if (part === null || hbm === null || hbm === 0) return null;
  return part * Math.max(0, 1 - Math.max(flopsUse(node, root, peaks) ?? 0, hbm));
}

/** Share of all HBM bytes. */
export function trafficShare(node: OpNode, root: OpNode): number | null {
  const [mine, all] = [node.bytes[0] ?? 0, root.bytes[0] ?? 0];
  return all > 0 && node.kind !== "part" && node.kind !== "idle" && !node.contains ? mine / all : null;
}

/** Amount per second; null without time. */
export function perSecond(amount: number, node: OpNode): number | null {
  return node.timePs > 0 && node.kind !== "idle" ? amount / (node.timePs / 1e12) : null;
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
export function leaves(node: OpNode): OpNode[] {
  if (node.kind === "op" || node.kind === "duplicates") return [node];
  return node.children.flatMap(leaves);
}
