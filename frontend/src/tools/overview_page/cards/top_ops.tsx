// Card of the ops with the most self time on the device.
import { storeAt } from "../../../page/page_state";
import { plural } from "../../../base/format";
import { Card } from "../../../widgets/content/card";
import { FitTable } from "../../../widgets/table/fit_table";
import { Link } from "../../../widgets/content/link";
import type { PartProps } from "../part";

export function TopOps({ page, overview, open, keys, tools, fileName }: PartProps) {
  const { state } = page;
  const { ops } = overview;
  const { device_type, device_cores, devices_recorded } = overview.environment;
  const store = storeAt(state, "t1");
  if (ops.rowCount === 0) {
    return (
      <Card title="Top operations on the device" collapsed={page.reading === "own"}>
        <p class="dim">
          No device op was recorded
          {!devices_recorded
            ? ": the host ran programs on devices that were not recorded"
            : device_cores === 0
              ? ": this profile is from a host without devices"
              : ""}
          . {overview.cpu_ops && tools.has("op_profile") ? <Link to={keys("op_profile")}>XLA ops of the CPU</Link> : null}
        </p>
      </Card>
    );
  }
  const names = ops.columns.find(({ id }) => id === "operation")?.values ?? [];
  const openOp = (row: number): void =>
    open("framework_op_stats", { "t1.filter": `operation~${String(names[row] ?? "").replace(/[\\,;~]/g, "\\$&")}` });
  return (
    <Card
      title={`Top ${plural(ops.rowCount, "operation")} on ${device_type || "the device"}`}
      collapsed={page.reading === "own"}
      class="top-ops"
      help={
        "Framework ops by self time on the device, without idle time; shares are of the time of all ops.\n" +
        "The category is the type of the framework op; where that is unknown, the HLO category.\n" +
        "Source: trace, HLO for names and costs."
      }
    >
      <FitTable
        most={330}
        data={ops}
        title=""
        fileName={`${fileName}_top_ops`}
        store={store}
        {...(tools.has("framework_op_stats") ? { onOpen: openOp } : {})}
      />
    </Card>
  );
}
