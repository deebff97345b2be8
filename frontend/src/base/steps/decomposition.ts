// The decomposition of step time that all pages show: categories with their parts, of the average step and of each step. Pure.
import type { BudgetCategory, BudgetPart, Decomposition } from "../documents";
import { formatPercent, formatTime, plural } from "../format";
import { lookOf } from "./step_category";
import type { Look } from "./step_category";
import { statisticsOf } from "./steps";
import type { StepBreakdown, StepPart } from "./steps";

/** A number of steps: "8 steps (10 marked, the first and last left out)". */
export function countSteps(count: number, leftOut: number): string {
  return plural(count, "step") + (leftOut > 0 ? ` (${count + leftOut} marked, the first and last left out)` : "");
}

export const BETWEEN = "between_steps";
/** The part of which events are missing: no share of anything, so that only charts of times show it. */
export const UNKNOWN = "not_recorded";

/** A category or a part of it, as a share of the base. */
export interface Segment extends BudgetPart, Required<Look> {
  ps: number;
  /** Of the base, 0 to 1. */
  share: number;
  /** Its parts that take any time; one part says no more than its category. */
  parts: readonly Segment[];
}

/** The category whose parts have nothing in common: each of them stands for itself, with a name and a colour. */
export const OTHERS = "other";

/** The categories as bars, graphs and lists show them. */
export function shownGroups(groups: readonly BudgetCategory[]): BudgetCategory[] {
  return groups.flatMap((group) =>
    group.id === OTHERS && group.parts.length > 1 ? group.parts.map((part) => ({ ...part, parts: [part] })) : [group],
  );
}

type Shared = Pick<Decomposition, "groups" | "average_ps" | "base_ps">;

/** The categories of the bar with any time, in the order of display, each with its parts. */
export const segmentsOf = (found: Shared): Segment[] => categoriesOf({ ...found, groups: shownGroups(found.groups) });

/** The categories of the user documents with any time, in the order of display, each with its parts. */
export function categoriesOf(found: Shared): Segment[] {
  const segment = (label: BudgetPart, ps: number, parts: readonly Segment[]): Segment[] => {
    const { colour, striped = false } = lookOf(label.id);
    const share = found.base_ps > 0 ? ps / found.base_ps : 0;
    return ps > 0 ? [{ id: label.id, name: label.name, help: label.help, ps, share, colour, striped, parts }] : [];
  };
  const at = (id: string): number => found.average_ps[id] ?? 0;
  return found.groups
    .filter(({ id }) => id !== UNKNOWN)
    .flatMap((group) => {
      const parts = group.parts.flatMap((part) => segment(part, at(part.id), []));
      return segment(group, group.id === BETWEEN ? at(BETWEEN) : parts.reduce((all, { ps }) => all + ps, 0), parts);
    });
}

/** What takes most of the time, and that as "97.0% of the step is host copies"; null if nothing takes any. */
export function largestOf(segments: readonly Segment[], base: string): { id: string; text: string } | null {
  const [most] = [...segments].sort((a, b) => b.share - a.share);
  if (most === undefined) return null;
  return { id: most.id, text: `${formatPercent(100 * most.share)} of the ${base} is ${most.name.toLowerCase()}` };
}

/** The segment of a category or part: that of its category. */
export function segmentWith(segments: readonly Segment[], id: string | null): Segment | null {
  return segments.find((one) => one.id === id || one.parts.some((part) => part.id === id)) ?? null;
}

/** Parts in which the device runs nothing. */
const IDLE = /^(?:idle_|not_recorded$|between_steps$)/;

/** Share of the base, 0 to 1, in which the device runs ops, communication or copies; null without a base. */
export function busyShare({ groups, average_ps, base_ps }: Shared): number | null {
  const busy = groups.flatMap(({ parts }) => parts).filter(({ id }) => !IDLE.test(id));
  return base_ps > 0 && busy.length > 0 ? busy.reduce((all, { id }) => all + (average_ps[id] ?? 0), 0) / base_ps : null;
}

const PS_PER_MS = 1e9;

/** Every step by category, in ms, as charts and lists show it; empty if the recording has no steps. */
export function breakdownOf(found: Decomposition): StepBreakdown {
  const { name: names, duration_ps, parts_ps } = found.steps;
  const labels = found.source === "recording" ? [] : names;
  const totalMs = labels.map((_, step) => (duration_ps[step] ?? 0) / PS_PER_MS);
  const parts = shownGroups(found.groups).flatMap((group): StepPart[] => {
    const columns = group.parts.flatMap(({ id }) => [parts_ps[id] ?? []]).filter((column) => column.length > 0);
    if (columns.length === 0) return [];
    const ms = labels.map((_, step) => columns.reduce((all, column) => all + (column[step] ?? 0), 0) / PS_PER_MS);
    return [{ category: group.id, name: group.name, help: group.help, ms }];
  });
  const time = statisticsOf(totalMs);
  // The average is over steps and devices: steps in which more devices take part count more.
  return { labels, parts, totalMs, time: time && { ...time, average: found.step_ps / PS_PER_MS } };
}

/** "time from step to step: 14.0 ms = 2.83 ms step + 11.2 ms between steps"; "average step: 2.83 ms". */
export function baseText({
  base,
  base_ps,
  step_ps,
  average_ps,
}: Pick<Decomposition, "base" | "base_ps" | "step_ps" | "average_ps">): string {
  const between = average_ps[BETWEEN] ?? 0;
  const unknown = average_ps[UNKNOWN] ?? 0;
  const missing = unknown > 0 ? ` - ${formatTime(unknown)} not recorded` : "";
  if (between > 0 || unknown > 0) {
    const gap = between > 0 ? ` + ${formatTime(between)} between steps` : "";
    return `${base === "step" ? "average step" : base}: ${formatTime(base_ps)} = ${formatTime(step_ps)} step${gap}${missing}`;
  }
  return `${base === "step" ? "average step" : base}: ${formatTime(base_ps)}`;
}

/** Margin on both sides of a step in the trace viewer, as a share of the step. */
const MARGIN = 0.05;

/** The keys that open the trace viewer at a step, on its slowest device. */
export function traceOf(found: Decomposition, step: number): Record<string, string> | null {
  const { begin_ps, end_ps, slowest } = found.steps;
  const [begin, end, device] = [begin_ps[step], end_ps[step], found.devices[slowest[step] ?? -1]];
  if (begin === undefined || end === undefined || device === undefined || end <= begin) return null;
  const room = (end - begin) * MARGIN;
  return { window: `${Math.max(0, Math.round(begin - room))},${Math.round(end + room)}`, host: device.host };
}

/** "GPU 0 and GPU 2 take part in no step"; null if all do in some. */
export function idleDevices({ devices, steps }: Pick<Decomposition, "devices" | "steps">): string | null {
  const idle = devices.filter((device) => device.steps === 0).map(({ name }) => name);
  if (idle.length === 0 || steps.name.length === 0) return null;
  const named = idle.slice(0, 4).join(", ") + (idle.length > 4 ? ` and ${idle.length - 4} more` : "");
  return `${named} ${idle.length === 1 ? "takes" : "take"} part in no step and ${idle.length === 1 ? "is" : "are"} not averaged in.`;
}
