// Which columns the tables of ops show, in which order; the column chooser has all others.
import { SIDE, baseOf, differenceOf } from "../base/table/difference";
import { firstColumns } from "../base/table/transform";
import type { TableData } from "../base/table/table_data";

/** Ids of columns, the most telling first. */
type Columns = readonly string[];

export const COLUMNS = {
  hlo_stats: [
    "hlo_op_name",
    "busy_share",
    "total_self_time",
    "source_info",
    "occurrences",
    "avg_time",
    "bound_by",
    "category",
    "tf_op_name",
    "model_flop_rate",
    "hbm_bw",
    "program_id",
    "hlo_op_expression",
  ],
  roofline_ops: [
    "operation",
    "total_self_time_percent",
    "total_self_time",
    "source_info",
    "bound_by",
    "roofline_efficiency",
    "measured_flop_rate",
    "hbm_bw",
    "bottleneck_operational_intensity",
    "category",
    "occurrences",
  ],
  roofline_program: [
    "step",
    "total_time_per_core",
    "bound_by",
    "roofline_efficiency",
    "measured_flop_rate",
    "hbm_bw",
    "bottleneck_operational_intensity",
    "compute_efficiency",
    "max_mem_bw_utilization",
  ],
  framework_op_stats: [
    "operation",
    "host_or_device",
    "total_self_time",
    "device_total_self_time_percent",
    "host_total_self_time_percent",
    "occurrences",
    "type",
    "bound_by",
    "measured_flop_rate",
  ],
  kernel_launches: [
    "kernel_name",
    "share",
    "total_duration_us",
    "occurrences",
    "avg_duration_us",
    "op_name",
    "grid_dim",
    "block_dim",
    "min_duration_us",
    "max_duration_us",
    "registers_per_thread",
    "shmem_bytes",
    "occupancy_pct",
    "is_op_tensor_core_eligible",
    "is_kernel_using_tensor_core",
  ],
  kernel_groups: [
    "name",
    "share",
    "total_duration_us",
    "occurrences",
    "avg_duration_us",
    "occupancy_pct",
    "registers_per_thread",
    "shmem_bytes",
    "others",
    "launches",
    "min_duration_us",
    "max_duration_us",
    "eligible",
    "uses",
  ],
} as const satisfies Readonly<Record<string, Columns>>;

/** What texts say of a row that nothing is known of. */
const UNKNOWN = "Unknown";

/**
 * The shown columns first, and the ids of those that are hidden until the user chooses them: all others, and shown ones
 * without a value. Of a table with a base, the numbers in `compared` come after the name, each with its difference, the
 * first with its base, too.
 */
export function arranged(table: TableData, columns: Columns, compared: readonly string[] = []): { table: TableData; hidden: string[] } {
  const [name = "", ...others] = columns;
  const joined = table.columns.some(({ id }) => id === SIDE);
  const differences = joined ? [...compared.flatMap((id, i) => [id, ...(i === 0 ? [baseOf(id)] : []), differenceOf(id)]), SIDE] : [];
  const shown = [name, ...new Set([...differences, ...others])];
  const empty = ({ id, values }: TableData["columns"][number]): boolean =>
    id !== name && values.every((value) => value === null || value === "" || value === UNKNOWN);
  return {
    table: firstColumns(table, shown),
    hidden: table.columns.filter((column) => !shown.includes(column.id) || empty(column)).map(({ id }) => id),
  };
}
