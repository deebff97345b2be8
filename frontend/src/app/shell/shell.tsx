// The shell around every page: derives run, tool and hosts from the address bar and writes choices back to it.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Client } from "../../api/client";
import { ApiError } from "../../api/error";
import { CAPTURE_KEY } from "../../page/capture_again";
import { explain } from "../../page/failure/explain";
import { forgetFindings } from "../../page/findings";
import { READING_KEY, readingOf } from "../../page/page";
import type { BaseChoice, PageModule, UrlState } from "../../page/page";
import type { ReportFacts } from "../../api/stored";
import type { Config, Problem, RunInfo, RunSummary, Status, ToolInfo } from "../../api/types";
import { Loading } from "../../widgets/status/loading";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { CaptureDialog } from "../capture/capture_dialog";
import { presetsOf } from "../capture/capture_form";
import { HelpDialog } from "./help_dialog";
import { hostLabel } from "./host_picker";
import { NoProfiles } from "./no_profiles";
import { PageHost } from "../page/page_host";
import { Problems } from "./problems";
import { Rail } from "./rail";
import { ReportNote } from "./report_note";
import { describe } from "./session_picker";
import { TopBar } from "./top_bar";
import type { Crumb } from "./top_bar";
import { setTitle } from "../address/title";
import { AddressContext } from "../../widgets/content/link";
import type { Address, Patch } from "../../widgets/content/link";
import type { AddressState } from "../address/url_state";
import { useCollapsed, useThemeChoice, useUrl } from "./hooks";
import {
  chooseHosts,
  chooseRun,
  chooseTool,
  hostPatch,
  leavePage,
  newestFirst,
  runBefore,
  showsProblems,
  TREND,
  unreadable,
} from "../address/view";

interface Props {
  client: Client;
  state: AddressState;
  /** The address for "Copy link". */
  address: () => string;
  load?: (toolId: string) => Promise<PageModule>;
  /** What a saved report says about itself; null for a page with a server. */
  report?: ReportFacts | null;
}

export function Shell({ client, state, address, load, report = null }: Props) {
  useUrl(state);
  const [theme, setTheme] = useThemeChoice();
  const [collapsed, toggleCollapsed] = useCollapsed();
  const [round, setRound] = useState(0);
  const [opened, setOpened] = useState<"capture" | "help" | null>(null);
  const closeDialog = useCallback(() => {
    setOpened(null);
    state.set({ [CAPTURE_KEY]: null }, "replace");
  }, [state]);
  const devices = useRef(new Map<string, readonly string[]>());
  const written = useRef(new Set<string>());

  const config = useLoad("config", (signal) => client.json<Config>("config", {}, { signal }));
  const canCapture = report === null && config.data?.hideCaptureProfileButton !== true;
  const preset = canCapture ? state.get(CAPTURE_KEY) : null;
  const dialog = preset === null ? opened : "capture";
  const runs = useLoad("runs", (signal) => client.json<RunSummary[]>("runs_info", {}, { signal }));
  const wanted = state.get("run");
  const run = runs.data ? chooseRun(runs.data, wanted) : null;
  const wantedBase = state.get("base");
  const info = useLoad(run ? run.run : null, async (signal) => {
    const answer = await client.json<RunInfo>("run_info", { run: run?.run }, { signal });
    devices.current.set(answer.run, answer.device_types);
    return answer;
  });
  const empty = runs.data !== null && runs.data.length === 0;
  const status = useLoad(empty || dialog !== null ? `status#${round}` : null, (signal) => client.json<Status>("status", {}, { signal }));

  const [captured, setCaptured] = useState<string | null>(null);
  const reload = useCallback(() => {
    forgetFindings();
    runs.reload();
    info.reload();
    setRound((n) => n + 1);
  }, [runs.reload, info.reload]);
  useEffect(() => {
    // TensorBoard's reload button calls this function of the frame.
    Object.assign(window, { reload });
  }, [reload]);

  const openCaptured = useCallback(
    (name: string) => {
      closeDialog();
      setCaptured(name);
      reload();
    },
    [reload, closeDialog],
  );
  useEffect(() => {
    // Wait until the new run is listed; before that its name is unknown.
    if (captured === null || !runs.data?.some((known) => known.run === captured)) return;
    setCaptured(null);
    state.set(
      {
        ...leavePage(written.current),
        run: captured,
        tool: "overview_page",
        tag: null,
        host: null,
        hosts: null,
        session_path: null,
        run_path: null,
      },
      "push",
    );
  }, [captured, runs.data, state]);

  const named = state.get("tool") ?? state.get("tag");
  const overRuns = report?.trend !== false && named === TREND.id;
  const tool = overRuns ? TREND : info.data ? chooseTool(info.data.tools, named) : null;
  const selection = tool ? chooseHosts(tool, state.get("host"), state.get("hosts")) : { host: null, hosts: [] };
  const hostText = selection.host !== null ? hostLabel(selection.host) : selection.hosts.join(", ");
  const reading = config.data?.xprofReading === false ? "own" : readingOf(state);
  /** URL state for pages: records the keys they write, so that these are removed when the page is left. */
  const pageState = useMemo<UrlState>(
    () => ({
      ...state,
      set(patch, mode) {
        for (const key of Object.keys(patch)) written.current.add(key);
        state.set(patch, mode);
      },
    }),
    [state],
  );
  const base = useMemo<BaseChoice>(
    () => ({
      run: wantedBase,
      proposed: runBefore(runs.data ?? [], run?.run ?? null),
      choices: newestFirst(runs.data ?? []).map((one) => ({ id: one.run, note: describe(one, devices.current.get(one.run)) })),
      choose: (name) => state.set({ base: name }, "push"),
    }),
    [wantedBase, run?.run, runs.data, state],
  );
  const links = useMemo<Address>(() => ({ href: state.href, go: (patch, mode) => pageState.set(patch, mode) }), [state, pageState]);
  const leave = (): Record<string, null> => leavePage(written.current);
  const toolKeys = (id: string): Patch => ({ ...leave(), run: run?.run ?? null, tool: id, tag: null });
  const crumbs: Crumb[] = [
    ...(overRuns ? [] : run ? [{ text: run.run, to: toolKeys("overview_page") }] : wanted === null ? [] : [{ text: wanted }]),
    ...(tool ? [{ text: tool.title, to: toolKeys(tool.id), page: true }] : []),
    ...(tool && hostText ? [{ text: hostText }] : []),
    ...(reading === "xprof" ? [{ text: "XProf's reading" }] : []),
  ];
  const ofRun = overRuns ? undefined : run?.run;
  useEffect(() => setTitle([tool?.title, ofRun]), [tool?.title, ofRun]);

  return (
    <AddressContext.Provider value={links}>
      <div class="shell">
        <a class="skip" href="#content" onClick={skip}>
          Skip to content
        </a>
        <Rail
          collapsed={collapsed}
          capture={canCapture}
          runs={runs.data ?? []}
          run={run?.run ?? wanted}
          base={base}
          client={client}
          info={info.data}
          devices={devices.current}
          tool={tool}
          selection={selection}
          reading={reading}
          readings={report === null && config.data?.xprofReading !== false}
          report={report}
          onToggle={toggleCollapsed}
          onCapture={() => setOpened("capture")}
          onRun={(name) => state.set({ ...leave(), run: name, session_path: null, run_path: null }, "push")}
          toolKeys={toolKeys}
          onReading={(chosen) => state.set({ [READING_KEY]: chosen === "xprof" ? chosen : null }, "push")}
          onHosts={(hosts) => state.set(hostPatch(hosts), "push")}
        />
        <div class="stage">
          <TopBar
            crumbs={crumbs}
            busy={runs.loading || info.loading}
            theme={theme}
            address={address}
            onTheme={setTheme}
            {...(report
              ? {}
              : {
                  onReload: reload,
                  report: run ? client.url("report", { run: run.run, base: wantedBase, trend: overRuns || null }) : null,
                })}
            onHelp={() => setOpened("help")}
          />
          <main id="content" class="content" tabIndex={-1} aria-label={tool?.title ?? "Profile"}>
            {report ? <ReportNote report={report} /> : null}
            {config.data?.note ? <p class="report-note">{config.data.note}</p> : null}
            {info.data && !overRuns && showsProblems(info.data, tool) ? <Problems info={info.data} /> : null}
            <div class="page">{content()}</div>
          </main>
        </div>
        {dialog === "capture" ? (
          <CaptureDialog
            client={client}
            logdir={status.data?.absolute_logdir ?? ""}
            enabled={status.data?.capture_enabled ?? null}
            presets={presetsOf(preset ?? "")}
            onClose={closeDialog}
            onRun={openCaptured}
          />
        ) : null}
        {dialog === "help" ? <HelpDialog tool={tool} status={status.data} onClose={closeDialog} /> : null}
      </div>
    </AddressContext.Provider>
  );

  function content() {
    if (runs.error !== null) return failed(runs.error);
    if (!runs.data) return <Loading what="Searching for profiles" />;
    if (empty)
      return status.data || status.error !== null ? (
        <NoProfiles status={status.data} onReload={reload} />
      ) : (
        <Loading what="Searching for profiles" />
      );
    if (overRuns) return page(TREND, run?.run ?? "");
    if (!run)
      return (
        <UnknownPlace
          title={`There is no session named ${wanted ?? ""}`}
          why="The address names a session that is not (or no longer) in the log directory."
          todo="Choose a session on the left."
          label="Open the newest session"
          onOpen={() => state.set({ ...leave(), run: null }, "push")}
        />
      );
    if (info.error !== null) return failed(info.error);
    if (!info.data) return <Loading what={`Opening session ${run.run}`} />;
    const broken = unreadable(info.data);
    if (broken) return failed(problemError(broken));
    if (!tool && named !== null && info.data.tools.length > 0)
      return (
        <UnknownPlace
          title={`There is no tool named ${named}`}
          why="The address names a tool that does not exist."
          todo="Choose a tool on the left."
          label="Open the first page"
          onOpen={() => state.set({ ...leave(), tool: null, tag: null }, "push")}
        />
      );
    if (!tool)
      return (
        <Panel
          tone="empty"
          title="No tool can read this session"
          why={emptyReason(info.data)}
          todo={["Choose another session on the left, or capture again."]}
        />
      );
    return page(tool, run.run);
  }

  function page(shown: ToolInfo, of: string) {
    return (
      <PageHost
        run={of}
        base={base}
        tool={shown}
        host={selection.host}
        hosts={selection.hosts}
        client={client}
        state={pageState}
        reading={reading}
        round={round}
        {...(load ? { load } : {})}
      />
    );
  }

  function failed(error: unknown) {
    return (
      <Panel {...explain(error, { run: run?.run ?? wanted ?? undefined })}>
        <button type="button" class="button" onClick={reload}>
          Try again
        </button>
      </Panel>
    );
  }
}

/** Moves the focus without the hash, which is TensorBoard's. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

/** A problem reported with the run, in the form of an error response. */
function problemError({ code, message, file, offset }: Problem): ApiError {
  return new ApiError(422, code, message, { ...(file ? { file } : {}), ...(typeof offset === "number" ? { offset } : {}) });
}

function emptyReason(info: RunInfo): string {
  return (
    info.problems[0]?.message ?? (info.hosts.length ? "" : "The session directory contains no *.xplane.pb and no *.pt.trace.json file.")
  );
}

interface UnknownProps {
  title: string;
  why: string;
  todo: string;
  label: string;
  onOpen: () => void;
}

/** For an address that names what is not there. */
function UnknownPlace({ title, why, todo, label, onOpen }: UnknownProps) {
  return (
    <Panel tone="error" title={title} why={why} todo={[todo]}>
      <button type="button" class="button" onClick={onOpen}>
        {label}
      </button>
    </Panel>
  );
}
