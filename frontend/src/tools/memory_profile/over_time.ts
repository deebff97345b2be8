// An allocator's memory over time by region, op and step: its chart. Pure.
import type { AllocationsOverTime } from "../../base/documents";
import type { StepsChart } from "../../base/chart/chart_spec";
import { cutMiddle, formatBytes, formatTime, plural } from "../../base/format";
import { numberColumn } from "../../base/table/columns";
import { stackedChart } from "../../page/memory/stacked";
import { STATES, UNKNOWN, partLook } from "../../page/memory/palette";

export const STACKS = ["state", "region", "op", "step", "line"] as const;
export type Stack = (typeof STACKS)[number];

/** Names of ops begin with those of modules; blocks list them in full. */
const LONGEST_NAME = 60;

/** What the server calls the stack of programs and the rest of the heap. */
const STACK = "stack of programs";
const UNSEEN = "allocated before or not recorded";
/** The look of a part: the stack as in the chart of the states, what is unknown in grey. */
const lookOf = (name: string, place: number): ReturnType<typeof partLook> =>
  name === STACK ? STATES.stack : name === UNSEEN ? UNKNOWN : partLook(place);

/** Stacked areas over the time of the recording. */
export function recordedChart(found: AllocationsOverTime, by: Exclude<Stack, "state">): StepsChart {
  const { shown, time_ps: timePs, heap, instants } = found;
  const from = timePs[0] ?? 0;
  return stackedChart({
    x: { name: "Timestamp (ms)", unit: null, from, to: Math.max(from + 1e3, timePs.at(-1) ?? 0), labelFactor: 1e-9 },
    at: timePs,
    heap,
    parts: found.stacks[by].map(({ name, bytes }, i) => ({ name: cutMiddle(name, LONGEST_NAME), bytes, ...lookOf(name, i) })),
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
