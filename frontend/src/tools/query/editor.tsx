// The editor of a statement: a text area, the runs that it reads, run and cancel.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { BaseChoice } from "../../page/page";
import { keyName } from "../../base/keys";
import { ALL_RUNS, WITH_BASE } from "./model";

interface Props {
  text: string;
  /** The text area, which the page writes into. */
  area: { current: HTMLTextAreaElement | null };
  runs: string | null;
  run: string;
  base: BaseChoice;
  running: boolean;
  onText: (text: string) => void;
  onRuns: (choice: string | null) => void;
  onRun: () => void;
  onCancel: () => void;
  /** Further buttons. */
  children?: ComponentChildren;
}

export function Editor({ text, area, runs, run, base, running, onText, onRuns, onRun, onCancel, children }: Props) {
  return (
    <div class="query-editor">
      <textarea
        ref={area}
        class="query-text"
        aria-label="SQL"
        aria-keyshortcuts="Control+Enter"
        placeholder={"SELECT name, sum(duration_ps) AS total_ps\nFROM events\nGROUP BY name\nORDER BY total_ps DESC LIMIT 20"}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (keyName(event) !== "Ctrl+Enter") return;
          event.preventDefault();
          onRun();
        }}
      />
      <div class="query-tools" role="toolbar" aria-label="Query">
        <button type="button" class="button primary" disabled={text.trim() === ""} data-tip="Ctrl+Enter" onClick={onRun}>
          Run
        </button>
        <button type="button" class="button" disabled={!running} onClick={onCancel}>
          Cancel
        </button>
        <RunsChoice runs={runs} run={run} base={base} onRuns={onRuns} />
        {children}
      </div>
    </div>
  );
}

const PATTERN = "pattern";

/** The shown run, with its base, all runs, or those whose names match a pattern. */
function RunsChoice({ runs, run, base, onRuns }: Pick<Props, "runs" | "run" | "base" | "onRuns">) {
  const compared = base.run !== null && base.run !== run;
  const isPattern = runs !== null && runs !== ALL_RUNS && runs !== WITH_BASE;
  const [pattern, setPattern] = useState(isPattern ? runs : "");
  useEffect(() => {
    if (isPattern) setPattern(runs);
  }, [runs]);
  return (
    <>
      <label class="query-runs">
        Runs
        <select
          class="field"
          value={isPattern ? PATTERN : (runs ?? "")}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            onRuns(chosen === PATTERN ? pattern || "*/*" : chosen || null);
          }}
        >
          <option value="">This run</option>
          {compared || runs === WITH_BASE ? <option value={WITH_BASE}>This run and its base</option> : null}
          <option value={ALL_RUNS}>All runs</option>
          <option value={PATTERN}>Matching names</option>
        </select>
      </label>
      {isPattern ? (
        <input
          class="field query-pattern"
          type="text"
          aria-label="Pattern of run names"
          data-tip="* stands for any text, ? for one character."
          spellcheck={false}
          value={pattern}
          onInput={(event) => setPattern(event.currentTarget.value)}
          onChange={() => onRuns(pattern || "*/*")}
        />
      ) : null}
    </>
  );
}
