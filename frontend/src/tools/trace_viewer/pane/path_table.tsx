// The binding path as a table: the parts that it consists of, and its pieces around the current one.
import type { Theme } from "../../../base/colour";
import { formatCount, formatPercent, formatTime, plural } from "../../../base/format";
import { explain } from "../../../page/failure/explain";
import { pieceEndingAfter, pieceOf } from "../../../timeline/data/binding_path";
import type { BindingPath, PieceIndex } from "../../../timeline/data/binding_path";
import { instant } from "../../../timeline/data/ticks";
import type { Session } from "../session/session";

/** Pieces that are listed. */
const MOST_ROWS = 200;
/** Listed before the current piece. */
const BEFORE = 3;

export function PathTable({ session }: { session: Session }) {
  const { binding } = session;
  const { path, piece, scale } = session.timeline.state;
  if (!binding.on) return <p class="tv-hint">Press B to show the binding path: what determines the length of each step.</p>;
  if (binding.error !== null) {
    const { title, why } = explain(binding.error, {});
    return (
      <p class="tv-hint">
        {title}. {why}
      </p>
    );
  }
  if (path === null) return <p class="tv-hint">Reading the binding path…</p>;
  const first = piece >= 0 ? Math.max(piece - BEFORE, 0) : pieceEndingAfter(path, scale.begin);
  const end = Math.min(first + MOST_ROWS, path.length);
  const rows = Array.from({ length: Math.max(end - first, 0) }, (_, i) => first + i).filter(
    (i) => i <= piece || pieceOf(path, i).begin < scale.end,
  );
  return (
    <>
      <p class="tv-gap-bar">
        <select
          class="field"
          aria-label="Device of the path"
          value={path.device}
          onChange={(event) => binding.choose(event.currentTarget.value)}
        >
          {path.devices.map((device) => (
            <option key={device} value={device}>
              {device}
            </option>
          ))}
        </select>
        <span aria-live="polite">
          {binding.sentence || (path.length === 0 ? "No step is in the window." : "N (or ]) goes to the next piece, Shift+N (or [) back.")}
        </span>
      </p>
      <Parts path={path} theme={session.timeline.painter.palette.theme} />
      {rows.length > 0 ? (
        <table class="tv-table tv-gaps" aria-label="Pieces of the binding path">
          <thead>
            <tr>
              <th scope="col" class="tv-text">
                What
              </th>
              <th scope="col" class="tv-text">
                Where
              </th>
              <th scope="col">Begin</th>
              <th scope="col">Time</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((i) => (
              <Row key={path.begin[i]} path={path} piece={i} session={session} current={i === piece} />
            ))}
          </tbody>
          {end < path.length && rows.length === MOST_ROWS ? (
            <tfoot>
              <tr>
                <td colSpan={4}>{formatCount(path.length - end)} more</td>
              </tr>
            </tfoot>
          ) : null}
        </table>
      ) : null}
    </>
  );
}

/** The legend: the parts by time, in their colours. */
function Parts({ path, theme }: { path: BindingPath; theme: Theme }) {
  const whole = path.parts.reduce((sum, { ps }) => sum + ps, 0);
  const parts = [...path.parts].sort((a, b) => b.ps - a.ps);
  return (
    <p class="tv-parts" aria-label="Parts of the binding path">
      {parts.map(({ id, name, ps, fill, striped }) => (
        <span key={id} title={`${ps} ps`}>
          <i class={striped ? "tv-striped" : ""} style={{ backgroundColor: fill[theme] }} />
          {name} {formatTime(ps)} ({formatPercent((100 * ps) / whole)})
        </span>
      ))}
      <span class="dim">
        of {formatTime(whole)} in {plural(path.steps.length, "step")} around the window
      </span>
    </p>
  );
}

function Row({ path, piece, session, current }: { path: BindingPath; piece: PieceIndex; session: Session; current: boolean }) {
  const { begin, duration, part, where, known } = pieceOf(path, piece);
  const go = (): void => session.binding.go(piece);
  return (
    <tr aria-current={current ? "true" : undefined} onClick={go}>
      <td class="tv-text">
        <button type="button" class="tv-link" onClick={go}>
          {part}
        </button>
      </td>
      <td class="tv-text">{known ? where : <span class="dim">{where}</span>}</td>
      <td title={`${begin} ps`}>{instant(begin, Math.max(duration / 1000, 1))}</td>
      <td title={`${duration} ps`}>{formatTime(duration)}</td>
    </tr>
  );
}
