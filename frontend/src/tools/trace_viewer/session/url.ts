// The view as query keys: window, selection, arrangement and tool.
import type { UrlState } from "../../../page/page";
import { TOOLS } from "../../../timeline/input/input";
import type { Tool } from "../../../timeline/input/input";
import type { Arrangement } from "../../../timeline/layout/layout";
import type { EventRef } from "../../../timeline/data/trace";
import type { Marker, Span } from "../../../timeline/data/units";
import type { Query } from "./source";

/** The view of a link; null or absent fields have their initial values. */
export interface LinkedView {
  readonly window: Span | null;
  readonly selected: readonly EventRef[];
  readonly mark: Span | null;
  /** A moment to show, with its label; without a window the view is around it. */
  readonly marker: Marker | null;
  readonly mode: Tool;
  readonly query: Query;
  /** Whether the link says how its text is to be found; else events of that name are, and without any those that contain it. */
  readonly how: boolean;
  readonly collapsed: readonly number[] | null;
  readonly folded: readonly string[];
  readonly hidden: readonly string[];
  readonly pinned: readonly string[];
  /** Sections that are left out. */
  readonly without: readonly number[];
  /** Kinds of flows that are left out; "" is the kind without a name. */
  readonly noFlows: readonly string[];
  /** A gap as `DEVICE:RANK`, or null; without a window it is framed. */
  readonly gap: string | null;
  /** "1", or a device, if the binding path is shown. */
  readonly path: string | null;
  /** Whether sections and tracks without events are shown. */
  readonly empty: boolean;
}

/** How a text is found, as `match` in the address names it. */
const PART = "part";

function queryOf(text: string, match: string | null): Query {
  const has = (how: string): boolean => items(match).includes(how);
  return { text, regex: has("regex"), whole: has("name"), matchCase: has("case"), args: has("args") };
}

function matchText({ regex, whole, matchCase, args }: Query): string {
  const how = regex ? "regex" : whole ? "name" : PART;
  return [how, ...(matchCase ? ["case"] : []), ...(args ? ["args"] : [])].join(",");
}

/** Longest label of a marker. */
const MAX_LABEL = 80;
/** The kind of flows without a name. */
const PLAIN = "other";
/** Maximum number of selected events in a link. */
const MAX_LINKED = 20;

function span(text: string | null): Span | null {
  const [begin, end] = (text ?? "").split(",").map(Number);
  if (begin === undefined || end === undefined) return null;
  return Number.isFinite(begin) && Number.isFinite(end) && end > begin ? { begin, end } : null;
}

/** "AT,LABEL". */
function markerOf(text: string | null): Marker | null {
  const [, at, label] = /^(-?\d+),(.*)$/s.exec(text ?? "") ?? [];
  return at === undefined || label === undefined ? null : { at: Number(at), label: label.slice(0, MAX_LABEL) };
}

function items(text: string | null): string[] {
  return text === null || text === "none" ? [] : text.split(",").filter((item) => item !== "");
}

function refs(text: string | null): EventRef[] {
  return items(text).flatMap((item) => {
    const [pid, tid, event] = item.split(".").map(Number);
    const whole = [pid, tid, event].every((n) => n !== undefined && Number.isInteger(n));
    return whole ? [{ pid: pid as number, tid: tid as number, event: event as number }] : [];
  });
}

/** Parses the keys; malformed values count as absent. */
export function readView(state: Pick<UrlState, "get">): LinkedView {
  const mode = state.get("mode");
  const collapsed = state.get("collapsed");
  const match = state.get("match");
  return {
    window: span(state.get("window")),
    selected: refs(state.get("selected")),
    mark: span(state.get("mark")),
    marker: markerOf(state.get("marker")),
    mode: TOOLS.find((tool) => tool === mode) ?? "select",
    query: queryOf(state.get("find") ?? "", match),
    how: match !== null,
    collapsed: collapsed === null ? null : items(collapsed).map(Number).filter(Number.isFinite),
    folded: items(state.get("folded")),
    hidden: items(state.get("hidden")),
    pinned: items(state.get("pinned")),
    without: items(state.get("without")).map(Number).filter(Number.isFinite),
    noFlows: items(state.get("noflows")).map((kind) => (kind === PLAIN ? "" : kind)),
    gap: state.get("gap") || null,
    path: state.get("path") || null,
    empty: state.get("empty") === "1",
  };
}

export const spanText = (value: Span | null): string | null =>
  value === null ? null : `${Math.round(value.begin)},${Math.round(value.end)}`;
const listText = (values: readonly (string | number)[]): string | null => (values.length ? values.join(",") : null);

/** The keys of a view; null removes a key. */
export function viewPatch(view: LinkedView): Record<string, string | null> {
  return {
    window: spanText(view.window),
    selected: listText(view.selected.slice(0, MAX_LINKED).map((r) => `${r.pid}.${r.tid}.${r.event}`)),
    mark: spanText(view.mark),
    marker: view.marker && `${Math.round(view.marker.at)},${view.marker.label}`,
    mode: view.mode === "select" ? null : view.mode,
    find: view.query.text || null,
    match: view.query.text && view.how ? matchText(view.query) : null,
    collapsed: view.collapsed === null ? null : (listText(view.collapsed) ?? "none"),
    folded: listText(view.folded),
    hidden: listText(view.hidden),
    pinned: listText(view.pinned),
    without: listText(view.without),
    noflows: listText(view.noFlows.map((kind) => kind || PLAIN)),
    gap: view.gap,
    path: view.path,
    empty: view.empty ? "1" : null,
  };
}

/** The arrangement of a link, applied to the initial one of the trace. */
export function arrangementOf(view: LinkedView, initial: Arrangement): Arrangement {
  return {
    ...initial,
    collapsedSections: view.collapsed === null ? initial.collapsedSections : new Set(view.collapsed),
    collapsedTracks: new Set(view.folded),
    hiddenTracks: new Set(view.hidden),
    pinnedTracks: view.pinned,
    hiddenSections: new Set(view.without),
    showEmpty: view.empty,
  };
}

/** Whether two sets are equal. */
export function sameSet<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  return a.size === b.size && [...a].every((item) => b.has(item));
}
