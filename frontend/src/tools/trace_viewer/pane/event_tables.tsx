// Tables of events: the visible ones, as an accessible alternative to the canvas, and the matches of the search.
import { formatCount, formatTime } from "../../../base/format";
import { boxesIn } from "../../../timeline/layout/hit_test";
import { select } from "../../../timeline/state/commands";
import { reveal } from "../../../timeline/state/navigation";
import { rowsHeight, viewOf } from "../../../timeline/state/state";
import { eventOfBox } from "../../../timeline/data/selection";
import type { SelectedEvent } from "../../../timeline/data/selection";
import { instant } from "../../../timeline/data/ticks";
import { useState } from "preact/hooks";
import type { Session } from "../session/session";

/** Rows per page. */
const PAGE = 200;

interface Row {
  readonly key: string;
  readonly name: string;
  readonly track: string;
  readonly begin: number;
  readonly duration: number;
  readonly go: () => void;
}

function EventTable({ rows, total, caption, precision }: { rows: readonly Row[]; total: number; caption: string; precision: number }) {
  return (
    <table class="tv-table">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Track</th>
          <th scope="col">Start</th>
          <th scope="col">Duration</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <td>
              <button type="button" class="tv-link" title={row.name} onClick={row.go}>
                {row.name}
              </button>
            </td>
            <td class="tv-text">{row.track}</td>
            <td>{instant(row.begin, precision)}</td>
            <td>{formatTime(row.duration)}</td>
          </tr>
        ))}
      </tbody>
      {total > rows.length ? (
        <tfoot>
          <tr>
            <td colSpan={4}>{formatCount(total - rows.length)} more</td>
          </tr>
        </tfoot>
      ) : null}
    </table>
  );
}

/** Visible boxes from top to bottom. */
export function VisibleEvents({ session }: { session: Session }) {
  const { timeline } = session;
  const view = viewOf(timeline.state);
  if (!view) return null;
  const boxes = boxesIn(view, 0, 0, view.scale.width, rowsHeight(timeline.state));
  const go = (event: SelectedEvent) => (): void => timeline.apply(select([event]), reveal(event, false));
  const rows = boxes.slice(0, PAGE).map((box) => {
    const event = eventOfBox(view.trace, box);
    return {
      key: String(box),
      name: event.name ?? `${formatCount(event.count)} merged events`,
      track: session.trackName(event),
      begin: event.begin,
      duration: event.duration,
      go: go(event),
    };
  });
  return (
    <EventTable rows={rows} total={boxes.length} caption={`${formatCount(boxes.length)} visible boxes`} precision={view.scale.psPerPx} />
  );
}

/** The matches of the search, by time, a page around the current one. */
export function Matches({ session }: { session: Session }) {
  const { hits, currentHit } = session;
  const { trace } = session.timeline.state;
  const [from, setFrom] = useState(0);
  if (!hits || !trace) return <p class="tv-hint">Type into the search box to list events whose names match.</p>;
  const indexes = Array.from({ length: Math.min(PAGE, hits.length - from) }, (_, i) => from + i);
  const rows = indexes.map((i) => ({
    key: String(i),
    name: `${i === currentHit ? "▸ " : ""}${hits.strings[hits.name[i] ?? 0] ?? ""}`,
    track: session.trackName(trace.tracks[hits.track[i] ?? 0] ?? { pid: 0, tid: 0 }),
    begin: hits.begin[i] ?? 0,
    duration: hits.duration[i] ?? 0,
    go: () => session.goToHit(i),
  }));
  const cut = hits.total > hits.length ? `; the first ${formatCount(hits.length)} are listed` : "";
  const caption = `${formatCount(hits.total)} matches in the whole trace${cut}`;
  return (
    <div>
      {hits.length > PAGE ? (
        <p class="tv-pages">
          <button type="button" class="button ghost" disabled={from === 0} onClick={() => setFrom(Math.max(0, from - PAGE))}>
            Earlier
          </button>
          <span class="number">
            {formatCount(from + 1)} to {formatCount(from + rows.length)}
          </span>
          <button type="button" class="button ghost" disabled={from + PAGE >= hits.length} onClick={() => setFrom(from + PAGE)}>
            Later
          </button>
        </p>
      ) : null}
      <EventTable rows={rows} total={from + rows.length} caption={caption} precision={1000} />
    </div>
  );
}
