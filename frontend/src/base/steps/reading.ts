// The server's reading of a run's steps, and the sentences about it that several pages share. Pure.
import { formatPercent, formatQuantity, plural } from "../format";
import { idleDevices } from "./decomposition";
import type { Decomposition } from "../documents";

/** The verdict on input: its class, and the share of the base in percent that decided. */
export interface InputVerdict {
  level: string;
  percent: number;
}

export interface HostTimes {
  /** Average step time. */
  stepMs: ReadonlyMap<string, number>;
  /** Number of steps in which it was the slowest host. */
  slowestIn: ReadonlyMap<string, number>;
  /** By what share its step time exceeds the median of the other hosts. */
  overOthers: ReadonlyMap<string, number>;
  stragglers: readonly string[];
}

/** What steps cover of the recording of a host. */
export interface Recording {
  host: string;
  lengthMs: number;
  stepsMs: number;
  beforeMs: number;
  afterMs: number;
}

export interface StepReading {
  decomposition: Decomposition;
  input: InputVerdict;
  hosts: HostTimes;
  /** Null if the recording has no marked steps. */
  recording: Recording | null;
  /** Sentences on where the steps come from, exceptions among them, and what they leave out. */
  notes: readonly string[];
}

const ms = (value: number): string => formatQuantity(value, "ms");

/** Share of the recording that the steps cover, in percent. */
export function coveredPercent({ lengthMs, stepsMs }: Recording): number {
  return lengthMs > 0 ? (100 * stepsMs) / lengthMs : 0;
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
export function hostLine({ stepMs, overOthers, stragglers, slowestIn }: HostTimes): HostLine | null {
  if (stepMs.size < 2) return null;
  const ordered = [...stepMs].sort((a, b) => a[1] - b[1]);
  const [fastest, slowest] = [ordered[0], ordered.at(-1)];
  if (!fastest || !slowest) return null;
  if (stragglers.length) {
    const others = stepMs.size === 2 ? "the other host" : "the median of the other hosts";
    const named = stragglers
      .slice(0, 3)
      .map((name) => `${name} (${ms(stepMs.get(name) ?? 0)}, ${formatPercent(100 * (overOthers.get(name) ?? 0))} over ${others})`);
    const more = stragglers.length > 3 ? ` and ${stragglers.length - 3} more` : "";
    return { warn: true, text: `${stragglers.length === 1 ? "Straggler" : "Stragglers"}: ${named.join(", ")}${more}.` };
  }
  const spread = fastest[1] > 0 ? formatPercent(100 * (slowest[1] / fastest[1] - 1)) : "0.0%";
  const count = slowestIn.get(slowest[0]);
  const often = count === undefined ? "" : `, the slowest in ${plural(count, "step")}`;
  return {
    warn: false,
    text:
      `${plural(stepMs.size, "host")}, no straggler: average step times from ${ms(fastest[1])} (${fastest[0]}) to ` +
      `${ms(slowest[1])} (${slowest[0]}${often}), ${spread} apart.`,
  };
}
