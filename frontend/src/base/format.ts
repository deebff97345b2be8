// Numbers as text: always with a unit, four significant digits, "-" for missing values.

export const MISSING = "-";

/** Picoseconds; integers up to 2^53 (2.5 hours) are exact. */
export type Ps = number;

const PS_PER: Readonly<Record<string, number>> = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };
const BYTES_PER: Readonly<Record<string, number>> = { bytes: 1, byte: 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const DECIMAL_STEPS = ["", "K", "M", "G", "T", "P"] as const;
const SMALLEST_DECIMAL = 1e-6;

/** Four significant digits, thousands separated; whole numbers below 10,000 have no decimals. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if ((Number.isInteger(value) && size < 1e4) || size >= 999.95) return Math.round(value).toLocaleString("en-US");
  if (size >= 99.995) return value.toFixed(1);
  if (size >= 9.9995) return value.toFixed(2);
  if (size >= 0.99995) return value.toFixed(3);
  return size >= SMALLEST_DECIMAL ? String(Number(value.toPrecision(4))) : value.toExponential(3);
}

/** Units of one quantity with their sizes, the smallest first. */
type Steps = readonly (readonly [string, number])[];

const TIME_STEPS: Steps = [
  ["ns", 1e3],
  ["us", 1e6],
  ["ms", 1e9],
  ["s", 1e12],
];
const BYTE_STEPS: Steps = [
  ["B", 1],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
  ["TiB", 2 ** 40],
];

/** The largest unit in which a value is at least 1 after rounding: what would print as 1,000 belongs to the next larger unit. */
function stepOf(value: number, steps: Steps): readonly [string, number] {
  const size = Math.abs(value);
  let chosen = steps[0] ?? ["", 1];
  for (const step of steps) if (size / step[1] >= 0.99995) chosen = step;
  return chosen;
}

const inStep = (value: number, [unit, size]: readonly [string, number]): string => `${digits(value / size)} ${unit}`.trimEnd();

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** A duration in picoseconds as ns, us, ms or s: `1234567890` -> "1.235 ms". */
export function formatTime(ps: Ps | null | undefined): string {
  return formatQuantity(ps, "ps");
}

/** Bytes as B to TiB: `1536` -> "1.500 KiB". */
export function formatBytes(bytes: number | null | undefined): string {
  return formatQuantity(bytes, "bytes");
}

/** A percentage (0 to 100) with one decimal: `12.34` -> "12.3%". */
export function formatPercent(percent: number | null | undefined): string {
  if (!isNumber(percent)) return MISSING;
  return `${Math.abs(percent) >= 999.95 ? digits(percent) : percent.toFixed(1)}%`;
}

/** How many times as large something is, with two significant digits: `1.5`, `12`. */
export function formatRatio(ratio: number): string {
  return ratio >= 9.95 ? formatCount(Math.round(ratio)) : ratio.toFixed(1);
}

/** A percentage that cannot be true, marked; beyond 1,000% it says nothing and counts as missing. */
export function formatDoubtful(percent: number): string {
  return percent > 1000 ? MISSING : `⚠ ${formatPercent(percent)}`;
}

/** A count with thousands separators; fractions keep four significant digits. */
export function formatCount(value: number | null | undefined): string {
  if (!isNumber(value)) return MISSING;
  return Number.isInteger(value) ? value.toLocaleString("en-US") : digits(value);
}

/** The units that a value in `unit` may be shown in, and the size of `unit`; null if it is always shown in `unit`. */
function scaleOf(unit: string): { size: number; steps: Steps } | null {
  const time = PS_PER[unit];
  if (time !== undefined) return { size: time, steps: TIME_STEPS };
  const bytes = BYTES_PER[unit];
  if (bytes !== undefined) return { size: bytes, steps: BYTE_STEPS };
  const perSecond = BYTES_PER[/^(.+)\/s$/.exec(unit)?.[1] ?? ""];
  if (perSecond !== undefined) return { size: perSecond, steps: BYTE_STEPS.map(([name, size]) => [`${name}/s`, size] as const) };
  const rate = /^([KMGTP]?)(FLOPS?(?:\/s)?|B\/s|Hz)$/i.exec(unit);
  if (!rate) return null;
  const power = Math.max(0, DECIMAL_STEPS.indexOf((rate[1] ?? "").toUpperCase() as (typeof DECIMAL_STEPS)[number]));
  return { size: 1000 ** power, steps: DECIMAL_STEPS.map((step, i) => [`${step}${rate[2] ?? ""}`, 1000 ** i] as const) };
}

/**
 * A number with the unit that its column declares: times, bytes and rates choose a prefix, percentages get one decimal,
 * `fraction` is shown as a percent, any other unit is appended, no unit means a count.
 */
export function formatQuantity(value: number | null | undefined, unit?: string | null): string {
  if (!isNumber(value)) return MISSING;
  if (!unit) return formatCount(value);
  if (unit === "percent" || unit === "%") return formatPercent(value);
  if (unit === "fraction") return formatPercent(value * 100);
  const scale = scaleOf(unit);
  if (scale) return inStep(value * scale.size, stepOf(value * scale.size, scale.steps));
  return `${formatCount(value)} ${unit}`;
}

export type NumberFormat = (value: number | null | undefined) => string;

/** Numbers that are read together, such as those of a column. */
interface Numbers {
  values: readonly unknown[];
  /** Null for counts. */
  unit: string | null;
}

/** Numbers with the units that they may be shown in. */
interface Sized {
  size: number;
  steps: Steps;
  /** Sizes of a sample of the numbers other than 0 in the smallest unit, ascending; the last is that of the largest number. */
  sizes: readonly number[];
}

const MOST_SAMPLED = 1000;
const LARGEST_TOGETHER = 1e6;
/** Smaller parts of the unit are only said to be smaller. */
const LEAST_TOGETHER = 0.001;
/** In a unit that columns share, half of the numbers of each are at least this. */
const LEAST_MIDDLE = 0.01;

function sized({ values, unit }: Numbers): Sized | null {
  const scale = unit ? scaleOf(unit) : null;
  if (!scale) return null;
  let largest = 0;
  for (const value of values) if (isNumber(value)) largest = Math.max(largest, Math.abs(value) * scale.size);
  const every = Math.max(1, Math.floor(values.length / MOST_SAMPLED));
  const sizes = values
    .filter((value, i): value is number => i % every === 0 && isNumber(value) && value !== 0)
    .map((value) => Math.abs(value) * scale.size)
    .sort((a, b) => a - b);
  return { ...scale, sizes: largest > (sizes.at(-1) ?? 0) ? [...sizes, largest] : sizes };
}

const largestOf = ({ sizes }: Sized): number => sizes.at(-1) ?? 0;
const middleOf = ({ sizes }: Sized): number => sizes[sizes.length >> 1] ?? 0;

/** The unit of the largest, or a smaller one in which half of the numbers are at least 1 and the largest has at most six digits. */
function unitOf(group: readonly Sized[]): readonly [string, number] {
  const steps = group[0]?.steps ?? TIME_STEPS;
  const all = { size: 1, steps, sizes: group.flatMap(({ sizes }) => sizes).sort((a, b) => a - b) };
  const [largest, middle] = [largestOf(all), middleOf(all)];
  let chosen = stepOf(largest, steps);
  for (const step of [...steps].reverse())
    if (step[1] < chosen[1] && middle < chosen[1] && largest / step[1] < LARGEST_TOGETHER) chosen = step;
  return chosen;
}

/** Whether columns can be read in one unit. */
function suits(group: readonly Sized[]): boolean {
  const [first] = group;
  if (!first || group.some(({ steps }) => steps[0]?.[0] !== first.steps[0]?.[0])) return false;
  const [, size] = unitOf(group);
  return group.every((one) => one.sizes.length === 0 || middleOf(one) >= LEAST_MIDDLE * size);
}

/** How the columns of a table are written: each in one unit, and those of one quantity in the same if it suits all of them. */
export function formatColumns(columns: readonly Numbers[]): NumberFormat[] {
  const found = columns.map(sized);
  const groups: Sized[][] = [];
  // Columns without sizes come last, and so have the unit of the largest.
  for (const one of found.filter((column) => column !== null).sort((a, b) => largestOf(b) - largestOf(a))) {
    const group = groups.find((some) => suits([...some, one]));
    if (group) group.push(one);
    else groups.push([one]);
  }
  return found.map((one, i) => {
    const group = one && groups.find((some) => some.includes(one));
    return one && group && group.some(({ sizes }) => sizes.length > 0)
      ? inUnit(one.size, unitOf(group))
      : (value) => formatQuantity(value, columns[i]?.unit);
  });
}

/** Formats numbers that are read together, all in one unit. Far smaller ones are "<0.001". */
export function formatTogether(values: readonly unknown[], unit: string | null): NumberFormat {
  return formatColumns([{ values, unit }])[0] ?? ((value) => formatQuantity(value, unit));
}

function inUnit(size: number, unit: readonly [string, number]): NumberFormat {
  return (value) => {
    if (!isNumber(value)) return MISSING;
    const own = Math.abs(value * size);
    if (own === 0 || own >= LEAST_TOGETHER * unit[1]) return inStep(value * size, unit);
    return `${value < 0 ? ">-" : "<"}${LEAST_TOGETHER} ${unit[0]}`;
  };
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

const EXACT_DIGITS = 15;

/** The unrounded value with its declared unit, for tooltips; a fraction as a percentage. */
export function formatExact(value: unknown, unit?: string | null): string {
  if (value === null || value === undefined || value === "") return MISSING;
  if (typeof value === "number" && Number.isFinite(value)) {
    const shown = unit === "fraction" ? value * 100 : value;
    const size = Math.abs(shown);
    const text =
      size !== 0 && size < SMALLEST_DECIMAL
        ? String(shown)
        : shown.toLocaleString("en-US", Number.isInteger(shown) ? {} : { maximumSignificantDigits: EXACT_DIGITS });
    return `${text} ${unit === "fraction" || unit === "percent" ? "%" : (unit ?? "")}`.trimEnd();
  }
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : JSON.stringify(value);
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

/** What has the largest share of something, for the end of a sentence: most of it only above half. */
export const mostIn = (name: string, share: number, detail = ""): string =>
  share > 0.5 ? `, most of it in ${name}${detail}` : `; ${name} has the largest part, ${formatPercent(100 * share)} of it${detail}`;
