// Whether a page shows totals of recordings or their part per step, so that recordings of different length compare.
import { useMemo } from "preact/hooks";
import type { ComparedRuns } from "../../base/documents";
import type { Steps } from "../../base/table/difference";
import { plural } from "../../base/format";
import type { PageProps, UrlState } from "../page";
import { useKey } from "../use_key";

/** The key of the address; pages that clear their keys clear it as well. */
export const TOTALS_KEY = "totals";

export interface PerStep {
  /** What totals are divided by; null: whole totals are shown. */
  steps: Steps | null;
  /** The steps of both recordings; null if a side has none, so that only totals can be shown. */
  recorded: Steps | null;
  /** Null while the comparison is read, and if there is none. */
  found: ComparedRuns | null;
}

/** Per step where both recordings have steps, unless the address asks for totals. */
export function usePerStep({ state, base }: Pick<PageProps, "state" | "base">, found: ComparedRuns | null): PerStep {
  const totals = useKey(state, TOTALS_KEY) === "1";
  const recorded = useMemo(() => {
    const steps = { run: found?.run.recorded_steps ?? 0, base: found?.base.recorded_steps ?? 0 };
    return base.run !== null && steps.run > 0 && steps.base > 0 ? steps : null;
  }, [found, base.run]);
  return { steps: totals ? null : recorded, recorded, found };
}

/** What the numbers are of, in a sentence. */
export function perStepText({ steps, recorded, found }: PerStep): string {
  if (found === null) return "Times and counts are totals of the recordings.";
  if (recorded === null) return "Times and counts are totals of the recordings, which may differ in length: not both have steps.";
  const length = `${plural(recorded.base, "step")} in the base, ${plural(recorded.run, "step")} here.`;
  return steps === null ? `Times and counts are totals of the recordings: ${length}` : `Times and counts are per step: ${length}`;
}

/** Switches between both; nothing if a side has no steps. */
export function PerStepSwitch({ per: { steps, recorded }, state }: { per: PerStep; state: UrlState }) {
  if (recorded === null) return null;
  return (
    <span class="segmented" role="group" aria-label="Times and counts">
      {[false, true].map((totals) => (
        <button
          key={String(totals)}
          type="button"
          aria-pressed={(steps === null) === totals}
          onClick={() => state.set({ [TOTALS_KEY]: totals ? "1" : null }, "push")}
        >
          {totals ? "Total" : "Per step"}
        </button>
      ))}
    </span>
  );
}
