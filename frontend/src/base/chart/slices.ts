// Sums by name as slices of a pie; small ones are combined.
import type { Slice } from "./chart_spec";

const OTHER = { light: "#9aa5b1", dark: "#5d6a78" } as const;
const MIN_SHARE = 0.01;

export interface Amount {
  name: string;
  value: number;
}

/** Sums by name, largest first, without those that are 0. */
export function sumBy(names: readonly string[], values: readonly number[]): Amount[] {
  const sums = new Map<string, number>();
  names.forEach((name, i) => sums.set(name, (sums.get(name) ?? 0) + (values[i] ?? 0)));
  return [...sums]
    .map(([name, value]) => ({ name, value }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value);
}

/** At most `most` slices of at least one percent each, and one for all others. */
export function topSlices(amounts: readonly Amount[], most = 8): Slice[] {
  const total = amounts.reduce((all, { value }) => all + value, 0);
  const large = amounts.filter(({ value }, i) => i < most && value >= MIN_SHARE * total);
  const rest = amounts.length - large.length;
  const slices: Slice[] = large.map(({ name, value }, i) => ({ name, value, colour: i }));
  if (rest === 0) return slices;
  const value = total - large.reduce((all, one) => all + one.value, 0);
  return value > 0 ? [...slices, { name: `${rest} ${rest === 1 ? "other" : "others"}`, value, colour: OTHER }] : slices;
}
