// Chooses run, tool and hosts from the address bar and the server's lists. Pure.
import type { Problem, RunInfo, RunSummary, ToolInfo } from "../../api/types";
import { ALL_HOSTS } from "../../api/types";
import { sessionTime } from "../../base/format";

/** Tool ids in old links -> current ids. */
const OLD_TOOLS: Readonly<Record<string, string>> = {
  tensorflow_stats: "framework_op_stats",
  input_pipeline: "input_pipeline_analyzer",
  hlo_op_profile: "op_profile",
  hlo_op_stats: "hlo_stats",
  dcn_collective_stats: "megascale_stats",
  smart_suggestion: "overview_page",
};

/** A tool id without the suffix of XProf's links. */
const bare = (id: string): string => id.replace(/[@^#]+$/, "");

/** Keys in links of XProf's page -> keys of ours. */
const OLD_KEYS: Readonly<Record<string, string>> = { moduleName: "module_name", opName: "node_name", programId: "program_id" };

/** Values of the overview's former key `view` that meant XProf's reading. */
const OLD_XPROF_VIEWS: ReadonlySet<string | null> = new Set(["xprof", "device"]);

/** The patch that renames keys of old and of XProf's links; a key under its current name wins. Empty if there are none. */
export function renameOldKeys(get: (key: string) => string | null): Record<string, string | null> {
  const overview = bare(get("tool") ?? get("tag") ?? "overview_page") === "overview_page";
  const reading = overview && OLD_XPROF_VIEWS.has(get("view")) ? { view: null, reading: "xprof" } : {};
  const renamed = Object.fromEntries(
    Object.entries(OLD_KEYS).flatMap(([old, key]) =>
      get(old) === null
        ? []
        : [
            [old, null],
            [key, get(key) ?? get(old)],
          ],
    ),
  );
  return { ...renamed, ...reading };
}

/** Keys of the shell; all other keys of ours belong to one page and are removed when it is left. */
export const SHELL_KEYS = ["run", "tool", "tag", "host", "hosts", "session_path", "run_path", "base", "reading", "capture"] as const;

/** Keys of pages in the address bar; removed on a change of tool or run. */
export const PAGE_KEYS: readonly string[] = [
  "module_name",
  "program_id",
  "memory_space",
  "group_by",
  "node_name",
  "graph_type",
  "sort",
  "filter",
  "hide",
  "start_time_ms",
  "end_time_ms",
  "select",
  "q",
  "view",
  "step",
  "row",
  "tab",
  "window",
  "selected",
  "mark",
  "align",
  "mode",
  "find",
  "match",
  "collapsed",
  "folded",
  "hidden",
  "pinned",
  "pipeline_host",
  "pipeline",
  "rank",
  "iterator",
  "memory_id",
  "range",
  "buffer",
  "graph_width",
  "text",
  "sel",
  "merge_fusion",
  "expand",
  "max_nodes",
  "color",
  "step_event",
  "finding",
  "idle",
  "model",
  "request_column",
  "batch_column",
  "worker",
  "order",
  "limit",
  "top90",
  "unattributed",
  "backend",
  "open",
  "full",
  "node",
  "line",
  "frame",
  "frames",
  "types",
  "flip",
  "instant",
  "stack",
  "batch",
  "fixed",
  "scaled",
  "by",
  "kernel",
  "op",
  "category",
  "bound",
  "infeed",
  "program",
  "chart",
  "core",
  "sql",
  "runs",
  "ran",
  "without",
  "scale",
  "hide_collectives",
  "ranks_equal",
  "input_free",
  "series",
  "axis",
  "baseline",
  "raw",
  ...tableKeys(9),
];

/** Keys of the tables on a page with several: `t1.sort` and so on. */
function tableKeys(tables: number): string[] {
  return Array.from({ length: tables }, (_, i) => ["sort", "filter", "hide", "row"].map((key) => `t${i + 1}.${key}`)).flat();
}

/** The page over all runs: it needs none, so that the server lists it with none. */
export const TREND: ToolInfo = {
  id: "trend",
  title: "Trend",
  group: "Summary",
  summary: "Since when steps take longer or shorter over the runs of the log directory, and where.",
  hosts: "all",
  host_names: [],
  available: true,
  reason: null,
  params: [],
};

/** Time of a session, from its name or else from its newest file. */
export function runTime(run: RunSummary): number {
  return sessionTime(run.session) ?? run.mtime_ms;
}

/** Newest first; equal times in the server's order. */
export function newestFirst(runs: readonly RunSummary[]): RunSummary[] {
  return [...runs].sort((a, b) => runTime(b) - runTime(a));
}

/** The run named in the address bar, else the newest; null if the named run does not exist or there are no runs. */
export function chooseRun(runs: readonly RunSummary[], wanted: string | null): RunSummary | null {
  if (wanted !== null) return runs.find((r) => r.run === wanted) ?? null;
  return newestFirst(runs)[0] ?? null;
}

/** The run before another: the newest of the older ones, in the same directory if there is one. */
export function runBefore(runs: readonly RunSummary[], name: string | null): string | null {
  const sorted = newestFirst(runs);
  const runIndex = sorted.findIndex(({ run }) => run === name);
  const shown = sorted[runIndex];
  if (!shown) return null;
  const place = ({ run, session }: RunSummary): string => run.slice(0, run.length - session.length);
  const older = sorted.slice(runIndex + 1).filter(({ hosts }) => hosts > 0);
  return (older.find((one) => place(one) === place(shown)) ?? older[0])?.run ?? null;
}

/**
 * The tool named in the address bar (also by an old id or with a suffix), null for a name that no tool has.
 * Without a name the first with data, else the first.
 */
export function chooseTool(tools: readonly ToolInfo[], wanted: string | null): ToolInfo | null {
  if (wanted !== null) {
    const id = bare(wanted);
    const named = (id: string | undefined): ToolInfo | undefined => tools.find((t) => t.id === id);
    return named(wanted) ?? tools.find((t) => bare(t.id) === id) ?? named(OLD_TOOLS[id]) ?? null;
  }
  return tools.find((t) => t.available) ?? tools[0] ?? null;
}

export interface HostSelection {
  host: string | null;
  hosts: string[];
}

/** The hosts named in the address bar, as far as the tool accepts them; else the tool's default. */
export function chooseHosts(tool: ToolInfo, host: string | null, hosts: string | null): HostSelection {
  const names = tool.host_names;
  const asked = [...(hosts?.split(",") ?? []), ...(host !== null ? [host] : [])].filter((h) => names.includes(h));
  const first = asked[0] ?? names[0] ?? null;
  switch (tool.hosts) {
    case "several": {
      const chosen = asked.length ? [...new Set(asked)] : first !== null ? [first] : [];
      return { host: chosen.length === 1 ? (chosen[0] ?? null) : null, hosts: chosen };
    }
    case "all":
      return { host: names.includes(ALL_HOSTS) ? ALL_HOSTS : first, hosts: names.filter((h) => h !== ALL_HOSTS) };
    case "one":
    case "one_or_all":
      return { host: first, hosts: first === null ? [] : [first] };
  }
}

/** The query keys for a host choice: `host` for one, `hosts` for several, as in XProf. */
export function hostPatch(selection: readonly string[]): Record<string, string | null> {
  const [only] = selection;
  if (selection.length === 1 && only !== undefined) return { host: only, hosts: null };
  return { host: null, hosts: selection.length ? selection.join(",") : null };
}

/** Clears the keys of the page that is left. */
export function leavePage(extra: Iterable<string> = []): Record<string, null> {
  const keys: Record<string, null> = {};
  for (const key of PAGE_KEYS) keys[key] = null;
  for (const key of extra) if (!(SHELL_KEYS as readonly string[]).includes(key)) keys[key] = null;
  return keys;
}

/** The first file's problem if no file of a run can be read; null if one can, or the run has no files. */
export function unreadable(info: RunInfo): Problem | null {
  return info.hosts.every((host) => host.problem !== null) ? (info.hosts[0]?.problem ?? null) : null;
}

const GROUPS = ["Summary", "Ops", "Time", "Memory", "Fleet", "Data"];

/** Tools by group: groups in the fixed order (unknown ones last), tools in the server's order. */
export function groupTools(tools: readonly ToolInfo[]): [string, ToolInfo[]][] {
  const names = [...new Set([...GROUPS, ...tools.map((t) => t.group)])];
  return names.map((name): [string, ToolInfo[]] => [name, tools.filter((t) => t.group === name)]).filter(([, list]) => list.length > 0);
}

export interface RunProblem {
  /** The file; "" for the run. */
  where: string;
  code: string;
  message: string;
  remedy: string | undefined;
  offset: number | null;
}

/** Problems of a run: its own, those of its files, and `found` while it was read; each once. */
export function runProblems(info: RunInfo, found: readonly Problem[] = []): RunProblem[] {
  const seen = new Map<string, RunProblem>();
  const add = (where: string, { code, message, offset, remedy }: Problem): void => {
    const name = JSON.stringify([where, message]);
    if (!seen.has(name)) seen.set(name, { where, code, message, remedy, offset: offset ?? null });
  };
  for (const host of info.hosts) if (host.problem) add(host.problem.file ?? host.name, host.problem);
  for (const problem of [...info.problems, ...found]) add(problem.file ?? "", problem);
  return [...seen.values()];
}

/** Whether the problems of a run are shown above a page, and not in its place. */
export function showsProblems(info: RunInfo, tool: ToolInfo | null): boolean {
  return tool !== null && (tool.available || info.hosts.some((host) => host.problem === null));
}
