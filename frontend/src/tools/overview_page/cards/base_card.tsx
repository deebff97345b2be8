// The overview of a base: step time and its parts in both runs, and what changed.
import { useMemo } from "preact/hooks";
import { BaseLine, COMPARE, useBase, useComparison } from "../../../page/compare/base_run";
import { storeAt } from "../../../page/page_state";
import type { Overview } from "../../../base/documents";
import { amountsTable } from "../../../base/table/difference";
import { segmentsOf } from "../../../base/steps/decomposition";
import { breakdownIn } from "../../../base/steps/reading";
import { Card } from "../../../widgets/content/card";
import { FitTable } from "../../../widgets/table/fit_table";
import { Link } from "../../../widgets/content/link";
import { askedFor } from "../part";
import type { PartProps } from "../part";

const PS_PER_MS = 1e9;

/** The base of shares and its categories in ms; the time is null without steps. */
function stepAmounts(overview: Overview): [string, number | null][] {
  const parts = segmentsOf(overview.steps.decomposition).map(({ name, ps }): [string, number | null] => [name, ps / PS_PER_MS]);
  return [["Average step time", breakdownIn(overview).time?.average ?? null], ...parts];
}

export function BaseCard({ page, overview, keys, fileName }: PartProps) {
  const { run, tool, host, state } = page;
  const base = useBase<Overview>(page, { params: { run, tag: tool.id, host: host ?? undefined, ...askedFor(page) } });
  const comparison = useComparison(page);
  const table = useMemo(
    () => (base.data === null ? null : amountsTable("Per step", "ms", stepAmounts(overview), stepAmounts(base.data))),
    [overview, base.data],
  );
  const store = useMemo(() => storeAt(state, "t2"), [state]);
  if (base.run === null) return null;
  const none =
    base.data !== null && [overview, base.data].some((one) => breakdownIn(one).time === null)
      ? "One side has no steps, so that step times cannot be compared."
      : "";
  return (
    <Card
      title="Against the base"
      help={"Mean over the steps and the devices that take part.\nThe sentence is that of the page Compare.\nSource: trace."}
    >
      <BaseLine page={page} answer={base} note={none} />
      {comparison === null ? null : (
        <p>
          <b>{comparison.headline}</b> <Link to={keys(COMPARE)}>What changed</Link>
        </p>
      )}
      {table === null || none !== "" ? null : <FitTable most={320} data={table} title="" fileName={`${fileName}_base`} store={store} />}
    </Card>
  );
}
