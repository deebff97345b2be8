// The base of a page: the same answer for another run, and the line that says what the page is compared with.
import { documentOf } from "../../api/client";
import type { Params } from "../../api/client";
import type { ComparedRuns } from "../../base/documents";
import { ALL_HOSTS } from "../../api/types";
import type { RunInfo, ToolInfo } from "../../api/types";
import { plural } from "../../base/format";
import { useLoad } from "../../widgets/status/use_load";
import type { Loaded } from "../../widgets/status/use_load";
import { explain } from "../failure/explain";
import type { PageProps } from "../page";
import { PerStepSwitch, perStepText } from "./per_step";
import type { PerStep } from "./per_step";
import "./base_run.css";

export const COMPARE = "compare";

export interface BaseAnswer<T> {
  /** Name of the run; null if no base is chosen. */
  run: string | null;
  /** Null while it is read, and if there is none. */
  data: T | null;
  /** The host of the base, if one is shown. */
  host: string | null;
  /** Why there is no answer; null if there is one or it is being read. */
  why: string | null;
}

/** The host of the base that corresponds to the shown one; undefined: none does. */
export function hostOfBase(tool: ToolInfo, host: string | null): string | null | undefined {
  const names = tool.host_names;
  if (host === null || host === ALL_HOSTS || tool.hosts === "all")
    return names.includes(ALL_HOSTS) ? ALL_HOSTS : names.length === 1 ? (names[0] ?? null) : null;
  if (names.includes(host)) return host;
  return names.length === 1 ? names[0] : undefined;
}

interface Asked<T> {
  /** Reads the answer of the page's own tool; undefined: it is a document, which needs no reading. */
  read?(this: void, answer: unknown): T;
  /** The route of the page's own answer; "page" by default. */
  route?: string;
  /** The request for the page's own run. */
  params: Params;
  /** What the result of `read` depends on besides the answer. */
  also?: string;
}

/** The answer to the page's request for its base. */
export function useBase<T>(
  page: PageProps,
  { read = (answer) => answer as T, route = "page", params, also = "" }: Asked<T>,
): BaseAnswer<T> {
  const { client, tool, host, base } = page;
  const name = base.run;
  const loaded = useLoad(name === null ? null : JSON.stringify([name, tool.id, route, params, also]), async (signal) => {
    const info = await client.json<RunInfo>("run_info", { run: name }, { signal });
    const theirs = info.tools.find(({ id }) => id === tool.id);
    if (!theirs?.available) return { data: null, host: null, why: theirs?.reason ?? "It has no data for this page." };
    const chosen = hostOfBase(theirs, host);
    if (chosen === undefined) return { data: null, host: null, why: `It has no host named ${host ?? ""}.` };
    const asked = { ...params, run: name, host: chosen ?? undefined, hosts: undefined };
    return { data: read(await client.json<unknown>(route, asked, { signal })), host: chosen, why: null };
  });
  if (loaded.error !== null)
    return { run: name, data: null, host: null, why: explain(loaded.error, { run: name ?? undefined, tool: tool.id }).why };
  return { run: name, data: null, host: null, why: null, ...loaded.data };
}

function useLoadedComparison({ run, base, client }: Pick<PageProps, "run" | "base" | "client">): Loaded<ComparedRuns> {
  const params = { run, base: base.run };
  return useLoad(base.run === null ? null : JSON.stringify(params), (signal) => documentOf(client, COMPARE, params, { signal }));
}

/** What changed between base and run; null without a base, while it is read, and if they cannot be compared. */
export function useComparison(page: Pick<PageProps, "run" | "base" | "client">): ComparedRuns | null {
  return useLoadedComparison(page).data;
}

/** The answer for the base once the comparison is there as well: before, rows would be paired by their names alone. */
export function useComparedBase<T>(page: PageProps, asked: Asked<T>): { base: BaseAnswer<T>; found: ComparedRuns | null } {
  const answer = useBase(page, asked);
  const { data: found, loading } = useLoadedComparison(page);
  return { base: loading ? { ...answer, data: null } : answer, found };
}

interface LineProps {
  page: PageProps;
  answer: BaseAnswer<unknown>;
  /** Given if totals of the recordings are shown per step on request. */
  per?: PerStep;
  /** Given if numbers are totals of the recordings. */
  steps?: { base: number; run: number } | null | undefined;
  /** What else is to be said about the comparison. */
  note?: string;
  /** Whether the page shows nothing else of the base. */
  none?: string | undefined;
}

/** One line: what the page is compared with, or why it is not. */
export function BaseLine({ page, answer, per, steps, note, none }: LineProps) {
  const { run, host, data, why } = answer;
  if (run === null) return null;
  const where = host !== null && host !== ALL_HOSTS && host !== page.host ? `, host ${host}` : "";
  const totals =
    steps && steps.base > 0 && steps.run > 0 && steps.base !== steps.run
      ? `Totals are of whole recordings: ${plural(steps.base, "step")} in the base, ${plural(steps.run, "step")} here.`
      : "";
  const text =
    why !== null
      ? `No comparison with ${run}: ${why}`
      : data === null
        ? `Reading the base ${run}…`
        : run === page.run
          ? "The base is this run: nothing differs."
          : `Compared with ${run}${where}.`;
  return (
    <p
      class={why === null ? "base-line" : "base-line failed"}
      role="status"
      data-base={why !== null ? "failed" : data === null ? "pending" : "shown"}
    >
      <span>
        {[
          text,
          data === null ? "" : (none ?? ""),
          data === null ? "" : totals,
          data === null || !per ? "" : perStepText(per),
          data === null ? "" : (note ?? ""),
        ]
          .filter(Boolean)
          .join(" ")}
      </span>
      {data === null || !per ? null : <PerStepSwitch per={per} state={page.state} />}
      <button type="button" class="link" onClick={() => page.base.choose(null)}>
        Remove the base
      </button>
    </p>
  );
}
