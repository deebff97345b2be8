// Which event, track and section of one trace corresponds to which of another. Pure.
import type { ComparedRuns } from "../../../base/documents";
import { plural } from "../../../base/format";
import { pairRows } from "../../../base/table/difference";
import { knownOps } from "../../../page/compare/paired_ops";
import type { SearchHits } from "../../../timeline/data/search_hits";
import type { SelectedEvent } from "../../../timeline/data/selection";
import { trackKey } from "../../../timeline/data/trace";
import type { Trace, Track } from "../../../timeline/data/trace";
import type { Ps, Span } from "../../../timeline/data/units";
import type { Arrangement } from "../../../timeline/layout/layout";

/** The selected event beside its counterpart in the base. */
export interface Counterpart {
  readonly run: SelectedEvent;
  readonly base: SelectedEvent;
}

/** What the details show of a base. */
export interface PairState {
  readonly counterpart: Counterpart | null;
  /** Why the selected event has no counterpart; null if it has one, or nothing is selected. */
  readonly why: string | null;
}

/** Names without numbers of processes, threads and instances. */
const plain = (name: string): string => name.replace(/\d+/g, "#");
const sectionName = (trace: Trace, { section }: Track): string => trace.sections[section]?.name ?? "";
const hostOf = (trace: Trace, { section }: Track): string => trace.sections[section]?.host ?? "";

/** Per track of a trace the corresponding one of another, by section and name, else by both without numbers; null: none. */
export function matchTracks(from: Trace, to: Trace): (number | null)[] {
  const keys = (trace: Trace, of: (track: Track) => string): string[] =>
    trace.tracks.map(of).map((key, i) => `${trace.tracks[i]?.kind}\0${key}`);
  const level = (name: (text: string) => string, withHost: boolean) => {
    const of =
      (trace: Trace) =>
      (track: Track): string =>
        `${withHost ? hostOf(trace, track) : ""}\0${name(sectionName(trace, track))}\0${name(track.name)}`;
    return { run: keys(from, of(from)), base: keys(to, of(to)) };
  };
  const same = (text: string): string => text;
  return [...pairRows([level(same, true), level(same, false), level(plain, false)]).counterpart];
}

/** The arrangement of a trace for another one: the corresponding sections and tracks are collapsed, hidden and pinned. */
export function mappedArrangement(
  from: Trace,
  to: Trace,
  tracks: readonly (number | null)[],
  wanted: Arrangement,
  own: Arrangement,
): Arrangement {
  const keys = new Map<string, string>();
  const pids = new Map<number, number>();
  tracks.forEach((target, t) => {
    const [mine, theirs] = [from.tracks[t], target === null ? undefined : to.tracks[target]];
    if (!mine || !theirs) return;
    keys.set(trackKey(mine), trackKey(theirs));
    if (!pids.has(mine.pid)) pids.set(mine.pid, theirs.pid);
  });
  const known = new Set(pids.values());
  const mapped = (list: Iterable<string>): string[] => [...list].flatMap((key) => keys.get(key) ?? []);
  return {
    ...own,
    collapsedSections: new Set([
      ...[...wanted.collapsedSections].flatMap((pid) => pids.get(pid) ?? []),
      ...[...own.collapsedSections].filter((pid) => !known.has(pid)),
    ]),
    hiddenSections: new Set([...wanted.hiddenSections].flatMap((pid) => pids.get(pid) ?? [])),
    collapsedTracks: new Set(mapped(wanted.collapsedTracks)),
    hiddenTracks: new Set(mapped(wanted.hiddenTracks)),
    pinnedTracks: mapped(wanted.pinnedTracks),
    showEmpty: wanted.showEmpty,
  };
}

/** `%fusion.1 = f32[8] fusion(...)` -> `fusion.1`. */
const instructionOf = (name: string): string => (name.split(" = ")[0] ?? "").replace(/^%/, "");

/** Names of instructions of the run -> those of the base, where they differ and all programs agree. */
export function renamedOps(found: ComparedRuns | null): Map<string, string> {
  const names = new Map<string, string>();
  const clashing = new Set<string>();
  for (const [run, base] of knownOps(found).run) {
    const [mine, theirs] = [run.split("\0")[1] ?? "", base.split("\0")[1] ?? ""];
    if (theirs === "" || (names.get(mine) ?? theirs) !== theirs) clashing.add(mine);
    else names.set(mine, theirs);
  }
  for (const name of clashing) names.delete(name);
  return names;
}

const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The expression that finds all events of a name, and of an op under the name that it has on the other side. */
export function searchFor(name: string, renamed: ReadonlyMap<string, string>): string {
  const other = renamed.get(instructionOf(name));
  return other === undefined ? `^${quoted(name)}$` : `^%?${quoted(other)}(?: = .*)?$`;
}

/** Index of the step that a moment lies in; -1 outside of all. */
export function stepAt(steps: readonly Span[], at: Ps): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((steps[middle]?.begin ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const step = steps[low - 1];
  return step && at < step.end ? low - 1 : -1;
}

interface Side {
  readonly trace: Trace;
  readonly hits: SearchHits;
  readonly steps: readonly Span[];
}

/** Hits on a track within a step, or outside of all steps for -1. */
function hitsIn({ hits, steps }: Side, track: number, step: number): number[] {
  return Array.from({ length: hits.length }, (_, i) => i).filter(
    (i) => hits.track[i] === track && stepAt(steps, hits.begin[i] ?? 0) === step,
  );
}

/**
 * The counterpart of an event: on the corresponding track, in the corresponding step, the event of the same name with as
 * many before it. Returns a sentence where there is none.
 */
export function findCounterpart(event: SelectedEvent, from: Side, to: Side, tracks: readonly (number | null)[]): SelectedEvent | string {
  if (from.hits.total > from.hits.length || to.hits.total > to.hits.length)
    return `there are more than ${to.hits.length} events of this name`;
  const mine = from.trace.tracks.findIndex(({ pid, tid }) => pid === event.pid && tid === event.tid);
  const track = tracks[mine] ?? null;
  if (track === null) return "the other run has no such track";
  const step = stepAt(from.steps, event.begin);
  if (step >= to.steps.length) return "the other run has fewer steps";
  const place = hitsIn(from, mine, step).findIndex((i) => from.hits.event[i] === event.event);
  const stepHits = hitsIn(to, track, step);
  const hit = stepHits[place];
  if (place < 0 || hit === undefined)
    return stepHits.length === 0
      ? `nothing of this name runs there${step >= 0 ? " in this step" : ""}`
      : `it runs ${plural(stepHits.length, "time")} there${step >= 0 ? " in this step" : ""}, here more often`;
  const { hits, trace } = to;
  const { pid, tid } = trace.tracks[track] ?? { pid: 0, tid: 0 };
  return {
    pid,
    tid,
    event: hits.event[hit] ?? 0,
    name: hits.strings[hits.name[hit] ?? 0] ?? "",
    begin: hits.begin[hit] ?? 0,
    duration: hits.duration[hit] ?? 0,
    count: 1,
    row: hits.row[hit] ?? 0,
  };
}
