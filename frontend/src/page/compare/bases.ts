// Which runs are offered as a base: those that share programs with the run first.
import type { Client } from "../../api/client";
import { asDict, asList, asNumber, asText } from "../../api/payload/fields";
import { formatPercent } from "../../base/format";
import { useLoad } from "../../widgets/status/use_load";
import type { BaseChoice } from "../page";

/** Runs that share programs, most first, and how much, 0 to 1. */
export type Related = ReadonlyMap<string, number>;

/** A base with less in common is not proposed: half of what ran would have no counterpart. */
const LEAST_SHARED = 0.5;
const NONE: Related = new Map();

export function readRelated(answer: unknown): Related {
  const runs = asList(answer, "the related runs").map((one) => asDict(one, "a related run"));
  return new Map(runs.map((one) => [asText(one["run"], "the name of a related run"), asNumber(one["shared"], "how much it shares")]));
}

/** Null while it is read; without any, and for servers that cannot tell, none. */
export function useRelated(client: Client, run: string | null): Related | null {
  const { data, loading } = useLoad(run, async (signal) => readRelated(await client.json<unknown>("base_runs", { run }, { signal })));
  return data ?? (loading ? null : NONE);
}

const directoryOf = (run: string): string => run.slice(0, run.lastIndexOf("/") + 1);

export interface Proposal {
  id: string;
  why: string;
}

/** The run to compare with: the one that shares most programs; if no run is known to share any, the one before in the same directory. */
export function proposalOf(base: BaseChoice, run: string | null, related: Related): Proposal | null {
  const best = [...related].find(([id]) => base.choices.some((choice) => choice.id === id));
  if (best !== undefined) return best[1] >= LEAST_SHARED ? { id: best[0], why: sharedText(best[1]) } : null;
  const before = base.proposed;
  return before !== null && run !== null && directoryOf(before) === directoryOf(run) ? { id: before, why: "the run before" } : null;
}

const sharedText = (share: number): string => `${formatPercent(100 * share).replace(".0%", "%")} of programs shared`;

/** The runs in the order in which they are offered, each with what it has in common with the run. */
export function choicesOf(base: BaseChoice, run: string | null, related: Related): { id: string; note: string }[] {
  const order = [...related.keys()];
  const rank = (id: string): number => (related.has(id) ? order.indexOf(id) : order.length);
  return [...base.choices]
    .sort((a, b) => rank(a.id) - rank(b.id))
    .map(({ id, note }) => {
      const share = related.get(id);
      const about = id === run ? "this run" : id === base.proposed ? "the run before" : null;
      return { id, note: [note, share === undefined ? null : sharedText(share), about].filter(Boolean).join(" · ") };
    });
}
