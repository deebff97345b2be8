// The longest gaps of a device: when, how long, and what the host did meanwhile.
import { useEffect, useRef } from "preact/hooks";
import { formatPercent, formatTime } from "../../../base/format";
import { explain } from "../../../page/failure/explain";
import { instant } from "../../../timeline/data/ticks";
import { ALL, causeOf, deviceOf } from "../session/gaps";
import type { Session } from "../session/session";
import type { Gap } from "../session/source";

/** Rows that are listed of all devices together. */
const MOST_ROWS = 200;

export function GapTable({ session }: { session: Session }) {
  const { gaps } = session;
  if (gaps.error !== null) {
    const { title, why } = explain(gaps.error, {});
    return (
      <p class="tv-hint">
        {title}. {why}
      </p>
    );
  }
  if (gaps.list === null) return <p class="tv-hint">Looking for gaps…</p>;
  const shown = gaps.shown.slice(0, MOST_ROWS);
  const steps = shown.some((gap) => gap.steps !== "");
  return (
    <>
      <p class="tv-gap-bar">
        <select class="field" aria-label="Device" value={gaps.device} onChange={(event) => gaps.choose(event.currentTarget.value)}>
          {gaps.devices.map((device) => (
            <option key={device} value={device}>
              {device}
            </option>
          ))}
          {gaps.devices.length > 1 ? <option value={ALL}>All devices</option> : null}
        </select>
        <span aria-live="polite">{gaps.sentence || "The longest times without a running op. G goes to the next one, Shift+G back."}</span>
      </p>
      <table class="tv-table tv-gaps" aria-label="Largest gaps">
        <thead>
          <tr>
            <th scope="col">Gap</th>
            <th scope="col" class="tv-text">
              Host call
            </th>
            <th scope="col" class="tv-text">
              Device
            </th>
            {["Begin", "Length", "Of the recording", ...(steps ? ["Of the steps"] : [])].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((gap, i) => (
            <Row key={`${gap.host} ${gap.device} ${gap.rank}`} gap={gap} number={i + 1} steps={steps} session={session} />
          ))}
        </tbody>
      </table>
    </>
  );
}

interface RowProps {
  gap: Gap;
  number: number;
  /** Whether there is a column of steps. */
  steps: boolean;
  session: Session;
}

function Row({ gap, number, steps, session }: RowProps) {
  const { gaps } = session;
  const current = gaps.current === gap;
  const section = session.timeline.state.trace?.sections.find(({ pid }) => pid === gap.pid);
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (current) row.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const show = (): void => gaps.show(gap);
  return (
    <tr ref={row} aria-current={current ? "true" : undefined} onClick={show}>
      <td>
        <button type="button" class="tv-link" aria-label={`Show gap ${number}`} onClick={show}>
          {number}
        </button>
      </td>
      <td class="tv-text" title={gap.event && gap.event !== gap.call ? `Deepest event: ${gap.event}` : undefined}>
        {gap.event || gap.partial_call ? (
          <button
            type="button"
            class="tv-link"
            onClick={(event) => {
              event.stopPropagation();
              void session.goUnder(gap);
            }}
          >
            {gap.call || causeOf(gap)}
          </button>
        ) : (
          <span class="dim">{causeOf(gap)}</span>
        )}
      </td>
      <td class="tv-text">
        {deviceOf(gap, gaps.list ?? [])}
        {section && section.title !== section.name ? <span class="dim"> {section.title}</span> : null}
      </td>
      <td title={`${gap.begin_ps} ps`}>{instant(gap.begin_ps, Math.max(gap.duration_ps / 1000, 1))}</td>
      <td title={`${gap.duration_ps} ps`}>{formatTime(gap.duration_ps)}</td>
      <td>{formatPercent(gap.percent)}</td>
      {steps ? <td>{gap.steps && gap.steps_percent !== null ? `${formatPercent(gap.steps_percent)} of ${gap.steps}` : "-"}</td> : null}
    </tr>
  );
}
