// The overview of a base: step time and its parts in both runs, and what changed.
import { useMemo } from "preact/hooks";
import { BaseLine, COMPARE, useBase, useComparison } from "../../../page/compare/base_run";
import { storeAt } from "../../../page/page_state";
import { amountsTable } from "../../../base/table/difference";
import { statisticsOf } from "../../../base/steps/steps";
import { Card } from "../../../widgets/content/card";
import { FitTable } from "../../../widgets/table/fit_table";
import { readOverview, richSteps } from "../decode";
import type { Overview } from "../decode";
import type { PartProps } from "../part";

/** Average step time and its parts in ms; the time is null without steps. */
function stepAmounts(overview: Overview): [string, number | null][] {
  const steps = richSteps(overview);
  const parts = [...steps.parts].reverse().map(({ name, ms }): [string, number | null] => [name, statisticsOf(ms)?.average ?? null]);
  return [["Average step time", steps.time?.average ?? null], ...parts.filter(([, ms]) => ms !== null && ms > 0)];
}

export function BaseCard({ page, overview, open, fileName }: PartProps) {
  const { run, tool, host, state } = page;
  const base = useBase(page, {
    read: readOverview,
    params: { run, tag: tool.id, host: host ?? undefined, extended: "true", step_event: state.get("step_event") },
  });
  const comparison = useComparison(page);
  const table = useMemo(
    () => (base.data === null ? null : amountsTable("Per step", "ms", stepAmounts(overview), stepAmounts(base.data))),
    [overview, base.data],
  );
  const store = useMemo(() => storeAt(state, "t2"), [state]);
  if (base.run === null) return null;
  const none =
    base.data !== null && (richSteps(overview).time === null || richSteps(base.data).time === null)
      ? "One side has no steps, so that step times cannot be compared."
      : "";
  return (
    <Card
      title="Against the base"
      help={
        "Mean over the steps, each on its slowest host.\nThe sentence is about the devices' steps, as on the page Compare.\nSource: trace."
      }
    >
      <BaseLine page={page} answer={base} note={none} />
      {comparison === null ? null : (
        <p>
          <b>{comparison.headline.text}</b>{" "}
          <button type="button" class="link" onClick={() => open(COMPARE)}>
            What changed
          </button>
        </p>
      )}
      {table === null || none !== "" ? null : <FitTable most={320} data={table} title="" fileName={`${fileName}_base`} store={store} />}
    </Card>
  );
}
