// Text descriptions of the trace and the selection, for screen readers.
import { formatCount, formatTime, plural } from "../../base/format";
import { mergedCount } from "./selection";
import type { SelectedEvent } from "./selection";
import { instant } from "./ticks";
import { sectionTitle, trackKey } from "./trace";
import type { Trace } from "./trace";

/** Sections that the name of a canvas lists. */
const MOST_NAMED = 8;

/** Summarizes the trace and the navigation keys. */
export function describeTrace(trace: Trace): string {
  const { begin, end } = trace.full;
  return (
    `Timeline of ${plural(trace.totalEvents, "event")} on ${plural(trace.tracks.length, "track")} of ` +
    `${plural(trace.sections.length, "process", "processes")} over ${formatTime(end - begin)}. ` +
    `Arrow keys move from event to event, W and S zoom, A and D pan, G goes to the largest gap, B shows the binding path, question mark lists all keys.`
  );
}

/** Name of the canvas with the rows: the sections that it draws. */
export function describeRows(trace: Trace): string {
  const names = trace.sections.map((_, index) => sectionTitle(trace, index));
  return `Events by time, a row per track: ${names.slice(0, MOST_NAMED).join(", ")}${names.length > MOST_NAMED ? ", ..." : ""}`;
}

/** Describes a selection in one sentence. */
export function describeSelection(trace: Trace, selection: readonly SelectedEvent[]): string {
  const [only] = selection;
  if (only === undefined) return "Nothing selected";
  if (selection.length > 1) {
    const merged = mergedCount(selection);
    const plain = selection.filter((p) => p.name !== null).length;
    return `${plural(plain, "event")} selected${merged > 0 ? ` and ${formatCount(merged)} merged` : ""}`;
  }
  const track = trace.tracks.find((t) => trackKey(t) === trackKey(only));
  const place = track ? `, ${track.name}, ${sectionTitle(trace, track.section)}` : "";
  const name = only.name ?? `${formatCount(only.count)} merged events`;
  const start = instant(only.begin, Math.max(only.duration / 100, 1));
  return `${name}, starts at ${start}, ${only.duration > 0 ? `lasts ${formatTime(only.duration)}` : "an instant"}${place}`;
}
