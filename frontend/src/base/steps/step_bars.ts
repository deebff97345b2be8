// Steps by their parts as bars on one scale. Pure.
import type { BudgetCategory, BudgetPart } from "../documents";
import { formatTime } from "../format";
import { shownGroups } from "./decomposition";
import { lookOf } from "./step_category";
import type { Look } from "./step_category";

/** A category of a step; `within` are its parts, as lines of text. */
export interface BarPart extends BudgetPart {
  within: string;
  ps: number;
  /** As a fraction of the longest bar. */
  length: number;
  look: Look;
}

export interface StepBar {
  name: string;
  totalPs: number;
  /** Those that any of the bars has. */
  parts: BarPart[];
}

/** A step to be drawn: its length, and its time by id of the part. */
export interface BarTime {
  name: string;
  totalPs: number;
  time: (id: string) => number;
}

/** The bars of steps by category, the longest as wide as there is room. */
export function stepBarsOf(groups: readonly BudgetCategory[], steps: readonly BarTime[]): StepBar[] {
  const scale = Math.max(...steps.map(({ totalPs }) => totalPs), 1);
  const shown = shownGroups(groups);
  const bars = steps.map(({ name, totalPs, time }) => ({
    name,
    totalPs,
    parts: shown.map(({ id, name: category, help, parts }): BarPart => {
      const times = parts.map((part) => [part.name, time(part.id)] as const).filter(([, ps]) => ps > 0);
      const ps = parts.length === 0 ? time(id) : times.reduce((sum, [, one]) => sum + one, 0);
      const within = times.length > 1 ? times.map(([part, one]) => `\n${part}: ${formatTime(one)}`).join("") : "";
      return { id, name: category, help, within, ps, length: ps / scale, look: lookOf(id) };
    }),
  }));
  const used = new Set(bars.flatMap(({ parts }) => parts.filter(({ ps }) => ps > 0).map(({ id }) => id)));
  return bars.map((one) => ({ ...one, parts: one.parts.filter(({ id }) => used.has(id)) }));
}
