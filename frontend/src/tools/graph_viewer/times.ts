// Measured times and rates of the instructions of a module, from the table of HLO ops, and how they colour the nodes.
import type { Params } from "../../api/client";
import { numbersOf, textsOf } from "../../api/payload/fields";
import type { HloStats } from "../../base/documents";
import { OUTSIDE, beyond } from "../../page/op_request";
import { mix, parseHex, toHex, utilisationColour } from "../../base/colour";
import type { Theme } from "../../base/colour";
import { sumBy } from "../../base/chart/slices";
import { formatPercent, formatQuantity, formatTime } from "../../base/format";

const PS_PER_US = 1e6;

interface OpTimes {
  occurrences: number;
  selfUs: number;
  totalUs: number;
  /** GFLOP/s and GiB/s, 0 if unknown. */
  flopRate: number;
  bandwidth: number;
  boundBy: string;
}

export interface ModuleTimes {
  byName: ReadonlyMap<string, OpTimes>;
  /** Self time of all ops of the module, and the longest one's. */
  totalUs: number;
  longestUs: number;
  /** What rates are shares of: GFLOP/s, GiB/s; null if unknown. */
  peaks: { flops: number | null; memory: number | null; what: string };
}

const WHAT = "the table of HLO ops";

/** The id in `module(id)`. */
export const programOf = (module: string): string => /\((\d+)\)$/.exec(module)?.[1] ?? "";

/** The request for the times of ops. */
export const opTimes = (run: string, host: string | null): Params => ({ run, tag: "hlo_stats", host: host ?? undefined, backend: "auto" });

/** The id of the program with the most self time, of modules with the given names; null without times. */
export function costliestProgram({ ops: table }: HloStats, modules: readonly string[]): string | null {
  const known = new Set(modules.map(programOf));
  return (
    sumBy(textsOf(table, "program_id", WHAT), numbersOf(table, "total_self_time", WHAT)).find(({ name }) => known.has(name))?.name ?? null
  );
}

export function readTimes({ ops: table, notes: { limits } }: HloStats, module: string): ModuleTimes {
  const [program, name, bound] = [
    textsOf(table, "program_id", WHAT),
    textsOf(table, "hlo_op_name", WHAT),
    textsOf(table, "bound_by", WHAT),
  ];
  const [count, total, self, flops, memory] = ["occurrences", "total_time", "total_self_time", "model_flop_rate", "hbm_bw"].map((id) =>
    numbersOf(table, id, WHAT),
  );
  const byName = new Map<string, OpTimes>();
  const wanted = programOf(module);
  name.forEach((one, row) => {
    if (program[row] !== wanted || byName.has(one)) return;
    byName.set(one, {
      occurrences: count?.[row] ?? 0,
      totalUs: total?.[row] ?? 0,
      selfUs: self?.[row] ?? 0,
      flopRate: flops?.[row] ?? 0,
      bandwidth: memory?.[row] ?? 0,
      boundBy: bound[row] ?? "",
    });
  });
  const selfTimes = [...byName.values()].map(({ selfUs }) => selfUs);
  return {
    byName,
    totalUs: selfTimes.reduce((a, b) => a + b, 0),
    longestUs: selfTimes.reduce((a, b) => Math.max(a, b), 0),
    peaks: { flops: limits.gflops_per_s, memory: limits.hbm_gib_per_s, what: limits.what },
  };
}

export type Colouring = "kind" | "time" | "flops" | "memory";
export const COLOURINGS: readonly { id: Colouring; label: string; tip: string }[] = [
  { id: "kind", label: "Kind", tip: "Kind of work, by opcode" },
  { id: "time", label: "Self time", tip: "Share of the module's self time" },
  { id: "flops", label: "FLOPS", tip: "FLOP rate as a share of the peak" },
  { id: "memory", label: "Bandwidth", tip: "Memory bandwidth as a share of the peak" },
];

export const colouringOf = (text: string | null): Colouring => COLOURINGS.find(({ id }) => id === text)?.id ?? "kind";

/** A value on a node: its text, and its place on the scale from 0 to 1. */
export interface Reading {
  text: string;
  place: number;
}

/** What a colouring says of an instruction; null if nothing was measured. */
export function readingOf(times: ModuleTimes | null, name: string, colouring: Colouring): Reading | null {
  const opTimes = times?.byName.get(name);
  if (!times || !opTimes) return null;
  if (colouring === "flops") return share(opTimes.flopRate, times.peaks.flops);
  if (colouring === "memory") return share(opTimes.bandwidth, times.peaks.memory);
  if (opTimes.selfUs <= 0) return null;
  return { text: formatTime(opTimes.selfUs * PS_PER_US), place: times.longestUs > 0 ? Math.sqrt(opTimes.selfUs / times.longestUs) : 0 };
}

function share(rate: number, peak: number | null): Reading | null {
  // A rate that no device reaches says nothing about the op: its work is done outside its recorded time.
  if (rate <= 0 || peak === null || peak <= 0 || beyond(rate, peak)) return null;
  return { text: formatPercent((100 * rate) / peak), place: Math.min(1, rate / peak) };
}

const HOT = { light: ["#fdf3dc", "#f0a04b", "#b5342b"], dark: ["#3a3428", "#a8642a", "#e0564a"] } as const;

/** Fill of a node at a place on the scale: for time pale to red, for utilisation red (low) to green (high). */
export function fillOf(place: number, colouring: Colouring, theme: Theme): string {
  if (colouring !== "time") return utilisationColour(place);
  const [low, middle, high] = HOT[theme].map(parseHex);
  if (!low || !middle || !high) return "#888888";
  return toHex(place < 0.5 ? mix(low, middle, place * 2) : mix(middle, high, place * 2 - 1));
}

/** The ends of the scale and its base, in words. */
export function scaleOf(times: ModuleTimes, colouring: Colouring): { low: string; high: string; base: string } {
  if (colouring === "time")
    return {
      low: "0",
      high: formatTime(times.longestUs * PS_PER_US),
      base: `self time over all occurrences; the scale is that of square roots; the module has ${formatTime(times.totalUs * PS_PER_US)}`,
    };
  const [peak, unit] = colouring === "flops" ? [times.peaks.flops, "GFLOP/s"] : [times.peaks.memory, "GiB/s"];
  return {
    low: "0%",
    high: "100%",
    base: peak === null ? "the profile has no peak to compare with" : `of ${times.peaks.what}, ${formatQuantity(peak, unit)}`,
  };
}

/** Lines about the measured times of an instruction: [label, value]. */
export function timeLines(times: ModuleTimes, one: OpTimes): [string, string][] {
  const lines: [string, string][] = [
    [
      "Self time",
      `${formatTime(one.selfUs * PS_PER_US)}${times.totalUs > 0 ? `, ${formatPercent((100 * one.selfUs) / times.totalUs)} of the module's` : ""}`,
    ],
    [
      "Occurrences",
      `${one.occurrences}, on average ${formatTime(one.occurrences > 0 ? (one.totalUs / one.occurrences) * PS_PER_US : null)}`,
    ],
  ];
  const rate = (label: string, value: number, peak: number | null, unit: string): void => {
    if (beyond(value, peak)) lines.push([label, `⚠ more than ${times.peaks.what} (${formatQuantity(peak, unit)}). ${OUTSIDE}`]);
    else if (value > 0)
      lines.push([
        label,
        `${formatQuantity(value, unit)}${peak !== null && peak > 0 ? `, ${formatPercent((100 * value) / peak)} of ${times.peaks.what}` : ""}`,
      ]);
  };
  rate("FLOP rate", one.flopRate, times.peaks.flops, "GFLOP/s");
  rate("Bandwidth", one.bandwidth, times.peaks.memory, "GiB/s");
  if (one.boundBy && one.boundBy !== "Unknown") lines.push(["Closest limit", one.boundBy]);
  return lines;
}
