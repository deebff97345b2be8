// Query: SQL over the tables of one run or several, with its schema, examples, a chart, and files of the result.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { makeQueryApi } from "../../api/query";
import type { QueryAbout, QueryApi, QueryExample, QueryFailure } from "../../api/query";
import { plural } from "../../base/format";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { Popover } from "../../widgets/overlay/popover";
import { Loading } from "../../widgets/status/loading";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { Editor } from "./editor";
import { Examples } from "./examples";
import { MOST_IN_ADDRESS, choiceFor, excerptOf, offsetOf, placeOf, runsOf } from "./model";
import { QueryResult } from "./result";
import { Schema } from "./schema";
import { useQuery } from "./use_query";
import type { Progress, Runner } from "./use_query";
import "./page.css";

/** In a window up to this width the schema is below the answer (page.css), and hidden at first. */
const NARROW_PX = 900;
/** Pause in typing after which the address has the text. */
const KEEP_MS = 500;

/** The statement of this tab, for the next visit of the page: another run or tool removes it from the address. */
let draft = "";

function QueryPage(page: PageProps) {
  const api = useMemo(() => makeQueryApi(page.client), [page.client]);
  const about = useLoad("about", (signal) => api.about({ signal }));
  if (about.data === null) return <Pending answer={about} page={page} what="Reading the tables" rows={12} />;
  if (about.data.missing !== null)
    return (
      <Panel
        tone="empty"
        title="SQL is not installed"
        why={about.data.missing}
        todo={["Install it where TensorBoard runs, then start TensorBoard again."]}
      />
    );
  return <Content page={page} api={api} about={about.data} />;
}

function Content({ page, api, about }: { page: PageProps; api: QueryApi; about: QueryAbout }) {
  const { run, base, state } = page;
  const area = useRef<HTMLTextAreaElement>(null);
  const linked = useKey(state, "sql");
  const runs = useKey(state, "runs");
  const [text, setText] = useState(linked ?? draft);
  const [listed, setListed] = useState(() => window.innerWidth > NARROW_PX);
  const runner = useQuery(api);
  const { progress } = runner;
  const shown = useRef<string | null>(null);

  const write = (value: string): void => {
    draft = value;
    setText(value);
  };
  const keep = (value: string, ran: boolean, mode: "push" | "replace"): void => {
    shown.current = value.length <= MOST_IN_ADDRESS ? value : null;
    state.set({ sql: shown.current || null, ran: ran && shown.current ? "1" : null }, mode);
  };
  const start = (value: string, choice: string | null, against = base.run): void => {
    if (value.trim() !== "") runner.run({ statement: value, runs: runsOf(choice, run, against) });
  };
  const execute = (value: string): void => {
    write(value);
    keep(value, true, "push");
    start(value, runs);
  };
  const choose = ({ sql, over }: QueryExample): void => {
    const wanted = choiceFor(over, runs, base);
    write(sql);
    keep(sql, true, "push");
    if (wanted.base !== base.run) base.choose(wanted.base);
    state.set({ runs: wanted.runs }, "replace");
    start(sql, wanted.runs, wanted.base);
    area.current?.focus();
  };

  // A link, and the back button, show the statement of the address, with its result if it had one.
  useEffect(() => {
    if (linked === shown.current) return;
    shown.current = linked;
    if (linked !== null) write(linked);
    if (linked !== null && state.get("ran") === "1") start(linked, state.get("runs"));
    else runner.clear();
  }, [linked]);
  // What was typed is in the address soon, so that a reload or a copied link has it.
  useEffect(() => {
    if (text === (shown.current ?? "")) return undefined;
    // The statement that was run keeps its entry in the history.
    const mode = state.get("ran") === "1" ? "push" : "replace";
    const timer = setTimeout(() => {
      if (text !== shown.current) keep(text, false, mode); // it may have been run meanwhile
    }, KEEP_MS);
    return () => clearTimeout(timer);
  }, [text]);

  const insert = (name: string): void => {
    const field = area.current;
    if (!field) return;
    field.focus();
    field.setRangeText(name, field.selectionStart, field.selectionEnd, "end");
    write(field.value);
  };
  const goTo = (offset: number): void => {
    area.current?.focus();
    area.current?.setSelectionRange(offset, offset);
  };
  return (
    <div class={listed ? "query" : "query wide"}>
      <div class="query-main">
        <Editor
          text={text}
          area={area}
          runs={runs}
          run={run}
          base={base}
          running={progress.phase === "running"}
          onText={write}
          onRuns={(choice) => state.set({ runs: choice }, "replace")}
          onRun={() => execute(area.current?.value ?? text)}
          onCancel={runner.cancel}
        >
          <Popover label="Examples ▾" buttonClass="button" popup="dialog">
            {(close) => (
              <Examples
                examples={about.examples}
                onChoose={(example) => {
                  close();
                  choose(example);
                }}
              />
            )}
          </Popover>
          <span class="dim query-limits">
            At most {plural(about.limits.rows, "row")}, {about.limits.seconds} s
          </span>
          <button type="button" class="button" aria-pressed={listed} onClick={() => setListed(!listed)}>
            Tables
          </button>
        </Editor>
        <div class="query-answer" aria-busy={progress.phase === "running"}>
          <Outcome progress={progress} runner={runner} api={api} about={about} page={page} onPlace={goTo} onExample={choose} />
        </div>
      </div>
      {listed ? <Schema tables={about.tables} onInsert={insert} /> : null}
    </div>
  );
}

interface OutcomeProps {
  progress: Progress;
  runner: Runner;
  api: QueryApi;
  about: QueryAbout;
  page: PageProps;
  onPlace: (offset: number) => void;
  onExample: (example: QueryExample) => void;
}

function Outcome({ progress, runner, api, about, page, onPlace, onExample }: OutcomeProps) {
  if (progress.phase === "running") return <Running progress={progress} />;
  if (progress.phase === "done")
    return (
      <QueryResult key={progress.status.query} done={progress} api={api} state={page.state} fileName={fileNameOf("query", page.run)} />
    );
  if (progress.phase === "failed")
    return (
      <Failure
        error={progress.error}
        cancelled={progress.cancelled}
        statement={progress.asked.statement}
        onPlace={onPlace}
        onAgain={() => runner.run(progress.asked)}
      />
    );
  return (
    <section class="query-start" aria-label="Examples">
      <h2>Ask the recorded events, steps and ops in SQL, or begin with an example</h2>
      <Examples examples={about.examples} onChoose={onExample} />
    </section>
  );
}

/** The time since the start, and what is being done. */
function Running({ progress }: { progress: Extract<Progress, { phase: "running" }> }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, now - progress.began) / 1000;
  const what = progress.doing || "Running the query";
  return <Loading what={seconds < 1 ? what : `${what} (${seconds.toFixed(0)} s)`} rows={8} />;
}

interface FailureProps {
  error: QueryFailure;
  cancelled: boolean;
  statement: string;
  onPlace: (offset: number) => void;
  onAgain: () => void;
}

const TITLES: Readonly<Record<string, string>> = {
  query_refused: "The query is not allowed",
  query_failed: "The query has an error",
  query_stopped: "The query was stopped",
};

function Failure({ error, cancelled, statement, onPlace, onAgain }: FailureProps) {
  const place = placeOf(error);
  const excerpt = excerptOf(statement, place);
  return (
    <Panel
      tone={cancelled ? "empty" : "error"}
      title={cancelled ? "Cancelled" : (TITLES[error.code] ?? "The query failed")}
      why={error.message}
    >
      {excerpt ? <pre class="query-excerpt">{excerpt}</pre> : null}
      {place ? (
        <button type="button" class="button" onClick={() => onPlace(offsetOf(statement, place))}>
          Go to line {place.line}, column {place.column}
        </button>
      ) : null}
      <button type="button" class="button" onClick={onAgain}>
        Run again
      </button>
    </Panel>
  );
}

const page: PageModule = { ids: ["query"], Page: QueryPage, compares: true };
export default page;
