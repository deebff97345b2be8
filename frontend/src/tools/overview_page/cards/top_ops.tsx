// Card of the ops with the most self time on the device.
import { useMemo } from "preact/hooks";

import { withoutColumns } from "../../../base/table/transform";
import { storeAt } from "../../../page/page_state";
import { plural } from "../../../base/format";
import { Card } from "../../../widgets/content/card";
import { FitTable } from "../../../widgets/table/fit_table";
import { Link } from "../../../widgets/content/link";
import { lacksDevices } from "../decode";
import type { PartProps } from "../part";

const RATE_HELP =
  "FLOPs of the op by its time with nested ops.\n" +
  "Missing where the costs are unknown, and above the peak of a core: such ops, as copies that only start in their " +
  "time, work outside it.\n" +
  "Source: HLO cost estimate, trace.";

export function TopOps({ page, overview, open, keys, tools, fileName }: PartProps) {
  const { state } = page;
  const { ops } = overview;
  const peak = overview.extras?.peakGflops ?? Infinity;
  const device = overview.environment["device_type"] || "the device";
  const data = useMemo(() => {
    const rates = ops.columns.find(({ id }) => id === "flopRate")?.values ?? [];
    // Zero means that the costs are unknown.
    if (!rates.some((rate) => typeof rate === "number" && rate > 0)) return withoutColumns(ops, ["flopRate"]);
    return {
      ...ops,
      columns: ops.columns.map((column) =>
        column.id === "flopRate"
          ? { ...column, help: RATE_HELP, values: column.values.map((rate) => (Number(rate) <= peak ? rate || null : null)) }
          : column,
      ),
    };
  }, [ops, peak]);
  const store = storeAt(state, "t1");
  if (ops.rowCount === 0) {
    return (
      <Card title="Top operations on the device">
        <p class="dim">
          No device op was recorded
          {lacksDevices(overview)
            ? ": the host ran programs on devices that were not recorded"
            : Number(overview.environment["device_core_count"] ?? 0) === 0
              ? ": this profile is from a host without devices"
              : ""}
          . {overview.extras?.cpuOps && tools.has("op_profile") ? <Link to={keys("op_profile")}>XLA ops of the CPU</Link> : null}
        </p>
      </Card>
    );
  }
  const name = data.columns.findIndex(({ id }) => id === "operation");
  const openOp = (row: number): void =>
    open("framework_op_stats", { "t1.filter": `operation~${String(data.columns[name]?.values[row] ?? "").replace(/[\\,;~]/g, "\\$&")}` });
  return (
    <Card
      title={`Top ${plural(ops.rowCount, "operation")} on ${device}`}
      collapsed={false}
      class="top-ops"
      help={
        "Framework ops by self time on the device, without idle time; shares are of the time of all ops.\n" +
        "The category is the type of the framework op; where that is unknown, the HLO category.\n" +
        "Source: trace, HLO for names and costs."
      }
    >
      <FitTable
        most={330}
        data={data}
        title=""
        fileName={`${fileName}_top_ops`}
        store={store}
        {...(tools.has("framework_op_stats") ? { onOpen: openOp } : {})}
      />
    </Card>
  );
}
