// The text of a module with its search.
import { useMemo, useState } from "preact/hooks";
import { plural } from "../../../base/format";
import type { UrlState } from "../../../page/page";
import { useKey } from "../../../page/use_key";
import { findLines } from "./hlo_text";
import type { HloText } from "./hlo_text";
import { Listing } from "./listing";

interface Props {
  hlo: HloText;
  state: UrlState;
  /** Line of the selected definition, -1 for none. */
  chosen: number;
  /** Whether the address names something; if not, a search in it starts at its first match. */
  named: boolean;
  onGo: (name: string) => void;
}

export function TextPane({ hlo, state, chosen, named, onGo }: Props) {
  const query = useKey(state, "q") ?? "";
  const matches = useMemo(() => findLines(hlo.lines, query), [hlo, query]);
  const foundSet = useMemo(() => new Set(matches), [matches]);
  const [hit, setHit] = useState({ at: query.trim() && !named ? 0 : -1, chosen });
  // Selecting something ends the walk through the matches.
  const matchIndex = hit.chosen === chosen ? hit.at : -1;
  const scrollTarget = useMemo(() => ({ line: matchIndex >= 0 ? (matches[matchIndex] ?? chosen) : chosen }), [chosen, matchIndex, matches]);
  const step = (by: number): void => {
    if (matches.length) setHit({ at: (matchIndex + by + matches.length) % matches.length, chosen });
  };
  return (
    <section class="graph-text" aria-label="Text of the module">
      <div class="graph-search">
        <input
          class="field"
          type="search"
          aria-label="Search the text"
          placeholder="Search the text"
          value={query}
          onInput={(event) => {
            state.set({ q: event.currentTarget.value || null }, "replace");
            setHit({ at: event.currentTarget.value ? 0 : -1, chosen });
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
          }}
        />
        <span class="dim number" aria-live="polite">
          {query.trim()
            ? matches.length
              ? `${matchIndex >= 0 ? `${matchIndex + 1} of ` : ""}${plural(matches.length, "line")}`
              : "no match"
            : plural(hlo.lines.length, "line")}
        </span>
        <button type="button" class="button ghost" disabled={matches.length === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <button type="button" class="button ghost" disabled={matches.length === 0} onClick={() => step(1)}>
          Next
        </button>
      </div>
      <Listing
        hlo={hlo}
        chosen={chosen}
        scrollTarget={scrollTarget}
        found={foundSet}
        current={matches[matchIndex] ?? -1}
        onGo={(name) => {
          setHit({ at: -1, chosen });
          onGo(name);
        }}
      />
    </section>
  );
}
