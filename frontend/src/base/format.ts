// Numbers as text: always with a unit, three to four significant digits, "-" for missing values.

export const MISSING = "-";

/** Picoseconds; integers up to 2^53 (2.5 hours) are exact. */
export type Ps = number;

const PS_PER: Readonly<Record<string, number>> = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };
const BYTES_PER: Readonly<Record<string, number>> = { bytes: 1, byte: 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const DECIMAL_STEPS = ["", "K", "M", "G", "T", "P"] as const;

/** Rounds to three or four significant digits; integers below 10,000 stay as they are. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (Number.isInteger(value) && size < 1e4) return String(value);
  if (size >= 999.95) return Math.round(value).toLocaleString("en-US");
  if (size >= 99.995) return value.toFixed(1);
  if (size >= 9.9995) return value.toFixed(2);
  if (size >= 0.001) return value.toFixed(3);
  return value.toExponential(2);
}

/** The value in the largest unit in which it is at least 1 after rounding. */
function pick(value: number, steps: readonly (readonly [string, number])[]): string {
  const size = Math.abs(value);
  let chosen = steps[0];
  if (!chosen) return digits(value);
  // a value that would print as 1,000 of a unit belongs to the next larger one
  for (const step of steps) if (size / step[1] >= 0.99995) chosen = step;
  return `${digits(value / chosen[1])} ${chosen[0]}`.trimEnd();
}

const TIME_STEPS = [
  ["ns", 1e3],
  ["us", 1e6],
  ["ms", 1e9],
  ["s", 1e12],
] as const;
const BYTE_STEPS = [
  ["B", 1],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
  ["TiB", 2 ** 40],
] as const;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** A duration in picoseconds as ns, us, ms or s: `1234567890` -> "1.235 ms". */
export function formatTime(ps: Ps | null | undefined): string {
  return isNumber(ps) ? pick(ps, TIME_STEPS) : MISSING;
}

/** Bytes as B to TiB: `1536` -> "1.500 KiB". */
export function formatBytes(bytes: number | null | undefined): string {
  return isNumber(bytes) ? pick(bytes, BYTE_STEPS) : MISSING;
}

/** A percentage (0 to 100) with one decimal: `12.34` -> "12.3%". */
export function formatPercent(percent: number | null | undefined): string {
  return isNumber(percent) ? `${percent.toFixed(1)}%` : MISSING;
}

/** A count with thousands separators; fractions keep four significant digits. */
export function formatCount(value: number | null | undefined): string {
  if (!isNumber(value)) return MISSING;
  return Number.isInteger(value) ? value.toLocaleString("en-US") : digits(value);
}

/** A rate with the prefix that fits best, e.g. GFLOP/s -> TFLOP/s. */
function formatDecimalRate(value: number, prefix: string, name: string): string {
  const start = Math.max(0, DECIMAL_STEPS.indexOf(prefix as (typeof DECIMAL_STEPS)[number]));
  const steps = DECIMAL_STEPS.map((step, i) => [`${step}${name}`, 1000 ** i] as const);
  return pick(value * 1000 ** start, steps);
}

/**
 * A number with the unit that its column declares: times, bytes and rates choose a prefix, percentages get one decimal,
 * `fraction` is shown as a percent, any other unit is appended, no unit means a count.
 */
export function formatQuantity(value: number | null | undefined, unit?: string | null): string {
  if (!isNumber(value)) return MISSING;
  if (!unit) return formatCount(value);
  const time = PS_PER[unit];
  if (time !== undefined) return formatTime(value * time);
  const bytes = BYTES_PER[unit];
  if (bytes !== undefined) return formatBytes(value * bytes);
  if (unit === "percent" || unit === "%") return formatPercent(value);
  if (unit === "fraction") return formatPercent(value * 100);
  const perSecond = /^(B|bytes|KiB|MiB|GiB|TiB)\/s$/.exec(unit)?.[1];
  if (perSecond !== undefined) return `${formatBytes(value * (BYTES_PER[perSecond] ?? 1))}/s`;
  const rate = /^([KMGTP]?)(FLOPS?(?:\/s)?|B\/s|Hz)$/i.exec(unit);
  if (rate) return formatDecimalRate(value, (rate[1] ?? "").toUpperCase(), rate[2] ?? "");
  return `${formatCount(value)} ${unit}`;
}

/** The factor from one unit to another, e.g. 1000 for ms to us; null for units of different quantities. */
export function unitFactor(from: string, to: string | null): number | null {
  if (to === null) return null;
  const same = (unit: string): string => (unit === "%" ? "percent" : unit).toLowerCase();
  if (same(from) === same(to)) return 1;
  for (const scale of [PS_PER, BYTES_PER]) {
    const [a, b] = [lookup(scale, from), lookup(scale, to)];
    if (a !== null && b !== null) return a / b;
    if (from.endsWith("/s") && to.endsWith("/s")) {
      const [c, d] = [lookup(scale, from.slice(0, -2)), lookup(scale, to.slice(0, -2))];
      if (c !== null && d !== null) return c / d;
    }
  }
  const [p, q] = [/^([kmgtp]?)(flops?\/s|b\/s|hz)$/i.exec(from), /^([kmgtp]?)(flops?\/s|b\/s|hz)$/i.exec(to)];
  if (!p || !q || p[2]?.toLowerCase() !== q[2]?.toLowerCase()) return null;
  const power = (prefix: string | undefined): number => ["", "k", "m", "g", "t", "p"].indexOf((prefix ?? "").toLowerCase());
  return 1000 ** (power(p[1]) - power(q[1]));
}

function lookup(scale: Readonly<Record<string, number>>, unit: string): number | null {
  const matching = Object.entries(scale).find(([name]) => name.toLowerCase() === unit.toLowerCase());
  return matching ? matching[1] : null;
}

/** The unrounded value with its declared unit, for tooltips and copying. */
export function formatExact(value: unknown, unit?: string | null): string {
  if (value === null || value === undefined || value === "") return MISSING;
  const text = typeof value === "string" ? value : typeof value === "number" ? String(value) : JSON.stringify(value);
  return unit && typeof value === "number" ? `${text} ${unit}` : text;
}

/** Replaces the middle of a long text by an ellipsis, so that both ends stay readable. */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const tail = Math.floor((max - 1) / 3);
  return `${text.slice(0, max - 1 - tail)}…${tail > 0 ? text.slice(-tail) : ""}`;
}

const two = (n: number): string => String(n).padStart(2, "0");

/** A date as "2026-11-20 08:58:45", local time. */
export function formatDate(ms: number): string {
  const d = new Date(ms);
  const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${day} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** The time in a session name such as `2026_11_20_08_58_45` (local time of the profiler); null if there is none. */
export function sessionTime(session: string): number | null {
  const match = /(\d{4})[_-](\d{2})[_-](\d{2})[_-](\d{2})[_:-](\d{2})[_:-](\d{2})/.exec(session);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [number, number, number, number, number, number];
  const date = new Date(year, month - 1, day, hour, minute, second);
  const real = date.getMonth() === month - 1 && date.getDate() === day && hour < 24 && minute < 60 && second < 60;
  return real ? date.getTime() : null;
}

/** "3 hosts", "1 host". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
