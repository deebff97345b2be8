// The menu of a track or section: pin, hide, move, show.
import { useEffect, useRef } from "preact/hooks";
import { moveIndex } from "../../../base/keys";
import { arrange } from "../../../timeline/state/commands";
import { orderedTracks } from "../../../timeline/layout/layout";
import type { Arrangement } from "../../../timeline/layout/layout";
import { trackKey } from "../../../timeline/data/trace";
import type { Trace } from "../../../timeline/data/trace";
import type { MenuTarget, Session } from "../session/session";

interface Entry {
  readonly label: string;
  readonly run: () => Arrangement;
}

/** The arrangement with a track moved by one position within its section, skipping tracks that are hidden, pinned or folded away. */
export function moved(trace: Trace, arrangement: Arrangement, key: string, step: 1 | -1): Arrangement {
  const index = trace.tracks.findIndex((track) => trackKey(track) === key);
  const track = trace.tracks[index];
  if (!track) return arrangement;
  const keys = orderedTracks(trace, track.section, arrangement).flatMap((t) => {
    const other = trace.tracks[t];
    return other ? [trackKey(other)] : [];
  });
  const empty = new Set(arrangement.showEmpty ? [] : trace.tracks.filter(({ events }) => events === 0).map(trackKey));
  const seen = (k: string): boolean => !arrangement.hiddenTracks.has(k) && !arrangement.pinnedTracks.includes(k) && !empty.has(k);
  const from = keys.indexOf(key);
  let to = from + step;
  while (to >= 0 && to < keys.length && !seen(keys[to] ?? "")) to += step;
  if (to < 0 || to >= keys.length) return arrangement;
  keys.splice(from, 1);
  keys.splice(to, 0, key);
  return { ...arrangement, order: new Map(arrangement.order).set(track.pid, keys) };
}

function trackEntries(trace: Trace, a: Arrangement, key: string): Entry[] {
  const pinned = a.pinnedTracks.includes(key);
  const place = a.pinnedTracks.filter((k) => k !== key);
  const track = trace.tracks.find((t) => trackKey(t) === key);
  const others = trace.tracks.filter((t) => t.pid === track?.pid && trackKey(t) !== key).map(trackKey);
  return [
    { label: pinned ? "Unpin" : "Pin to the top", run: () => ({ ...a, pinnedTracks: pinned ? place : [...place, key] }) },
    { label: "Move up", run: () => moved(trace, a, key, -1) },
    { label: "Move down", run: () => moved(trace, a, key, 1) },
    { label: "Hide this track", run: () => ({ ...a, pinnedTracks: place, hiddenTracks: new Set([...a.hiddenTracks, key]) }) },
    { label: "Hide the other tracks of this section", run: () => ({ ...a, hiddenTracks: new Set([...a.hiddenTracks, ...others]) }) },
  ];
}

function showEntry(a: Arrangement, keys: readonly string[]): Entry[] {
  const hidden = keys.filter((k) => a.hiddenTracks.has(k));
  if (hidden.length === 0) return [];
  const left = new Set([...a.hiddenTracks].filter((k) => !hidden.includes(k)));
  return [{ label: `Show ${hidden.length} hidden ${hidden.length === 1 ? "track" : "tracks"}`, run: () => ({ ...a, hiddenTracks: left }) }];
}

/** The items of the menu of a track or section. */
export function menuEntries(trace: Trace, arrangement: Arrangement, target: MenuTarget["target"]): Entry[] {
  const pid = "section" in target ? target.section : trace.tracks.find((t) => trackKey(t) === target.track)?.pid;
  const keys = trace.tracks.filter((t) => t.pid === pid).map(trackKey);
  const show = showEntry(arrangement, keys);
  return "track" in target ? [...trackEntries(trace, arrangement, target.track), ...show] : show;
}

export function TrackMenu({ session, menu }: { session: Session; menu: MenuTarget }) {
  const box = useRef<HTMLDivElement>(null);
  const { trace, arrangement } = session.timeline.state;
  const close = (): void => session.setMenu(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    place(element, menu.anchor);
    element.querySelector("button")?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !element.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [menu]);
  if (!trace || !arrangement) return null;
  const entries = menuEntries(trace, arrangement, menu.target);
  const key = (event: KeyboardEvent): void => {
    const buttons = [...(box.current?.querySelectorAll("button") ?? [])];
    const next = moveIndex(event.key, buttons.indexOf(document.activeElement as HTMLButtonElement), buttons.length);
    if (event.key === "Escape" || event.key === "Tab") {
      close();
      menu.anchor.focus();
    } else if (next !== null) buttons[next]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="tv-menu tv-menu-floating" role="menu" ref={box} onKeyDown={key}>
      {entries.map(({ label, run }) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          class="button ghost"
          onClick={() => {
            close();
            session.timeline.apply(arrange(run()));
            session.timeline.elements.stage.focus();
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Positions the menu below the anchor, or above it if there is no room. */
function place(element: HTMLElement, anchor: HTMLElement): void {
  const anchorBox = anchor.getBoundingClientRect();
  const below = anchorBox.bottom + element.offsetHeight <= innerHeight;
  element.style.left = `${Math.max(0, Math.min(anchorBox.left, innerWidth - element.offsetWidth))}px`;
  element.style.top = `${below ? anchorBox.bottom : Math.max(0, anchorBox.top - element.offsetHeight)}px`;
}
