// The steps of a run on the axis of its trace, from the time budget.
import type { Client } from "../../../api/client";
import { asDict, asList, asNumber, asText } from "../../../api/payload/fields";
import type { Span } from "../../../timeline/data/units";

export interface NamedStep extends Span {
  readonly name: string;
}

/** Steps by begin, of the first device of the answer. */
export function readSteps(answer: unknown): NamedStep[] {
  const steps = asList(asDict(answer, "the time budget")["steps"], "the steps").map((one): NamedStep => {
    const step = asDict(one, "a step");
    const begins = step["device_begin_ps"] === undefined ? [step["begin_ps"]] : asList(step["device_begin_ps"], "the begins of a step");
    const begin = asNumber(begins[0], "the begin of a step");
    const duration = asNumber(asList(step["duration_ps"], "the durations of a step")[0] ?? 0, "the duration of a step");
    return { name: asText(step["name"], "the name of a step"), begin, end: begin + duration };
  });
  return steps.sort((a, b) => a.begin - b.begin);
}

/** The steps of a run; none if it has no device. */
export async function fetchSteps(client: Client, run: string, host: string | undefined, signal: AbortSignal): Promise<NamedStep[]> {
  try {
    return readSteps(await client.json<unknown>("page", { run, tag: "time_budget", host }, { signal }));
  } catch (error) {
    if (signal.aborted) throw error;
    return []; // profiles without devices: the recordings are aligned at their start
  }
}
