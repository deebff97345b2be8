// What limits a run, by the rules of the findings: the pages about utilisation say the same.
import type { RunFindings } from "../base/documents";
import { loadFindings } from "./findings";
import type { PageProps } from "./page";
import { useLoad } from "../widgets/status/use_load";

const RULES: readonly string[] = ["compute_bound", "memory_bound"];

export interface Limit {
  /** Whether arithmetic or memory bandwidth is the limit. */
  fired: boolean;
  sentence: string;
}

/** The verdict on arithmetic and memory bandwidth as limits; null if the recording cannot tell. */
export function limitOf({ findings, silent }: Pick<RunFindings, "findings" | "silent">): Limit | null {
  const fired = findings.find(({ id }) => RULES.includes(id));
  if (fired) return { fired: true, sentence: `${fired.title}.` };
  const passed = silent.some(({ id, state }) => RULES.includes(id) && state === "passed");
  return passed ? { fired: false, sentence: "Neither arithmetic nor memory bandwidth limits the program." } : null;
}

/** The verdict for the page's run; null while it is read, and if there is none. */
export function useLimit({ client, run }: Pick<PageProps, "client" | "run">): Limit | null {
  const found = useLoad(run, () => loadFindings(client, run));
  return found.data === null ? null : limitOf(found.data);
}
