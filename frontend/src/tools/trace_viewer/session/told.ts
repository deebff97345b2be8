// The selection for the program around the page: events by what names and times them, a rectangle by its lines and times.
import type { ToldSelection } from "../../../page/page";
import type { SelectedArea, SelectedEvent } from "../../../timeline/data/selection";
import type { Trace, Track } from "../../../timeline/data/trace";

/** More events are told as the rectangle that holds them. */
const MOST_EVENTS = 5000;

/** What is selected; null for nothing. */
export function toldSelection(trace: Trace, selection: readonly SelectedEvent[], area: SelectedArea | null): ToldSelection | null {
  if (selection.length === 0) return null;
  const lines: [string, string, string][] = [];
  const numbers = new Map<string, number>();
  const lineOf = ({ pid, tid }: { pid: number; tid: number }): number => {
    const key = `${pid}.${tid}`;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const track = trace.tracks.find((one) => one.pid === pid && one.tid === tid) as Track;
    const section = trace.sections[track.section];
    lines.push([section?.host ?? "", section?.name ?? "", track.name]);
    numbers.set(key, lines.length - 1);
    return lines.length - 1;
  };
  if (area && (selection.length > MOST_EVENTS || selection.some(({ count }) => count > 1))) {
    const { window, name } = area;
    const rows = area.tracks.map((track): [number, number, number] => [lineOf(track), track.first, track.last]);
    return { lines, events: [], area: { begin: Math.floor(window.begin), end: Math.ceil(window.end), name, rows } };
  }
  const events = selection
    .filter(({ count }) => count === 1)
    .slice(0, MOST_EVENTS)
    .map((event): [number, string, number, number] => [lineOf(event), event.name ?? "", event.begin, event.duration]);
  return { lines, events, area: null };
}
