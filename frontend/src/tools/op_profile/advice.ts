// The summary: utilisation of the device and what to optimise first. Pure.
import type { Tone } from "../../base/steps/steps";
import { formatPercent, formatTime, mostIn } from "../../base/format";
import type { Limit } from "../../page/limit";
import { overCores } from "../../page/op_request";
import { leaves, share, wasted } from "./formulas";
import type { TreeNode, Trees } from "./nodes";

interface Advice {
  /** Colour of the summary's border. */
  tone: Tone;
  headline: string;
  lines: string[];
}

const percent = (fraction: number | null): string => formatPercent(fraction === null ? null : fraction * 100);
const IDLE_RELEVANT = 0.25;
/** From this idle share on, the headline is about idle time. */
const IDLE_DOMINATES = 0.5;
/** Utilisation from which a device is used well. */
const GOOD = 0.6;
const TRANSFERS_RELEVANT = 0.25;
/** Categories that move data without computing. */
const TRANSFERS = /^(all-|collective|reduce-scatter|send|recv|infeed|outfeed|copy|async|host|data formatting|memcpy)/i;

/** Time of the tree's ops by category, longest first. */
export function byCategory(root: TreeNode): { name: string; timePs: number }[] {
  const sums = new Map<string, number>();
  for (const leaf of leaves(root)) {
    const name = leaf.category || "other";
    sums.set(name, (sums.get(name) ?? 0) + leaf.time_ps);
  }
  return [...sums].map(([name, timePs]) => ({ name, timePs })).sort((a, b) => b.timePs - a.timePs);
}

/** Share of the observed time in which no op ran. */
function idleShare({ whole, busy }: Trees): number {
  return whole.time_ps > 0 ? Math.max(0, 1 - busy.time_ps / whole.time_ps) : 0;
}

function idleLine(profile: Trees): string | null {
  const idle = idleShare(profile);
  if (idle < IDLE_RELEVANT) return null;
  const how = idle < IDLE_DOMINATES ? `The device is idle for ${percent(idle)} of the observed time. ` : "";
  return `${how}First find out what it waits for (input pipeline, host, compilation), with the overview and the trace viewer.`;
}

function transferLine({ busy, notes }: Trees): string | null {
  const transfers = byCategory(busy).filter(({ name }) => TRANSFERS.test(name));
  const sum = transfers.reduce((all, { timePs }) => all + timePs, 0);
  const [most] = transfers;
  if (!most || busy.time_ps <= 0 || sum / busy.time_ps < TRANSFERS_RELEVANT) return null;
  return (
    `${percent(sum / busy.time_ps)} of the busy time (${formatTime(busy.time_ps)}${overCores(notes.cores)}) is spent in ` +
    `transfers${mostIn(`the category ${most.name}`, most.timePs / sum, ` (${formatTime(most.timePs)})`)}: try more computation per transfer, ` +
    "overlapping transfers with computation, or another sharding."
  );
}

function wasteLine({ busy }: Trees): string | null {
  const [worst] = leaves(busy)
    .map((node) => ({ node, waste: wasted(node, busy) ?? 0 }))
    .sort((a, b) => b.waste - a.waste);
  if (!worst || worst.waste < 0.02) return null;
  const { node, waste } = worst;
  return (
    `Largest potential saving: ${node.label} takes ${percent(share(node, busy))} of the busy time at ` +
    `${percent(node.flops_use)} of peak FLOPS and ${percent(node.memory_use[0])} of peak HBM ` +
    `bandwidth; at peak it would save ${percent(waste)} of the busy time.`
  );
}

/** The summary of a profile that has ops; `limit`: what limits the run. */
export function adviceOf(profile: Trees, limit: Limit | null = null): Advice {
  const { busy, notes } = profile;
  const [top] = byCategory(busy);
  const most =
    top && busy.time_ps > 0
      ? `${top.name} takes ${percent(top.timePs / busy.time_ps)} of the busy time (${formatTime(busy.time_ps)}${overCores(notes.cores)}).`
      : null;
  const lines = (...all: (string | null)[]): string[] => all.filter((line): line is string => line !== null);
  if (notes.on_cpu) {
    return {
      tone: "none",
      headline: `Ops on the CPU: ${formatTime(busy.time_ps)} of op time`,
      lines: lines("No utilisation: the program ran on the CPU, whose peak rates are unknown.", most, idleLine(profile)),
    };
  }
  const {
    flops_use: flops,
    memory_use: [hbm],
  } = busy;
  const best = Math.max(flops ?? 0, hbm ?? 0);
  const device = profile.device === "TPU" || profile.device === "GPU" ? `${profile.device} ` : "";
  const idle = idleShare(profile);
  const known = flops !== null || hbm !== null;
  const use = known ? `FLOPS utilisation is ${percent(flops)}, HBM bandwidth utilisation ${percent(hbm)}` : "utilisation is unknown";
  const headline =
    idle >= IDLE_DOMINATES
      ? `The ${device.trim() || "device"} is idle for ${percent(idle)} of the observed time; while busy, ${use}`
      : `Overall ${device}${use}${known ? " of the busy time" : ""}`;
  const bound = !known ? "The profile lacks the peak rates of this device or the FLOPs and bytes of its ops." : (limit?.sentence ?? null);
  const tone = idle >= IDLE_DOMINATES ? "bad" : best >= GOOD || limit?.fired ? "good" : "none";
  return { tone, headline, lines: lines(idleLine(profile), bound, transferLine(profile) ?? most, wasteLine(profile)) };
}
