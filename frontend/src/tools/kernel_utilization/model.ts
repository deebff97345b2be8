// Kernels and the utilization of their units: headline, shares, table. Pure.
import { numbersOf, textsOf } from "../../api/payload/fields";
import { formatPercent, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";

const WHAT = "the table of kernels";

export interface Share {
  name: string;
  percent: number;
}

export interface Kernel {
  name: string;
  host: string;
  device: number;
  deviceType: string;
  durationUs: number;
  mxu: number;
  precisions: readonly Share[];
  others: readonly Share[];
}

/** The kernels of the table, in its order. */
export function kernelsOf(table: TableData): Kernel[] {
  const [names, hosts, types] = [textsOf(table, "kernel", WHAT), textsOf(table, "host", WHAT), textsOf(table, "device_type", WHAT)];
  const [devices, durations, mxu] = [
    numbersOf(table, "device", WHAT),
    numbersOf(table, "duration_us", WHAT),
    numbersOf(table, "mxu_percent", WHAT),
  ];
  const shares = (prefix: string, row: number): Share[] =>
    table.columns.flatMap(({ id, label, values }) => {
      const percent = values[row];
      return id.startsWith(prefix) && typeof percent === "number" ? [{ name: label, percent }] : [];
    });
  return names.map((name, row) => ({
    name,
    host: hosts[row] ?? "",
    device: devices[row] ?? 0,
    deviceType: types[row] ?? "",
    durationUs: durations[row] ?? 0,
    mxu: mxu[row] ?? 0,
    precisions: shares("precision_", row),
    others: shares("unit_", row),
  }));
}

/** The kernel that uses the matrix units least among those that take the most time. */
export function headline(kernels: readonly Kernel[]): { title: string; sentences: string[] } {
  const longest = kernels.reduce((best, kernel) => (kernel.durationUs > best.durationUs ? kernel : best), kernels[0] as Kernel);
  const mean = kernels.reduce((sum, { mxu }) => sum + mxu, 0) / kernels.length;
  const wrong = kernels.filter(({ mxu }) => mxu > 100);
  const [busiest] = longest.others
    .filter(({ name }) => !/^(No|1|2) |Ratio|Clocks Skipped/.test(name))
    .sort((a, b) => b.percent - a.percent);
  const sentences = [`${plural(kernels.length, "kernel")}; matrix units (MXU) busy in ${formatPercent(mean)} of their cycles on average.`];
  if (busiest && busiest.percent > 0)
    sentences.push(`Nearest to its peak in the longest kernel: ${busiest.name}, ${formatPercent(busiest.percent)}.`);
  if (wrong.length)
    sentences.push(
      `More than 100% busy, which cannot be: ${wrong
        .slice(0, 3)
        .map(({ name }) => name)
        .join(", ")}. The counters of cycles and of the MXU cover different times.`,
    );
  return { title: `${longest.name} keeps the matrix units busy ${formatPercent(longest.mxu)} of the time`, sentences };
}

const ANOMALY = "More than 100%: the counters of cycles and of the MXU cover different times.";

/** The table with doubts about shares that cannot be. */
export function withDoubts(table: TableData): TableData {
  const columns = table.columns.map((column) =>
    column.id === "mxu_percent" ? { ...column, doubts: column.values.map((value) => (Number(value) > 100 ? ANOMALY : null)) } : column,
  );
  return { ...table, columns };
}

/** Columns that are the same in all rows or empty, and the many units: they are drawn beside the table. */
export function hiddenColumns(table: TableData): string[] {
  return table.columns
    .filter(
      ({ id, values }) =>
        (id.startsWith("unit_") && values.every((value) => value === null || value === 0)) || (id === "host" && new Set(values).size < 2),
    )
    .map(({ id }) => id);
}
