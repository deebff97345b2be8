// Kernels of a profile: filters, groups and summary. Pure.
import type { KernelStats } from "../../base/documents";
import { makeTable, numberColumn, textColumn } from "../../base/table/columns";
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import { joinTables, keysOf, pairRows, withoutNumber } from "../../base/table/difference";
import type { Keys, Steps } from "../../base/table/difference";
import { cutMiddle, formatPercent, formatTime, plural } from "../../base/format";
import { constantColumns, pickRows, rowsWhere, shortening } from "../../base/table/transform";
import { shortKernelNames } from "../../base/kernel_name";
import { sumBy } from "../../base/chart/slices";
import type { Amount } from "../../base/chart/slices";
import type { Cell, TableColumn, TableData } from "../../base/table/table_data";

/** The first is shown first. */
export const GROUPS = ["kernel", "launch", "op"] as const;
export type Group = (typeof GROUPS)[number];
export const NO_OP = "(no op)";

export interface Kernels {
  table: TableData;
  kernel: readonly string[];
  op: readonly string[];
  /** A kernel's short name. */
  shortName: (kernel: string) => string;
  totalUs: readonly number[];
  /** Time of all kernels of the profile, whatever the filters. */
  allUs: number;
}

const WHAT = "the table of kernels";
/** Names in sentences are truncated to this length. */
const LONGEST_NAME = 60;
/** Numbers that are shown with those of a base. */
export const COMPARED = ["total_duration_us", "occurrences", "avg_duration_us"];

/** The kernels with short names in cells. */
export function kernelsOf({ kernels: table }: KernelStats): Kernels {
  const totalUs = numbersOf(table, "total_duration_us", WHAT);
  const kernel = textsOf(table, "kernel_name", WHAT);
  const short = shortKernelNames(kernel);
  const shortName = (name: string): string => short.get(name) ?? shortKernelNames([name]).get(name) ?? name;
  return {
    table: shortening(table, "kernel_name", shortName),
    kernel,
    shortName,
    op: textsOf(table, "op_name", WHAT),
    totalUs,
    allUs: totalUs.reduce((a, b) => a + b, 0),
  };
}

/** What a kernel takes of a multiprocessor; GPUs that do not record it have no value. */
const RESOURCES = ["occupancy_pct", "registers_per_thread", "shmem_bytes"] as const;

/** Columns with the same value in every row are hidden at first, but for those that identify or measure. */
export function sameEverywhere(table: TableData): string[] {
  const kept: readonly string[] = ["kernel_name", "name", "share", "op_name", "others", ...RESOURCES, ...COMPARED];
  return constantColumns(table).filter((id) => !kept.includes(id));
}

/** Launches whose kernel and op contain the texts, case-insensitive; `-` as op matches kernels without one. */
export function filterKernels(kernels: Kernels, kernel: string, op: string): Kernels {
  const [k, o] = [kernel.trim().toLowerCase(), op.trim().toLowerCase()];
  if (!k && !o) return kernels;
  const rows = rowsWhere(kernels.table, (row) => {
    const ofOp = (kernels.op[row] ?? "").toLowerCase();
    return (kernels.kernel[row] ?? "").toLowerCase().includes(k) && (o === "-" || o === NO_OP ? ofOp === "" : ofOp.includes(o));
  });
  const take = <T>(values: readonly T[]): T[] => rows.map((row) => values[row] as T);
  return {
    ...kernels,
    table: pickRows(kernels.table, rows),
    kernel: take(kernels.kernel),
    op: take(kernels.op),
    totalUs: take(kernels.totalUs),
  };
}

/** Durations by kernel or by op, longest first. */
export function amounts({ kernel, op, totalUs }: Kernels, group: Group): Amount[] {
  return sumBy(group === "op" ? op.map((name) => name || NO_OP) : kernel, totalUs);
}

/** One row per kernel or op, longest first. */
export function groupKernels(kernels: Kernels, group: Group): TableData {
  if (group === "launch") return kernels.table;
  const names = group === "op" ? kernels.op.map((name) => name || NO_OP) : kernels.kernel;
  const all = amounts(kernels, group);
  const rowsOf = new Map(all.map(({ name }) => [name, [] as number[]]));
  names.forEach((name, row) => rowsOf.get(name)?.push(row));
  const lists = all.map(({ name }) => rowsOf.get(name) ?? []);
  const values = (id: string): readonly (number | null)[] => numbersOf(kernels.table, id, WHAT);
  const fold = (id: string, join: (a: number, b: number) => number): number[] => {
    const from = values(id);
    return lists.map((rows) => rows.map((row) => from[row] ?? 0).reduce((a, b) => join(a, b)));
  };
  const sum = (a: number, b: number): number => a + b;
  /** The largest of the launches that have a value; of occupancy the least. */
  const resource = (id: (typeof RESOURCES)[number]): (number | null)[] => {
    const from = columnOf(kernels.table, id) ?? [];
    const pick = id === "occupancy_pct" ? Math.min : Math.max;
    return lists.map((rows) => {
      const known = rows.flatMap((row) => (typeof from[row] === "number" ? [from[row]] : []));
      return known.length > 0 ? pick(...known) : null;
    });
  };
  const runs = fold("occurrences", sum);
  const total = kernels.allUs;
  const uses = columnOf(kernels.table, "is_kernel_using_tensor_core");
  const eligible = columnOf(kernels.table, "is_op_tensor_core_eligible");
  const any = (flags: readonly unknown[] | null): boolean[] => lists.map((rows) => rows.some((row) => flags?.[row] === true));
  const other = group === "op" ? kernels.kernel : kernels.op;
  const others = lists.map((rows) => [...new Set(rows.map((row) => other[row] ?? ""))].filter(Boolean));
  // Declared as the column of launches that is added up.
  const like = (id: string, cells: readonly Cell[], change: Partial<TableColumn> = {}): TableColumn => ({
    ...(kernels.table.columns.find((column) => column.id === id) ?? textColumn(id, id, null, [])),
    values: cells,
    ...change,
  });
  return makeTable(
    [
      like(
        group === "op" ? "op_name" : "kernel_name",
        all.map(({ name }) => name),
        { id: "name", help: "All launches together." },
      ),
      like(
        "share",
        all.map(({ value }) => (total > 0 ? value / total : null)),
      ),
      like(
        "total_duration_us",
        all.map(({ value }) => value),
      ),
      like("occurrences", runs),
      like(
        "avg_duration_us",
        all.map(({ value }, i) => value / (runs[i] || 1)),
      ),
      like("min_duration_us", fold("min_duration_us", Math.min)),
      like("max_duration_us", fold("max_duration_us", Math.max)),
      numberColumn(
        "launches",
        "Launch shapes",
        null,
        "Number of distinct combinations of grid, block, registers and op.",
        lists.map(({ length }) => length),
      ),
      ...RESOURCES.filter((id) => columnOf(kernels.table, id) !== null).map((id) =>
        like(id, resource(id), { help: id === "occupancy_pct" ? "The least of its launches." : "The most of its launches." }),
      ),
      like("is_op_tensor_core_eligible", any(eligible), { id: "eligible", help: "Whether any of its ops can run on tensor cores." }),
      like("is_kernel_using_tensor_core", any(uses), {
        id: "uses",
        help: "Whether any of its kernels uses tensor cores, judged by the kernel name.",
      }),
      textColumn(
        "others",
        group === "op" ? "Kernels" : "Ops",
        "The ops of this kernel, or the kernels of this op.",
        others.map((names) => names.join(", ")),
      ),
    ],
    kernels.table.properties,
  );
}

export interface Summary {
  headline: string;
  lines: string[];
}

/** The summary above the table; percentages are parts of the time of all kernels, whatever the filters. */
export function summaryOf(kernels: Kernels): Summary {
  const total = kernels.allUs;
  const shown = kernels.totalUs.reduce((a, b) => a + b, 0);
  const percent = (part: number): string => formatPercent(total > 0 ? (100 * part) / total : 0);
  const [top] = amounts(kernels, "kernel");
  const uses = columnOf(kernels.table, "is_kernel_using_tensor_core") ?? [];
  const eligible = columnOf(kernels.table, "is_op_tensor_core_eligible") ?? [];
  const sum = (test: (row: number) => boolean): number => kernels.totalUs.reduce((all, one, row) => all + (test(row) ? one : 0), 0);
  const missed = sum((row) => eligible[row] === true && uses[row] !== true);
  const nameless = sum((row) => !kernels.op[row]);
  const count = new Set(kernels.kernel).size;
  return {
    headline: top
      ? `${cutMiddle(kernels.shortName(top.name), LONGEST_NAME)} takes ${percent(top.value)} of the kernel time`
      : "No kernel matches the filters",
    lines: [
      `${plural(count, "kernel")}, ${formatTime(shown * 1e6)} in total` +
        `${shown < total ? ` (${percent(shown)} of the kernel time)` : ""}. ${percent(sum((row) => uses[row] === true))} ` +
        "of the time was on tensor or matrix cores, judged by kernel names.",
      ...(missed > 0.01 * total
        ? [
            `${percent(missed)} of the time is in ops that can use them but ran kernels that do not: check data types, sizes ` +
              "(multiples of 8 or 16) and layouts.",
          ]
        : []),
      nameless > 0
        ? `${percent(nameless)} of the time has no op name (memory copies, libraries, kernels inside CUDA graphs).`
        : "Every kernel has an op name.",
    ],
  };
}

const LAUNCH_KEYS = ["kernel_name", "op_name", "registers_per_thread", "shared_bytes", "block_dim", "grid_dim"];
const SUMS = ["total_duration_us", "occurrences"];
const COUNTS = ["launches"];
const RATES = ["share", "avg_duration_us", "min_duration_us", "max_duration_us"];

/** The rows of the shown kernels with those of a base, which passed the same filters. */
export function withBaseKernels(table: TableData, base: TableData, group: Group, perStep: Steps | null = null): TableData {
  const both = (of: (one: TableData) => string[], unique = false): Keys => ({ run: of(table), base: of(base), unique });
  const levels =
    group === "launch"
      ? [
          both((one) => keysOf(one, LAUNCH_KEYS)),
          both((one) => keysOf(one, ["kernel_name", "op_name"]), true),
          both((one) => keysOf(one, ["kernel_name"]), true),
        ]
      : [both((one) => keysOf(one, ["name"])), ...(group === "op" ? [both((one) => keysOf(one, ["name"]).map(withoutNumber), true)] : [])];
  return joinTables(table, base, pairRows(levels), { sums: SUMS, counts: COUNTS, rates: RATES, perStep });
}
