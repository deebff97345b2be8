// Perf counters: the values of performance counters, as they were recorded.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount } from "../../page/page_state";
import { documentOf } from "../../api/client";
import { plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { hiding } from "../../base/table/transform";
import { Panel } from "../../widgets/status/panel";
import { Table } from "../../widgets/table/table";
import { useLoad } from "../../widgets/status/use_load";
import "./page.css";

/** Columns with one value in all rows. */
export function hiddenColumns(table: TableData): string[] {
  return table.columns
    .filter(({ id, values }) => (id === "host" || id === "sets") && values.every((value) => value === values[0]))
    .map(({ id }) => id);
}

function PerfCountersPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const params = { run, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "perf_counters", params, { signal }));
  const table = answer.data?.counters ?? null;
  const store = useMemo(
    () => table && hiding({ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }, hiddenColumns(table)),
    [state, table],
  );
  if (table === null || store === null)
    return (
      <Pending answer={answer} page={page} what={`Reading the counters of ${plural(hostCount(tool, host, hosts), "host")}`} rows={16} />
    );
  if (table.rowCount === 0) {
    return (
      <Panel
        tone="empty"
        title="No values of performance counters"
        why="No event of a TPU or GPU has the stat counter_value, or the devices that do have no id."
        todo={["Capture with performance counters.", "Utilization that a profiler sampled in percent is in the trace viewer."]}
      />
    );
  }
  return (
    <div class="perf-counters">
      <Table data={table} title="Perf Counters" fileName={fileNameOf("perf_counters", run, host)} store={store} />
    </div>
  );
}

const page: PageModule = { ids: ["perf_counters"], Page: PerfCountersPage };
export default page;
