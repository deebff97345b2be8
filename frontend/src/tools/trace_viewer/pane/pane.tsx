// The resizable pane below the timeline: selection, matches or the table of visible events.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const KEY = "profile-timeline-pane";
const LEAST = 60;
const START = 150;
/** Shares of the page: what the content may take by itself, and what the user may give it. */
const OWN = 0.4;
const MOST = 0.75;

/** The height that the user gave the pane; null before. */
function readHeight(): number | null {
  try {
    const value = Number(localStorage.getItem(KEY));
    return Number.isFinite(value) && value >= LEAST ? value : null;
  } catch {
    return null; // storage may be disabled
  }
}

function saveHeight(height: number): void {
  try {
    localStorage.setItem(KEY, String(Math.round(height)));
  } catch {
    // without storage the height lasts until the page is closed
  }
}

interface PaneTab {
  readonly id: string;
  readonly label: string;
  readonly content: () => ComponentChildren;
}

interface Props {
  tabs: readonly PaneTab[];
  active: string;
  onTab: (id: string) => void;
  onClose: () => void;
}

export function Pane({ tabs, active, onTab, onClose }: Props) {
  const [given, setGiven] = useState(readHeight);
  const [grown, setGrown] = useState(START);
  const height = given ?? grown;
  const box = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const page = (): number => box.current?.parentElement?.clientHeight ?? 800;
  useLayoutEffect(() => {
    if (given !== null || !box.current || !body.current) return;
    // grows with what it shows, and stays so: rows above do not jump at every selection
    const wanted = box.current.offsetHeight - body.current.clientHeight + body.current.scrollHeight;
    const next = Math.min(wanted, page() * OWN);
    if (next > grown + 1) setGrown(next);
  });
  const resize = (next: number): void => {
    const fitting = Math.min(Math.max(next, LEAST), page() * MOST);
    setGiven(fitting);
    saveHeight(fitting);
  };
  const drag = (down: PointerEvent): void => {
    const handle = down.currentTarget as HTMLElement;
    handle.setPointerCapture(down.pointerId);
    const start = box.current?.offsetHeight ?? height;
    const move = (event: PointerEvent): void => resize(start + down.clientY - event.clientY);
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
    down.preventDefault();
  };
  const key = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowUp" ? 24 : event.key === "ArrowDown" ? -24 : 0;
    if (step === 0) return;
    resize(height + step);
    event.preventDefault();
  };
  const shown = tabs.find((tab) => tab.id === active) ?? tabs[0];
  return (
    <div class="tv-pane" ref={box} style={{ height: `${height}px` }}>
      <div
        class="tv-pane-grip"
        role="separator"
        aria-orientation="horizontal"
        aria-label="Height of this pane"
        aria-valuenow={Math.round(height)}
        aria-valuemin={LEAST}
        tabIndex={0}
        onPointerDown={drag}
        onKeyDown={key}
      />
      <div class="tv-tabs" role="tablist" aria-label="Below the timeline">
        {tabs.map((tab) => (
          <button key={tab.id} type="button" role="tab" aria-selected={tab === shown} class="tv-tab" onClick={() => onTab(tab.id)}>
            {tab.label}
          </button>
        ))}
        <button
          type="button"
          class="button ghost icon tv-pane-close"
          aria-label="Close this pane (Esc)"
          data-tip="Close (Esc)"
          onClick={onClose}
        >
          ×
        </button>
      </div>
      <div class="tv-pane-body" ref={body} role="tabpanel" aria-label={shown?.label} tabIndex={0}>
        {shown?.content()}
      </div>
    </div>
  );
}
