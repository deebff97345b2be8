// Chooses the run: newest first, with a search field when there are many.
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunSummary } from "../api/types";
import { cutMiddle, formatBytes, formatDate, plural, sessionTime } from "../base/format";
import { moveIndex } from "../base/keys";
import { Popover } from "../widgets/popover";
import { Icon } from "./icons";
import { newestFirst, runTime } from "./view";

const SEARCH_FROM = 11;

interface Props {
  runs: readonly RunSummary[];
  current: string | null;
  /** Device types of runs that were opened already. */
  devices: ReadonlyMap<string, readonly string[]>;
  onChoose: (run: string) => void;
}

export function SessionPicker({ runs, current, devices, onChoose }: Props) {
  const chosen = runs.find((r) => r.run === current);
  const label = (
    <>
      <span class="picker-label">
        <span class="picker-main">{chosen?.session ?? current ?? "No session"}</span>
        {chosen ? <PickerFacts run={chosen} devices={devices.get(chosen.run)} /> : null}
        {current !== null && !chosen ? <span class="picker-sub">not found</span> : null}
      </span>
      <Icon name="down" />
    </>
  );
  return (
    <Popover label={label} buttonClass="picker" boxClass="sessions" popup="listbox" disabled={runs.length === 0} {...(current !== null && current.length > 48 ? { title: current } : {})}>
      {(close) => (
        <SessionList
          runs={runs}
          current={current}
          devices={devices}
          onChoose={(run) => {
            close();
            onChoose(run);
          }}
        />
      )}
    </Popover>
  );
}

/** A fact breaks between its neighbours, not inside. */
const unbroken = (text: string): string => text.replace(/ (?!·)/g, "\u00a0");

/** Below the name: where it is, its time unless the name tells it, and the rest on one line. */
function PickerFacts({ run, devices }: { run: RunSummary; devices: readonly string[] | undefined }) {
  const place = run.run.slice(0, -run.session.length).replace(/\/$/, "");
  const named = sessionTime(run.session) !== null;
  const lines = [place ? `in ${cutMiddle(place, 64)}` : "", facts(run, devices).slice(named ? 1 : 0).map(unbroken).join(" · ")];
  return (
    <>
      {lines.filter(Boolean).map((line) => (
        <span key={line} class="picker-sub">{line}</span>
      ))}
    </>
  );
}

/** What tells one session from another: the time; hosts and size; the device. */
function facts(run: RunSummary, devices: readonly string[] | undefined): string[] {
  const size = run.hosts ? `${plural(run.hosts, "host")} · ${formatBytes(run.bytes)}` : "empty";
  const time = runTime(run);
  return [...(time > 0 ? [formatDate(time)] : []), size, ...(devices?.length ? [devices.join(", ")] : [])];
}

export function describe(run: RunSummary, devices: readonly string[] | undefined): string {
  return facts(run, devices).join(" · ");
}

function SessionList({ runs, current, devices, onChoose }: Props) {
  const [query, setQuery] = useState("");
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = newestFirst(runs).filter((r) => {
    const text = `${r.run} ${describe(r, devices.get(r.run))}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
  const [active, setActive] = useState(() => Math.max(0, newestFirst(runs).findIndex((r) => r.run === current)));
  const at = Math.min(active, shown.length - 1);
  const box = useRef<HTMLDivElement>(null);
  const searching = runs.length >= SEARCH_FROM;

  useEffect(() => {
    (searching ? box.current?.querySelector("input") : box.current)?.focus();
  }, []);
  useEffect(() => {
    box.current?.querySelector('[data-active="true"]')?.scrollIntoView?.({ block: "nearest" });
  }, [at]);

  const onKey = (event: KeyboardEvent): void => {
    const chosen = shown[at];
    if (event.key === "Enter" && chosen) {
      event.preventDefault();
      onChoose(chosen.run);
      return;
    }
    if (event.target instanceof HTMLInputElement && (event.key === "Home" || event.key === "End")) return;
    const next = moveIndex(event.key, at, shown.length);
    if (next === null) return;
    event.preventDefault();
    setActive(next);
  };

  const activeId = shown.length ? `session-${at}` : undefined;
  return (
    <div ref={box} class="session-list" tabIndex={searching ? -1 : 0} role={searching ? undefined : "listbox"} aria-label="Sessions" aria-activedescendant={searching ? undefined : activeId} onKeyDown={onKey}>
      {searching ? (
        <input
          class="field wide"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="session-options"
          aria-activedescendant={activeId}
          placeholder={`Search ${plural(runs.length, "session")}`}
          aria-label="Search sessions"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setActive(0);
          }}
        />
      ) : null}
      <ul id="session-options" role={searching ? "listbox" : "presentation"} aria-label="Sessions">
        {shown.map((run, i) => (
          <li key={run.run} id={`session-${i}`} role="option" class="option" data-active={i === at} aria-selected={run.run === current} onClick={() => onChoose(run.run)}>
            <span class="option-main">{run.run}</span>
            <span class="option-sub number">
              {describe(run, devices.get(run.run))}
              {run.problems.length ? <span class="warn-mark"> · {plural(run.problems.length, "problem")}</span> : null}
            </span>
          </li>
        ))}
      </ul>
      {shown.length === 0 ? <p class="dim">No session matches.</p> : null}
    </div>
  );
}
