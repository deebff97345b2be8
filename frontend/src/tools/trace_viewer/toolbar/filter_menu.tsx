// Which processes and which kinds of flows are shown.
import { Popover } from "../../../widgets/overlay/popover";
import { sectionEvents, sectionTitle } from "../../../timeline/data/trace";
import { ALL_FLOWS } from "../../../timeline/layout/flows";
import { arrange, hideFlows } from "../../../timeline/state/commands";
import type { Session } from "../session/session";

function toggled<T>(set: ReadonlySet<T>, member: T): Set<T> {
  const copy = new Set(set);
  if (!copy.delete(member)) copy.add(member);
  return copy;
}

export function FilterMenu({ session }: { session: Session }) {
  const { trace, arrangement, hiddenFlows } = session.timeline.state;
  if (!trace || !arrangement) return null;
  const { hiddenSections } = arrangement;
  const out = hiddenSections.size + hiddenFlows.size;
  const sections = trace.sections.flatMap((section, i) => (sectionEvents(trace, section) > 0 ? [{ ...section, i }] : []));
  const show = (hidden: ReadonlySet<number>): void => session.timeline.apply(arrange({ ...arrangement, hiddenSections: hidden }));
  return (
    <Popover label={out > 0 ? `Show (${out} off) ▾` : "Show ▾"} title="Processes and flows to show" popup="dialog" boxClass="tv-menu-box">
      {() => (
        <div class="tv-filter" role="dialog" aria-label="Processes and flows">
          <fieldset>
            <legend>Processes</legend>
            {sections.map(({ pid, i }) => (
              <label key={pid}>
                <input type="checkbox" checked={!hiddenSections.has(pid)} onChange={() => show(toggled(hiddenSections, pid))} />
                {sectionTitle(trace, i)}
              </label>
            ))}
            <span class="tv-filter-all">
              <button type="button" class="button ghost" onClick={() => show(new Set())}>
                All
              </button>
              <button type="button" class="button ghost" onClick={() => show(new Set(sections.map(({ pid }) => pid)))}>
                None
              </button>
            </span>
          </fieldset>
          <fieldset>
            <legend>Flows of the selected event</legend>
            {[ALL_FLOWS, ...session.flowKinds].map((kind) => (
              <label key={kind}>
                <input
                  type="checkbox"
                  checked={!hiddenFlows.has(kind)}
                  disabled={kind !== ALL_FLOWS && hiddenFlows.has(ALL_FLOWS)}
                  onChange={() => session.timeline.apply(hideFlows(toggled(hiddenFlows, kind)))}
                />
                {kind === ALL_FLOWS ? "Draw flows" : kind || "other"}
              </label>
            ))}
            {session.flowKinds.size === 0 ? <p class="dim">Kinds are listed once an event with flows is selected.</p> : null}
          </fieldset>
        </div>
      )}
    </Popover>
  );
}
