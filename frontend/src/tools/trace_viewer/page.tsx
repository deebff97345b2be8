// Trace viewer: toolbar, timeline, and details below it.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunInfo } from "../../api/types";
import { explain } from "../../page/failure/explain";
import type { PageModule, PageProps } from "../../page/page";
import { useKey } from "../../page/use_key";
import "../../timeline/dom/timeline.css";
import { arrange, select } from "../../timeline/state/commands";
import { Loading } from "../../widgets/status/loading";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { formatCount, formatTime, plural } from "../../base/format";
import { countEmpty } from "../../timeline/layout/layout";
import { Details } from "./pane/details";
import { Matches, VisibleEvents } from "./pane/event_tables";
import { copyLink, saveChrome, savePerfetto, savePicture } from "./export/exports";
import { GapTable } from "./pane/gap_table";
import { FloatingTools } from "./toolbar/floating_tools";
import { Help } from "./toolbar/help";
import "./page.css";
import { BaseBar, CLOCKS, usePair } from "./pair/base_pane";
import { Pane } from "./pane/pane";
import { PathTable } from "./pane/path_table";
import { SEARCH_ID } from "./toolbar/search_box";
import { Session } from "./session/session";
import { Source } from "./session/source";
import { Toolbar } from "./toolbar/toolbar";
import { TrackMenu } from "./toolbar/track_menu";

/** Opens the trace in `root` while the component is mounted; renders after every change. */
function useSession(props: PageProps, root: { readonly current: HTMLDivElement | null }): Session | null {
  const [session, setSession] = useState<Session | null>(null);
  const [, setTick] = useState(0);
  const { run, tool, host, hosts, client, state } = props;
  const chosen = hosts.length > 0 ? hosts : host === null ? [] : [host];
  const clocks = useKey(state, CLOCKS) ?? "";
  const xprof = props.reading === "xprof";
  useEffect(() => {
    if (!root.current) return undefined;
    let request = 0;
    // several changes within one frame cause one rendering
    const changed = (): void => {
      if (request === 0) {
        request = requestAnimationFrame(() => {
          request = 0;
          setTick((n) => n + 1);
        });
      }
    };
    const made = new Session(root.current, new Source(client, { run, hosts: chosen, clocks, xprof }), state, changed);
    setSession(made);
    const observer = new MutationObserver(() => made.timeline.readTheme());
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const density = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    const denser = (): void => made.timeline.readTheme();
    density.addEventListener("change", denser);
    return () => {
      cancelAnimationFrame(request);
      observer.disconnect();
      density.removeEventListener("change", denser);
      made.dispose();
    };
  }, [run, tool.id, chosen.join(","), clocks, xprof, client, state]);
  return session;
}

function Page(props: PageProps) {
  const root = useRef<HTMLDivElement>(null);
  const baseRoot = useRef<HTMLDivElement>(null);
  const session = useSession(props, root);
  const [, setTick] = useState(0);
  const { pair, clocks, why } = usePair(props, session, baseRoot, () => setTick((n) => n + 1));
  const paired = props.base.run !== null;
  const [help, setHelp] = useState(false);
  // null: the pane is open while something is selected
  const [tab, setTab] = useState<string | null>(null);
  const [floating, setFloating] = useState(false);
  const [message, setMessage] = useState("");
  if (session) {
    session.command = (command) => {
      if (command === "help") setHelp(true);
      else if (command === "search") document.getElementById(SEARCH_ID)?.focus();
      else if (command === "next-gap" || command === "previous-gap") setTab("gaps");
      else if (command === "path") setTab(session.binding.on ? "path" : null);
      else if (command === "clear") setTab(null);
    };
  }
  const trace = session?.timeline.state.trace ?? null;
  const empty = trace !== null && trace.totalEvents === 0;
  const problem = session?.error ? explain(session.error, { run: props.run, tool: props.tool.id, host: props.host }) : null;
  const announce = (text: string): void => {
    setMessage(text);
    setTimeout(() => setMessage(""), 2500);
  };
  const save = (what: string, how: typeof saveChrome): void => {
    if (!session) return;
    setMessage(`Preparing the ${what}…`);
    how(session, props.run).then(
      () => announce(`${what} saved`),
      (error: unknown) => announce(explain(error, {}).title),
    );
  };
  const actions = session
    ? [
        {
          label: "Copy link to this view",
          run: () => void copyLink(session).then((done) => announce(done ? "Link copied" : "The browser denied access to the clipboard")),
        },
        { label: "Save image (PNG)", run: () => savePicture(session, props.run) },
        { label: "Save window as Chrome trace (JSON)", run: () => save("Chrome trace", saveChrome) },
        { label: "Save window for Perfetto (.pftrace)", run: () => save("Perfetto trace", savePerfetto) },
      ]
    : [];
  const hits = session?.hits;
  const selected = session?.timeline.state.selection.length ?? 0;
  const open = (wanted: string): void => {
    setTab(tab === wanted ? null : wanted);
    if (wanted === "gaps") void session?.gaps.load();
  };
  const close = (): void => {
    setTab(null);
    session?.timeline.apply(select([]));
    session?.timeline.elements.stage.focus();
  };
  const selection = session?.timeline.state.selection;
  useEffect(() => {
    // an event that is selected under a gap, or on the path, is shown, not listed
    if (selection && selection.length > 0) setTab((known) => (known === "gaps" || known === "path" ? null : known));
  }, [selection]);
  const piece = session?.timeline.state.piece ?? -1;
  useEffect(() => {
    // a piece of the path without an event is listed
    if (piece >= 0 && selection?.length === 0) setTab("path");
  }, [piece]);
  useEffect(() => {
    // the corner is an element of the timeline's grid, outside this component
    if (session && trace) render(<Corner session={session} />, session.timeline.elements.corner);
  });
  return (
    <div class="tv">
      {session ? (
        <Toolbar
          session={session}
          tab={tab}
          floating={floating}
          onTab={open}
          onPath={() => {
            session.binding.toggle();
            setTab(session.binding.on ? "path" : null);
          }}
          onFloat={() => setFloating(!floating)}
          onHelp={() => setHelp(true)}
          actions={actions}
        />
      ) : null}
      <div class={paired ? "tv-main paired" : "tv-main"}>
        {paired ? (
          <div key="base" class="tv-side">
            <BaseBar page={props} pair={pair} why={why} />
            <div ref={baseRoot} class="tv-timeline" />
          </div>
        ) : null}
        <div key="run" class="tv-side">
          {paired ? (
            <p key="bar" class="tv-side-bar">
              <b>Run</b> <span class="tv-side-name">{props.run}</span>
            </p>
          ) : null}
          <div key="timeline" ref={root} class="tv-timeline" />
        </div>
        {trace === null && !problem ? (
          <div class="tv-cover">
            <Loading what="Reading the trace" />
          </div>
        ) : null}
        {problem && trace === null ? (
          <div class="tv-cover">
            <Panel {...problem}>
              <button type="button" class="button" onClick={() => session?.retry()}>
                Try again
              </button>
            </Panel>
          </div>
        ) : null}
        {empty ? (
          <div class="tv-cover">
            <Panel
              tone="empty"
              title="The trace has no events"
              why="The profile was read, but its lines contain no events."
              todo={["Choose another host, or capture again while the program is running."]}
            />
          </div>
        ) : null}
        {session && floating ? <FloatingTools session={session} /> : null}
      </div>
      <ClocksBar page={props} base={paired ? clocks : null} drawn={trace !== null} />
      {problem && trace !== null ? (
        <p class="tv-bar tv-bad" role="alert">
          {problem.title}. {problem.why}{" "}
          <button type="button" class="tv-link" onClick={() => session?.retry()}>
            Try again
          </button>
        </p>
      ) : null}
      {session && (tab !== null || selected > 0) ? (
        <Pane
          active={tab ?? "selection"}
          onTab={setTab}
          onClose={close}
          tabs={[
            { id: "selection", label: "Selection", content: () => <Details session={session} /> },
            {
              id: "matches",
              label: hits ? `Matches (${formatCount(hits.total)})` : "Matches",
              content: () => <Matches session={session} />,
            },
            { id: "gaps", label: "Gaps", content: () => <GapTable session={session} /> },
            { id: "path", label: "Path", content: () => <PathTable session={session} /> },
            { id: "visible", label: "Visible events", content: () => <VisibleEvents session={session} /> },
          ]}
        />
      ) : null}
      {session && trace ? <Status session={session} message={message} /> : null}
      {session?.menu ? <TrackMenu session={session} menu={session.menu} /> : null}
      {help ? <Help onClose={() => setHelp(false)} /> : null}
    </div>
  );
}

/** `HOST:PS,...` -> `HOST +1 us, ...`. */
function moves(clocks: string): string {
  const parts = clocks.split(",").map((part) => {
    const colon = part.lastIndexOf(":");
    const ps = Number(part.slice(colon + 1));
    return `${part.slice(0, colon)} ${ps < 0 ? "−" : "+"}${formatTime(Math.abs(ps))}`;
  });
  return parts.join(", ");
}

/** The first part of the clocks in the address: times as recorded, also those that cannot be right. */
const RECORDED = "recorded";
/** Codes of problems that say that times are corrected, or left out. */
const CORRECTED = ["clock_skew", "impossible_times", "impossible_durations"];

/** Says which clocks and times are corrected, and shows them as recorded on request; `base`: the clocks of a base, if one is open. */
function ClocksBar({ page, base, drawn }: { page: PageProps; base: string | null; drawn: boolean }) {
  const { run, client, state } = page;
  const clocks = (useKey(state, CLOCKS) ?? "").split(",").filter(Boolean);
  const info = useLoad(drawn ? run : null, (signal) => client.json<RunInfo>("run_info", { run }, { signal }));
  const recorded = clocks[0] === RECORDED;
  const hosts = clocks.slice(recorded ? 1 : 0).join(",");
  const told = (info.data?.problems ?? []).filter((problem) => CORRECTED.includes(problem.code));
  if (page.reading === "xprof" || (hosts === "" && told.length === 0)) return null;
  const show = (parts: string): void => state.set({ [CLOCKS]: parts || null }, "push");
  const moved = told.some((problem) => problem.code === "clock_skew");
  return (
    <p class="tv-bar" role="status">
      {hosts === "" ? null : (
        <>
          Clocks are corrected: {moves(hosts)}.
          {base === null ? null : base === "" ? " The clocks of the base agree, or are unknown." : ` Base: ${moves(base)}.`}{" "}
          <button type="button" class="tv-link" onClick={() => show(recorded ? RECORDED : "")}>
            Show as recorded
          </button>{" "}
        </>
      )}
      {told.length === 0 ? null : recorded ? (
        <>
          All times are shown as recorded, also those that cannot be right.{" "}
          <button type="button" class="tv-link" onClick={() => show(hosts)}>
            Show corrected times
          </button>
        </>
      ) : (
        <>
          {moved ? "Clocks of devices are corrected." : "Events with impossible times are left out, or cut."}{" "}
          <button type="button" class="tv-link" onClick={() => show([RECORDED, hosts].filter(Boolean).join(","))}>
            Show all times as recorded
          </button>
        </>
      )}
    </p>
  );
}

/** Left of the minimap: number of tracks, and buttons to collapse or expand all sections. */
function Corner({ session }: { session: Session }) {
  const { trace, arrangement } = session.timeline.state;
  if (!trace || !arrangement) return null;
  const set = (pids: readonly number[]): void => session.timeline.apply(arrange({ ...arrangement, collapsedSections: new Set(pids) }));
  return (
    <div class="tv-corner">
      <span>{formatCount(trace.tracks.length)} tracks</span>
      <button
        type="button"
        class="button ghost"
        data-tip="Collapse all sections"
        aria-label="Collapse all sections"
        onClick={() => set(trace.sections.map((s) => s.pid))}
      >
        − all
      </button>
      <button type="button" class="button ghost" data-tip="Expand all sections" aria-label="Expand all sections" onClick={() => set([])}>
        + all
      </button>
    </div>
  );
}

/** Status line: visible window, number of events on the screen and how many of them are merged. */
function Status({ session, message }: { session: Session; message: string }) {
  const { trace, scale, interval, arrangement } = session.timeline.state;
  if (!trace || !arrangement) return null;
  const { events, merged } = session.timeline.eventsDrawn;
  const empty = countEmpty(trace);
  const folded = [empty.sections > 0 ? plural(empty.sections, "section") : "", empty.tracks > 0 ? plural(empty.tracks, "track") : ""]
    .filter(Boolean)
    .join(" and ");
  const toggle = (): void => session.timeline.apply(arrange({ ...arrangement, showEmpty: !arrangement.showEmpty }));
  return (
    <p class="tv-bar tv-status number">
      <span>
        {formatTime(scale.span)} of {formatTime(trace.full.end - trace.full.begin)} visible
      </span>
      <span title="Merged: shorter than a pixel, drawn as one block with neighbours. Zoom in to separate them.">
        {formatCount(events)} of {plural(trace.totalEvents, "event")} on the screen,{" "}
        {merged > 0 ? `${formatCount(merged)} merged` : "each drawn separately"}
      </span>
      {folded ? (
        <span class="tv-fixed">
          {folded} without events{" "}
          <button type="button" class="tv-link" onClick={toggle}>
            {arrangement.showEmpty ? "fold away" : "show"}
          </button>
        </span>
      ) : null}
      {interval ? <span>marked: {formatTime(interval.end - interval.begin)}</span> : null}
      {trace.partial ? <Rest /> : null}
      {trace.truncated ? <span class="tv-bad">the response was truncated</span> : null}
      <span class="tv-fixed" aria-live="polite">
        {message}
      </span>
    </p>
  );
}

/** Says that more of the trace is on its way, and for how long it has been. */
function Rest() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((known) => known + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="tv-fixed" title="Steps, derived rows, counters, flows and details follow; zoom and pan work already.">
      <span role="status">Recorded events are shown, reading the rest…</span> {seconds > 0 ? `${seconds} s` : ""}
    </span>
  );
}

const page: PageModule = { ids: ["trace_viewer@", "trace_viewer"], Page, compares: true };
export default page;
