// The server's reading of a run's steps, and the sentences about it that several pages share. Pure.
import { formatPercent, formatQuantity, plural } from "../format";
import { breakdownOf, idleDevices } from "./decomposition";
import type { HostTimes, RecordingCover, Statistics as SentStatistics, StepReading, XprofReading } from "../documents";
import type { Statistics, StepBreakdown } from "./steps";

const ms = (value: number): string => formatQuantity(value, "ms");

/** Share of the recording that the steps cover, in percent. */
export function coveredPercent({ length_ms, steps_ms }: RecordingCover): number {
  return length_ms > 0 ? (100 * steps_ms) / length_ms : 0;
}

/** Statistics that the server sends; null of an empty series. */
export function statisticsFrom({ count, average, deviation, minimum, maximum }: SentStatistics): Statistics | null {
  return count === 0 ? null : { average, deviation: count > 1 ? deviation : null, minimum, maximum };
}

/** The steps of a page; in XProf's reading the statistics are XProf's, over the slowest hosts. */
export function breakdownIn({ steps, xprof }: { steps: StepReading; xprof: XprofReading | null }): StepBreakdown {
  const breakdown = breakdownOf(steps.decomposition);
  return xprof === null ? breakdown : { ...breakdown, time: statisticsFrom(xprof.step_time_ms) };
}

/** Sentences that qualify the figures: where steps come from, what they cover, devices that take no part. */
export function caveats({ decomposition, notes }: StepReading): string[] {
  return [...notes, idleDevices(decomposition)].filter((one): one is string => one !== null);
}

interface HostLine {
  warn: boolean;
  text: string;
}

/** Comparison of the hosts' step times; null with one host. */
export function hostLine({ step_ms, over_others, stragglers, slowest_in }: Omit<HostTimes, "median_ms">): HostLine | null {
  const ordered = Object.entries(step_ms).sort((a, b) => a[1] - b[1]);
  const [fastest, slowest] = [ordered[0], ordered.at(-1)];
  if (!fastest || !slowest || ordered.length < 2) return null;
  if (stragglers.length) {
    const others = ordered.length === 2 ? "the other host" : "the median of the other hosts";
    const named = stragglers
      .slice(0, 3)
      .map((name) => `${name} (${ms(step_ms[name] ?? 0)}, ${formatPercent(100 * (over_others[name] ?? 0))} over ${others})`);
    const more = stragglers.length > 3 ? ` and ${stragglers.length - 3} more` : "";
    return { warn: true, text: `${stragglers.length === 1 ? "Straggler" : "Stragglers"}: ${named.join(", ")}${more}.` };
  }
  const spread = fastest[1] > 0 ? formatPercent(100 * (slowest[1] / fastest[1] - 1)) : "0.0%";
  const count = slowest_in[slowest[0]];
  const often = count === undefined ? "" : `, the slowest in ${plural(count, "step")}`;
  return {
    warn: false,
    text:
      `${plural(ordered.length, "host")}, no straggler: average step times from ${ms(fastest[1])} (${fastest[0]}) to ` +
      `${ms(slowest[1])} (${slowest[0]}${often}), ${spread} apart.`,
  };
}
