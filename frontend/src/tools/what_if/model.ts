// The changes in the address, and the bars, tables and words of the page. Pure.
import type { StepWhatIf, TriedChange } from "../../base/documents";
import { formatPercent, formatTime } from "../../base/format";
import { stepBarsOf } from "../../base/steps/step_bars";
import type { StepBar } from "../../base/steps/step_bars";
import { BETWEEN } from "../../base/steps/decomposition";
import { columnsOf, makeTable } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";

export const FLAGS = ["input_free", "hide_collectives", "ranks_equal"] as const;
export type Flag = (typeof FLAGS)[number];

export const FLAG_LABELS: Readonly<Record<Flag, { name: string; help: string }>> = {
  input_free: { name: "Input is free", help: "Waits for input, and copies to devices, take no time." },
  hide_collectives: { name: "Collectives are hidden", help: "Collectives take no time beyond waits for late devices." },
  ranks_equal: {
    name: "Devices are equally fast",
    help: "What devices do is spread evenly over them: each op takes the mean of all devices.",
  },
};

/** A place and the factor of its time; 0 leaves it out. */
export interface Scaled {
  place: string;
  factor: number;
}

/** The changes; several add up. */
export interface Edit {
  places: readonly Scaled[];
  flags: readonly Flag[];
}

export const EDIT_KEYS = ["without", "scale", ...FLAGS] as const;
type Keys = Readonly<Partial<Record<string, string | null>>>;

const list = (text: string): string[] =>
  text
    .split(";")
    .map((one) => one.trim())
    .filter((one) => one !== "");

/** The changes that keys of the address, or of a suggestion, stand for. */
export function editOf(keys: Keys): Edit {
  const without = list(keys["without"] ?? "").map((place) => ({ place, factor: 0 }));
  const scaled = list(keys["scale"] ?? "").flatMap((text): Scaled[] => {
    const at = text.lastIndexOf("=");
    const factor = Number(text.slice(at + 1));
    return at > 0 && text.slice(at + 1).trim() !== "" && Number.isFinite(factor) ? [{ place: text.slice(0, at).trim(), factor }] : [];
  });
  return { places: [...without, ...scaled], flags: FLAGS.filter((flag) => keys[flag] === "true") };
}

/** The keys of the address for changes; null removes a key. */
export function keysOf({ places, flags }: Edit): Record<string, string | null> {
  const without = places.filter(({ factor }) => factor === 0).map(({ place }) => place);
  const scaled = places.filter(({ factor }) => factor !== 0).map(({ place, factor }) => `${place}=${factor}`);
  return {
    without: without.join("; ") || null,
    scale: scaled.join("; ") || null,
    ...Object.fromEntries(FLAGS.map((flag) => [flag, flags.includes(flag) ? "true" : null])),
  };
}

export const isEmpty = ({ places, flags }: Edit): boolean => places.length === 0 && flags.length === 0;

/** The changes with a place's time times a factor. */
export function scaled(edit: Edit, place: string, factor: number): Edit {
  const others = edit.places.filter((one) => one.place !== place);
  return { ...edit, places: [...others, { place, factor }] };
}

export const without = (edit: Edit, place: string): Edit => ({ ...edit, places: edit.places.filter((one) => one.place !== place) });

export const flagged = (edit: Edit, flag: Flag, on: boolean): Edit => ({
  ...edit,
  flags: FLAGS.filter((one) => (one === flag ? on : edit.flags.includes(one))),
});

/** Whether all of a suggestion is among the changes. */
export function includes(edit: Edit, keys: Keys): boolean {
  const { places, flags } = editOf(keys);
  if (places.length === 0 && flags.length === 0) return false;
  const known = (one: Scaled): boolean => edit.places.some(({ place, factor }) => place === one.place && factor === one.factor);
  return places.every(known) && flags.every((flag) => edit.flags.includes(flag));
}

/** The changes with a suggestion, or without it if they have it. */
export function toggled(edit: Edit, keys: Keys): Edit {
  const { places, flags } = editOf(keys);
  if (includes(edit, keys)) {
    const left = places.reduce((all, { place }) => without(all, place), edit);
    return flags.reduce((all, flag) => flagged(all, flag, false), left);
  }
  const more = places.reduce((all, { place, factor }) => scaled(all, place, factor), edit);
  return flags.reduce((all, flag) => flagged(all, flag, true), more);
}

/** The average step before and after the changes; only before if the rest is unknown. */
export function barsOf({ groups, before, after }: StepWhatIf, edited: boolean): StepBar[] {
  const bar = (name: string, parts: StepWhatIf["before"]) => ({
    name,
    totalPs: parts.base_ps,
    time: (id: string) => parts.average_ps[id] ?? 0,
  });
  const known = groups.filter(({ id }) => id !== "not_recorded");
  return stepBarsOf(known, [bar("Before", before), ...(after !== null && edited ? [bar("After", after.parts)] : [])]);
}

/** "12.0 to 14.0 ms"; "" if both ends are shown alike. */
export function rangeText(lowPs: number, highPs: number): string {
  const [low, high] = [formatTime(lowPs), formatTime(highPs)];
  return low === high ? "" : `${low} to ${high}`;
}

const shareOf = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** What the changes gain as a fraction of the step. */
export const gainOf = ({ before, after }: StepWhatIf): number =>
  after === null ? 0 : shareOf(before.length_ps - after.parts.length_ps, before.length_ps);

/** The suggestion that gains most of those that are known with some confidence; null without any. */
export function bestOf({ tried }: Pick<StepWhatIf, "tried">): TriedChange | null {
  const known = tried.filter((one) => (one.gain_ps ?? 0) > 0 && one.confidence !== "low");
  return known.reduce<TriedChange | null>((best, one) => ((one.gain_ps ?? 0) > (best?.gain_ps ?? 0) ? one : best), null);
}

/** A share that is 0 when it is shown. */
const NOTHING = 0.0005;

export interface Headline {
  tone: "good" | "fair" | "none";
  title: string;
}

/** Why no gain is named. */
function withoutGain({ tried }: StepWhatIf): string {
  const gains = tried.flatMap(({ gain_ps: gain }) => (gain === null ? [] : [gain]));
  if (gains.length === 0) return "no finding has a change that can be tried";
  return gains.some((gain) => gain > 0)
    ? "the gains of the changes that were tried are uncertain"
    : "no change that was tried makes it shorter";
}

/** What the changes do to the step, else which change gains most. */
export function headline(found: StepWhatIf, edit: Edit, pending = false): Headline {
  const { before, after, base } = found;
  if (isEmpty(edit)) {
    const best = bestOf(found);
    const step = `The ${base} takes ${formatTime(before.length_ps)}`;
    if (pending) return { tone: "none", title: step };
    if (best === null) return { tone: "none", title: `${step}; ${withoutGain(found)}` };
    const gain = formatPercent(100 * shareOf(best.gain_ps ?? 0, before.length_ps));
    return { tone: "none", title: `${step}; the largest gain that was tried is ${gain}: ${lowered(best.label)}` };
  }
  if (after === null) return { tone: "fair", title: `The recording cannot tell: ${lowered(found.cannot.replace(/\.$/, ""))}` };
  const gain = gainOf(found);
  const times = `${formatTime(before.length_ps)} to ${formatTime(after.parts.length_ps)}`;
  if (Math.abs(gain) < NOTHING) return { tone: "none", title: `The ${base} stays as long as it is: ${formatTime(before.length_ps)}` };
  const percent = formatPercent(100 * Math.abs(gain));
  return { tone: gain > 0 ? "good" : "fair", title: `The ${base} would take ${percent} ${gain > 0 ? "less" : "more"} time (${times})` };
}

const lowered = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

/** One row per part of the step that either has: before, after, and the difference. */
export function partsTable({ groups, before, after, base }: StepWhatIf): TableData {
  const times = after?.parts.average_ps ?? null;
  const rows = groups
    .flatMap(({ id, name, help, parts }) =>
      id === BETWEEN ? [{ id, name, help, category: name }] : parts.map((part) => ({ ...part, category: name })),
    )
    .filter(({ id }) => (before.average_ps[id] ?? 0) > 0 || (times?.[id] ?? 0) > 0);
  const { text, number } = columnsOf(rows);
  const afterOf = (id: string): number | null => (times === null ? null : (times[id] ?? 0));
  return makeTable([
    text("category", "Category", "Category of step time.", ({ category }) => category),
    text("part", "Part", "What the device does, or why it does nothing.", ({ name }) => name),
    number("before", "Before", "ps", `Time in the average ${base} as recorded.\nSource: trace.`, ({ id }) => before.average_ps[id] ?? 0),
    number("after", "After", "ps", `Time in the average ${base} with the changes, replayed.\nSource: estimate.`, ({ id }) => afterOf(id)),
    number("difference", "Difference", "ps", "After minus before.", ({ id }) => {
      const later = afterOf(id);
      return later === null ? null : later - (before.average_ps[id] ?? 0);
    }),
    text("meaning", "Meaning", null, ({ help }) => help),
  ]);
}

/** One row per change that was tried: for the table, and its CSV. */
export function triedTable({ tried, before }: StepWhatIf): TableData {
  const { text, number } = columnsOf(tried);
  return makeTable([
    text("change", "Change", "What takes no time, or less.", ({ label }) => label),
    text("finding", "Finding", "The finding that suggests it; empty for a large part of the step.", ({ title }) => title),
    number("gain", "Gain", "ps", "What the average step gains with this change alone, replayed.\nSource: estimate.", (one) => one.gain_ps),
    number("share", "Gain, of the step", "fraction", "Gain divided by the step as recorded.", ({ gain_ps }) =>
      gain_ps === null ? null : shareOf(gain_ps, before.length_ps),
    ),
    number("low", "Gain, at least", "ps", "Devices that share the cores of a CPU give an interval.", (one) => one.low_ps),
    number("high", "Gain, at most", "ps", "The same.", (one) => one.high_ps),
    number(
      "part",
      "Time of the finding",
      "ps",
      "The part of the step that the finding is about: what could be gained if nothing else took its place.",
      (one) => one.part_ps,
    ),
    text("confidence", "Confidence", "How far the recording tells.", ({ confidence }) => confidence),
    text("cannot", "Why not", "Why the gain is unknown.", ({ cannot }) => cannot),
  ]);
}
