// The route of the trend: runs of the logdir over time, as far as they are known, and reading of the others.
import type { Client, RequestOptions } from "./client";

export interface TrendPlace {
  name: string;
  /** Per run of the series; 0 where a run has none. */
  ps: number[];
  /** Positions of the first runs after its changes. */
  changes: number[];
}

export interface TrendChange {
  /** Position of the first run that has it, in the series. */
  index: number;
  kind: "step" | "moved" | "places" | "machine";
  sentence: string;
  /** Levels of the step; null where it does not change. */
  before_ps: number | null;
  after_ps: number | null;
  change_percent: number | null;
  low_percent: number | null;
  high_percent: number | null;
  /** Position of the first run in which the step is back. */
  gone: number | null;
  labels: string;
  parts: { name: string; before_ps: number; after_ps: number }[];
}

/** Comparable runs, the oldest first. */
export interface TrendSeries {
  title: string;
  about: string;
  /** Why it does not go on from the one before. */
  reason: string;
  /** Why there is no change, or no small one; "" if there is one. */
  no_change: string;
  /** Rows of `runs`. */
  rows: number[];
  step_ps: number[];
  /** Without what all ops of a run share. */
  adjusted_ps: number[];
  is_adjusted: boolean;
  parts: { id: string; name: string; ps: number[] }[];
  places: TrendPlace[];
  changes: TrendChange[];
}

export interface TrendRuns {
  run: string[];
  written_ms: number[];
  /** Why a run is in no series; "" if it is in one. */
  problem: string[];
  /** What is odd about a run, as a sentence; "" if nothing is. */
  note: string[];
  memory_bytes: number[];
  steps: number[];
  labels: Record<string, string[]>;
}

export interface TrendAnswer {
  listed: number;
  /** Listed runs that are not known. */
  remaining: number;
  /** Of a saved report: runs that were not read when it was made. */
  unread?: number;
  runs: TrendRuns;
  series: TrendSeries[];
}

export interface TrendApi {
  known: (options?: RequestOptions) => Promise<TrendAnswer>;
  /** Reads unknown runs for about a second. */
  read: () => Promise<Pick<TrendAnswer, "listed" | "remaining">>;
}

export function makeTrendApi(client: Client): TrendApi {
  return { known: (options) => client.json("trend", {}, options), read: () => client.json("trend", { read: true }) };
}
