// An allocator's memory over time by region, op and step: its chart. Pure.
import type { AllocationsOverTime } from "../../base/documents";
import type { StepsChart } from "../../base/chart/chart_spec";
import { cutMiddle, formatBytes, formatTime, plural } from "../../base/format";
import { numberColumn } from "../../base/table/columns";
import { stackedChart } from "../../page/memory/stacked";

export const STACKS = ["region", "op", "step"] as const;
export type Stack = (typeof STACKS)[number];

/** Names of ops begin with those of modules; blocks list them in full. */
const LONGEST_NAME = 60;

export const msOf = (ps: number): number => ps / 1e9;

/** Stacked areas over the time of the recording. */
export function recordedChart(found: AllocationsOverTime, by: Stack): StepsChart {
  const { shown, time_ps: timePs, heap, instants } = found;
  const at = timePs.map(msOf);
  const from = at[0] ?? 0;
  return stackedChart({
    x: { name: "Time since the start of the recording (ms)", unit: null, from, to: Math.max(from + 1e-6, at[at.length - 1] ?? 0) },
    at,
    heap,
    parts: found.stacks[by].map(({ name, bytes }, i) => ({ name: cutMiddle(name, LONGEST_NAME), bytes, colour: i })),
    sentence: `Memory over time: ${String(shown.length)} of ${String(instants)} events, peak ${formatBytes(Math.max(0, ...heap))}.`,
    titleAt: (place) => `At ${formatTime(timePs[place] ?? 0)}`,
    moments: () => [numberColumn("time", "Time", "ps", "Since the start of the recording.", timePs)],
  });
}

/** What the list of blocks is. */
export function liveSentence({ live_bytes, blocks, rest_bytes, live, instant, peak, at_ps }: AllocationsOverTime): string {
  const where = instant === peak ? "the peak" : formatTime(at_ps);
  const listed =
    live.rowCount < blocks ? `, the ${String(live.rowCount)} largest of ${String(blocks)} are listed` : ` in ${plural(blocks, "block")}`;
  const rest =
    rest_bytes > 0
      ? ` ${formatBytes(rest_bytes)} more are in use: the stack of programs, what was allocated before the recording, or is not recorded.`
      : "";
  return `${formatBytes(live_bytes)} in recorded blocks at ${where}${listed}.${rest}`;
}
