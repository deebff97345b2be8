// Search in the whole trace: text or regular expression, number of matches, previous and next.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../../../base/format";
import type { Session } from "../session/session";
import type { Query } from "../session/source";

/** Delay after typing before the search starts; Enter starts it at once and goes to the first match. */
const DEBOUNCE_MS = 400;

export const SEARCH_ID = "tv-search";

/** The status text: position and number of hits, or an error. */
function hitStatus(session: Session): string {
  const { hits, currentHit, searching, searchError, query } = session;
  if (query.text === "") return "";
  if (searching) return "searching…";
  if (searchError !== null) return searchError instanceof Error ? searchError.message : "search failed";
  if (hits === null || hits.total === 0) return "no match";
  const total = formatCount(hits.total);
  return currentHit < 0 ? `${total} ${hits.total === 1 ? "match" : "matches"}` : `${formatCount(currentHit + 1)} of ${total}`;
}

export function SearchBox({ session }: { session: Session }) {
  const [text, setText] = useState(session.query.text);
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const ask = (patch: Partial<Query>): void => {
    window.clearTimeout(timer.current);
    session.search({ ...session.query, ...patch });
  };
  const typed = (value: string): void => {
    setText(value);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => ask({ text: value }), DEBOUNCE_MS);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      typed("");
      ask({ text: "" });
      session.timeline.elements.stage.focus();
    } else if (event.key === "Enter") {
      if (text !== session.query.text) ask({ text });
      session.nextHit(event.shiftKey ? -1 : 1);
    }
  };
  const toggle = (key: "whole" | "regex" | "matchCase" | "args", label: string, tip: string) => (
    <button
      type="button"
      class="button ghost tv-option"
      aria-pressed={session.query[key]}
      data-tip={tip}
      aria-label={tip}
      onClick={() => ask({ [key]: !session.query[key], ...(key === "whole" ? { regex: false } : key === "regex" ? { whole: false } : {}) })}
    >
      {label}
    </button>
  );
  const hasHits = (session.hits?.length ?? 0) > 0;
  return (
    <div class="tv-search" role="search">
      <input
        id={SEARCH_ID}
        class="field"
        type="search"
        placeholder="Find (/)"
        aria-label="Find events by name"
        value={text}
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={pressed}
      />
      {toggle("whole", "=", "The whole name, not a part of it")}
      {toggle("regex", ".*", "Regular expression")}
      {toggle("matchCase", "Aa", "Match upper and lower case")}
      {toggle("args", "{ }", "Search arguments as well")}
      <span class={session.searchError === null ? "tv-hits number" : "tv-hits tv-bad"} aria-live="polite">
        {hitStatus(session)}
      </span>
      <button
        type="button"
        class="button ghost icon"
        disabled={!hasHits}
        aria-label="Previous match (Shift+Enter)"
        data-tip="Previous match (Shift+Enter)"
        onClick={() => session.nextHit(-1)}
      >
        ↑
      </button>
      <button
        type="button"
        class="button ghost icon"
        disabled={!hasHits}
        aria-label="Next match (Enter)"
        data-tip="Next match (Enter)"
        onClick={() => session.nextHit(1)}
      >
        ↓
      </button>
    </div>
  );
}
