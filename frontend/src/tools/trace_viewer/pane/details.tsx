// Details of the selection: one event with all its arguments, or totals of many events per name.
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatPercent, formatTime, plural } from "../../../base/format";
import { CopyButton } from "../../../widgets/content/copy_button";
import { InEditor } from "../../../widgets/content/in_editor";
import { frame } from "../../../timeline/state/navigation";
import { mergedCount, sameEvent, selfTimeOf, summarise } from "../../../timeline/data/selection";
import type { SelectedEvent } from "../../../timeline/data/selection";
import { instant } from "../../../timeline/data/ticks";
import { sectionTitle, trackKey } from "../../../timeline/data/trace";
import type { Trace } from "../../../timeline/data/trace";
import { explain } from "../../../page/failure/explain";
import { slackText } from "../session/binding";
import type { PairState } from "../pair/counterpart";
import type { Session } from "../session/session";
import type { AreaSums, EventDetails } from "../session/source";
import { SummaryTable } from "./summary_table";

/** Longer values are collapsed. */
const LONG_VALUE = 1200;

export function Details({ session }: { session: Session }) {
  const { selection, trace } = session.timeline.state;
  const [only] = selection;
  if (!trace) return null;
  if (!only) {
    return (
      <p class="tv-hint">Select an event to see its name, time and arguments; drag a rectangle to select several. Press ? for all keys.</p>
    );
  }
  if (selection.length > 1) return <Many selection={selection} session={session} />;
  return only.name === null ? <Block block={only} session={session} /> : <One event={only} trace={trace} session={session} />;
}

/** A merged block: explanation, a button to zoom in, and its sums. */
function Block({ block, session }: { block: SelectedEvent; session: Session }) {
  const zoom = (): void => session.timeline.apply(frame({ begin: block.begin, end: block.begin + block.duration }));
  return (
    <div class="tv-many">
      <p>
        {formatCount(block.count)} neighbouring events, each shorter than a pixel, drawn as one block of {formatTime(block.duration)} in the
        colour of the name that fills most of it.{" "}
        <button type="button" class="button" onClick={zoom}>
          Zoom in (F)
        </button>
      </p>
      <Sums session={session} />
    </div>
  );
}

/** Several events: those of a rectangle are added up by the server, merged ones included. */
function Many({ selection, session }: { selection: readonly SelectedEvent[]; session: Session }) {
  const { area, trace, trackIndex } = session.timeline.state;
  const local = useMemo(
    () => (trace && area === null ? localSums(trace, trackIndex, selection) : null),
    [trace, trackIndex, area, selection],
  );
  if (local === null)
    return (
      <div class="tv-many">
        <Sums session={session} />
      </div>
    );
  const merged = mergedCount(selection);
  return (
    <div class="tv-many">
      <p>
        {formatCount(local.events)} events selected
        {merged > 0
          ? `, and ${formatCount(merged)} more in merged blocks, which the table does not include; drag a rectangle over them to add them up`
          : ""}
        .
      </p>
      <SummaryTable key="local" session={session} sums={local} />
    </div>
  );
}

/** The sums of a rectangle, once the server has answered. */
function Sums({ session }: { session: Session }) {
  const { sums, error } = session.about;
  const { area } = session.timeline.state;
  if (error !== null) return <p class="tv-bad">{explain(error, {}).title}</p>;
  if (sums === null || area === null) return <p class="dim">Adding up the events…</p>;
  return (
    <>
      <p>
        {plural(sums.events, "event")} of {plural(sums.names, "name")} on {plural(area.tracks.length, "track")} in{" "}
        {formatTime(area.window.end - area.window.begin)}; events that begin or end outside count whole.
      </p>
      <SummaryTable key="area" session={session} sums={sums} />
    </>
  );
}

function localSums(trace: Trace, trackIndex: ReadonlyMap<string, number>, selection: readonly SelectedEvent[]): AreaSums {
  const rows = summarise(selection, (event) => {
    const track = trackIndex.get(trackKey(event));
    return track === undefined ? null : selfTimeOf(trace, track, event);
  });
  const self = rows.reduce<number | null>((sum, row) => (sum === null || row.self === null ? null : sum + row.self), 0);
  return { events: rows.reduce((sum, row) => sum + row.count, 0), self, names: rows.length, rows };
}

interface OneProps {
  event: SelectedEvent;
  trace: Trace;
  session: Session;
}

function One({ event, trace, session }: OneProps) {
  const { details, error } = session.about;
  const track = trace.tracks[session.timeline.state.trackIndex.get(`${event.pid}.${event.tid}`) ?? -1];
  const precision = Math.max(event.duration / 1000, 1);
  const failure = error === null ? null : explain(error, {});
  return (
    <div class="tv-one">
      <table class="tv-properties">
        <tbody>
          <Property name="Name" value={details?.long_name ?? event.name ?? ""} />
          {details?.long_name && details.long_name !== event.name ? <Property name="Shown as" value={event.name ?? ""} /> : null}
          <Property name="Start" value={instant(event.begin, precision)} exact={`${event.begin} ps`} />
          <Property
            name="Duration"
            value={event.duration > 0 ? formatTime(event.duration) : "0 (an instant)"}
            exact={`${event.duration} ps`}
          />
          {session.binding.on ? <SlackOf session={session} /> : null}
          {session.pair === null ? null : <InBase event={event} pair={session.pair} />}
          {trace.originNs === null ? null : <Property name="Wall clock" value={wallClock(trace.originNs, event.begin)} />}
          <Property name="Section" value={track ? sectionTitle(trace, track.section) : (details?.section ?? String(event.pid))} />
          <Property name="Track" value={track?.name || details?.track || `thread ${event.tid}`} />
          {details?.group_name ? <Property name="Step or group" value={details.group_name} /> : null}
          {(details?.args ?? []).map((arg, i) => (
            <Property key={`${arg.key}.${i}`} name={arg.key} value={String(arg.value)} argument />
          ))}
        </tbody>
      </table>
      <aside class="tv-beside">
        {failure ? <p class="tv-bad">{failure.title}</p> : null}
        {details === null && failure === null ? <p class="dim">Reading the arguments…</p> : null}
        {details?.stack && details.stack.length > 0 ? <Stack frames={details.stack} /> : null}
        {details ? <Ancestors details={details} session={session} /> : null}
        {details ? <Flows session={session} /> : null}
      </aside>
    </div>
  );
}

/** How much longer the event may take before its step does. */
function SlackOf({ session }: { session: Session }) {
  const { slack, slackError } = session.binding;
  if (slackError !== null) return <Property name="Slack" value={explain(slackError, {}).title} />;
  if (slack === null) return <Property name="Slack" value="Looking for what waits for it…" />;
  return (
    <>
      <Property name="Slack" value={slackText(slack)} {...(slack.bound === "unknown" ? {} : { exact: `${slack.ps} ps` })} />
      {slack.path_ps > 0 ? <Property name="On the binding path" value={formatTime(slack.path_ps)} exact={`${slack.path_ps} ps`} /> : null}
    </>
  );
}

/** The counterpart in the base and the difference, or why there is none. */
function InBase({ event, pair }: { event: SelectedEvent; pair: PairState }) {
  const { counterpart, why } = pair;
  const known = counterpart !== null && sameEvent(counterpart.run, event) ? counterpart.base : null;
  if (known === null) return <Property name="In the base" value={why ?? "Searching…"} />;
  const delta = event.duration - known.duration;
  const percent = known.duration > 0 ? ` (${delta > 0 ? "+" : ""}${formatPercent((100 * delta) / known.duration)})` : "";
  return (
    <>
      {known.name === event.name ? null : <Property name="Name in the base" value={known.name ?? ""} />}
      <Property name="Duration in the base" value={formatTime(known.duration)} exact={`${known.duration} ps`} />
      <Property name="Difference" value={`${delta > 0 ? "+" : ""}${formatTime(delta)}${percent}`} exact={`${delta} ps`} />
    </>
  );
}

function wallClock(originNs: number, begin: number): string {
  return new Date(originNs / 1e6 + begin / 1e9).toISOString().replace("T", " ").replace("Z", " UTC");
}

interface FactProps {
  name: string;
  value: string;
  /** The exact value if the displayed one is rounded. */
  exact?: string;
  argument?: boolean;
}

/** One line: name, value, copy button. Long values are initially collapsed. */
function Property({ name, value, exact, argument = false }: FactProps) {
  const [open, setOpen] = useState(false);
  const long = value.length > LONG_VALUE && !open;
  return (
    <tr class={argument ? "tv-argument" : undefined}>
      <th scope="row">{name}</th>
      <td class="number" title={exact}>
        {long ? `${value.slice(0, LONG_VALUE)}… ` : value}
        {long ? (
          <button type="button" class="tv-link" onClick={() => setOpen(true)}>
            show all {formatCount(value.length)} letters
          </button>
        ) : null}
        {argument ? <InEditor place={value} /> : null}
      </td>
      <td class="tv-copy">
        <CopyButton text={() => exact ?? value} class="ghost" />
      </td>
    </tr>
  );
}

function Stack({ frames }: { frames: readonly string[] }) {
  return (
    <section>
      <h3>
        Stack, innermost last <CopyButton text={() => frames.join("\n")} class="ghost" />
      </h3>
      <ol class="tv-stack">
        {frames.map((frame, i) => (
          <li key={i}>
            {frame}
            <InEditor place={frame} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Ancestors({ details, session }: { details: EventDetails; session: Session }) {
  const list = details.ancestors ?? [];
  if (list.length === 0) return null;
  return (
    <section>
      <h3>Within</h3>
      <ul class="tv-links">
        {list.map((a) => (
          <li key={`${a.row}.${a.event}`}>
            <button
              type="button"
              class="tv-link"
              onClick={() => void session.selectByRef({ pid: details.pid, tid: details.tid, event: a.event }, "window")}
            >
              {a.name}
            </button>{" "}
            <span class="dim number">{formatTime(a.duration_ps)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Events linked by flows. */
function Flows({ session }: { session: Session }) {
  const { flows, selection } = session.timeline.state;
  const selectedEvent = selection[0];
  if (flows.length === 0 || !selectedEvent) return null;
  return (
    <section>
      <h3>Linked events</h3>
      {flows.map((flow) => (
        <ul key={flow.id} class="tv-links" aria-label={`Flow ${flow.category} ${flow.id}`}>
          {flow.ends.map((end) => (
            <li key={`${end.pid}.${end.tid}.${end.event}`}>
              {end.pid === selectedEvent.pid && end.tid === selectedEvent.tid && end.event === selectedEvent.event ? (
                <strong>{end.name} (this event)</strong>
              ) : (
                <button type="button" class="tv-link" onClick={() => session.goTo({ ...end, count: 1 })}>
                  {end.name}
                </button>
              )}{" "}
              <span class="dim">{session.trackName(end)}</span>
            </li>
          ))}
        </ul>
      ))}
    </section>
  );
}
