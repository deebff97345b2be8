// Which columns the tables of ops show, in which order and under which names; the column chooser has all others.
import { SIDE, baseOf, differenceOf } from "../base/table/difference";
import { firstColumns, relabelled } from "../base/table/transform";
import type { TableData } from "../base/table/table_data";

/** Labels by id of column, the most telling first. */
type Columns = Readonly<Record<string, string>>;

export const COLUMNS = {
  hlo_stats: {
    hlo_op_name: "Op",
    busy_share: "Busy share",
    total_self_time: "Self time",
    source_info: "Source",
    occurrences: "Runs",
    avg_time: "Avg. time",
    bound_by: "Closest limit",
    category: "Category",
    tf_op_name: "Framework op",
    model_flop_rate: "FLOP rate",
    hbm_bw: "HBM bandwidth",
    program_id: "Program",
    hlo_op_expression: "HLO text",
  },
  roofline_ops: {
    operation: "Op",
    total_self_time_percent: "Share of all time",
    total_self_time: "Self time",
    source_info: "Source",
    bound_by: "Closest limit",
    roofline_efficiency: "Of the roofline",
    measured_flop_rate: "FLOP rate",
    hbm_bw: "HBM bandwidth",
    bottleneck_operational_intensity: "Intensity",
    category: "Category",
    occurrences: "Runs",
  },
  roofline_program: {
    step: "Step",
    total_time_per_core: "Time per core",
    bound_by: "Closest limit",
    roofline_efficiency: "Of the roofline",
    measured_flop_rate: "FLOP rate",
    hbm_bw: "HBM bandwidth",
    bottleneck_operational_intensity: "Intensity",
    compute_efficiency: "Of peak FLOPS",
    max_mem_bw_utilization: "Of peak bandwidth",
  },
  framework_op_stats: {
    operation: "Op",
    host_or_device: "Where",
    total_self_time: "Self time",
    device_total_self_time_percent: "",
    host_total_self_time_percent: "",
    occurrences: "Runs",
    avg_self_time: "Avg. self time",
    type: "Type",
    bound_by: "Closest limit",
    measured_flop_rate: "FLOP rate",
    measured_memory_bw: "Bandwidth",
    operational_intensity: "Intensity",
  },
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
    "others",
    "launches",
    "min_duration_us",
    "max_duration_us",
    "eligible",
    "uses",
  ],
} as const satisfies Readonly<Record<string, Columns | readonly string[]>>;

/** The labels of shown columns; "" keeps the table's own. */
export const labelled = (table: TableData, columns: Columns): TableData =>
  relabelled(table, Object.fromEntries(Object.entries(columns).filter(([, label]) => label !== "")));

/**
 * The shown columns first, and the ids of those that are hidden until the user chooses them: all others, and shown ones
 * without a value. Of a table with a base, the numbers in `compared` come after the name, each with its difference, the
 * first with its base, too.
 */
export function arranged(
  table: TableData,
  columns: Columns | readonly string[],
  compared: readonly string[] = [],
): { table: TableData; hidden: string[] } {
  const [name = "", ...others] = Array.isArray(columns) ? (columns as readonly string[]) : Object.keys(columns);
  const joined = table.columns.some(({ id }) => id === SIDE);
  const differences = joined ? [...compared.flatMap((id, i) => [id, ...(i === 0 ? [baseOf(id)] : []), differenceOf(id)]), SIDE] : [];
  const shown = [name, ...new Set([...differences, ...others])];
  const empty = ({ id, values }: TableData["columns"][number]): boolean =>
    id !== name && values.every((value) => value === null || value === "");
  return {
    table: firstColumns(table, shown),
    hidden: table.columns.filter((column) => !shown.includes(column.id) || empty(column)).map(({ id }) => id),
  };
}
