// The findings of a run for several pages: one request that they share, and the address of the view behind evidence.
import { documentOf } from "../api/client";
import type { Finding, Proof, RunFindings } from "../base/documents";
import { ALL_HOSTS } from "../api/types";
import type { Problem } from "../api/types";
import type { Client } from "../api/client";

const FINDINGS_TOOL = "smart_suggestion";
/** The key of the overview's address that names a finding to scroll to. */
export const FINDING_KEY = "finding";

interface Entry {
  run: string;
  answer: Promise<RunFindings>;
  /** Once it has arrived. */
  value: RunFindings | null;
}

const MOST_KEPT = 8;
const kept = new Map<string, Entry>();
const watching = new Set<() => void>();

/** Forgets all answers, so that pages ask again; for the reload button. */
export function forgetFindings(): void {
  kept.clear();
}

const paramsOf = (run: string, host: string | null) => ({
  run,
  host: host === ALL_HOSTS ? undefined : (host ?? undefined),
  tag: FINDINGS_TOOL,
});

/** The findings of all hosts of a run, or of one, requested once for all pages; a failed request is not kept. */
export function loadFindings(client: Client, run: string, host: string | null = null): Promise<RunFindings> {
  const params = paramsOf(run, host);
  const key = client.url("page", params);
  const known = kept.get(key);
  if (known) return known.answer;
  const entry: Entry = { run, answer: documentOf(client, FINDINGS_TOOL, params), value: null };
  kept.set(key, entry);
  for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(old);
  entry.answer.then(
    (value) => {
      entry.value = value;
      for (const arrived of watching) arrived();
    },
    () => {
      if (kept.get(key) === entry) kept.delete(key);
    },
  );
  return entry.answer;
}

/** The findings if they have arrived already. */
export function knownFindings(client: Client, run: string): RunFindings | null {
  return kept.get(client.url("page", paramsOf(run, null)))?.value ?? null;
}

/** What all answers about a run have found to be left out or damaged. */
export function problemsFound(run: string): readonly Problem[] {
  return [...kept.values()].flatMap((entry) => (entry.run === run ? (entry.value?.problems ?? []) : []));
}

/** Calls back when findings have arrived; returns a function that ends it. */
export function watchFindings(arrived: () => void): () => void {
  watching.add(arrived);
  return () => watching.delete(arrived);
}

const bare = (id: string): string => id.replace(/[@^#]+$/, "");

/** The id under which a run has a tool, such as `trace_viewer@` for `trace_viewer`; null if it has no data for it. */
export function availableTool(tools: ReadonlyMap<string, string>, id: string): string | null {
  if (id === "") return null;
  return tools.has(id) ? id : ([...tools.keys()].find((one) => bare(one) === bare(id)) ?? null);
}

/** Pages whose text filter has a name of its own in the address: the key and, for tables, the column. */
const FILTERS: Readonly<Record<string, { key: string; column?: string }>> = {
  hlo_stats: { key: "op" },
  roofline_model: { key: "op" },
  kernel_stats: { key: "kernel" },
  memory_viewer: { key: "q" },
  graph_viewer: { key: "node_name" },
  framework_op_stats: { key: "t1.filter", column: "operation" },
  communication: { key: "t1.filter", column: "op" },
  time_budget: { key: "t2.filter", column: "name" },
};

/** The keys of the address that open the view of evidence; its `filter` becomes that of the page. */
export function evidenceKeys({ tool, query }: Pick<Proof, "tool" | "query">): Record<string, string> {
  const { filter, ...rest } = query;
  if (filter === undefined) return rest;
  // With a column it is already in the form of tables.
  const pageFilter = filter.includes("~") ? undefined : FILTERS[bare(tool)];
  if (!pageFilter) return { ...rest, filter };
  return {
    ...rest,
    [pageFilter.key]: pageFilter.column === undefined ? filter : `${pageFilter.column}~${filter.replace(/[\\,;~]/g, "\\$&")}`,
  };
}

/** The findings about the pages of some tools and, unless it is null, about a host. */
export function findingsAbout({ findings }: Pick<RunFindings, "findings">, tools: readonly string[], host: string | null): Finding[] {
  const pages = new Set(tools.map(bare));
  return findings.filter(
    ({ evidence, hosts }) =>
      evidence.some((one) => pages.has(bare(one.tool))) &&
      (host === null || host === ALL_HOSTS || hosts.length === 0 || hosts.includes(host)),
  );
}
