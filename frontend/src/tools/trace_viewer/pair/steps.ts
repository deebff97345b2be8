// The steps of a run on the axis of its trace, from the time budget.
import { documentOf } from "../../../api/client";
import type { Client } from "../../../api/client";
import type { TimeBudget } from "../../../base/documents";
import type { Span } from "../../../timeline/data/units";

export interface NamedStep extends Span {
  readonly name: string;
}

/** Steps by begin, of the first device of the answer. */
export function namedSteps({ steps }: Pick<TimeBudget, "steps">): NamedStep[] {
  const named = steps.name.map((name, i): NamedStep => {
    const begin = steps.begin_ps[i]?.[0] ?? 0;
    return { name, begin, end: begin + (steps.duration_ps[i]?.[0] ?? 0) };
  });
  return named.sort((a, b) => a.begin - b.begin);
}

/** The steps of a run; none if it has no device. */
export async function fetchSteps(client: Client, run: string, host: string | undefined, signal: AbortSignal): Promise<NamedStep[]> {
  try {
    return namedSteps(await documentOf(client, "time_budget", { run, host }, { signal }));
  } catch (error) {
    if (signal.aborted) throw error;
    return []; // profiles without devices: the recordings are aligned at their start
  }
}
