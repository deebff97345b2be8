// Percentile charts, figures and summary of requests and batches. Pure.
import type { StackChart } from "../../base/chart/chart_spec";
import { filledSeries } from "../../base/chart/chart_data";
import { columnOf } from "../../api/payload/fields";
import { formatCount, formatPercent, formatQuantity } from "../../base/format";
import { CATEGORIES } from "../../base/steps/step_category";
import type { CategoryId } from "../../base/steps/step_category";
import type { BatchingParameters, Percentiles, ServedModel } from "../../base/documents";
import type { TableData } from "../../base/table/table_data";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";

/** Parts of a request from bottom to top of a bar, with the step category whose colour they use. */
const PARTS: readonly (readonly [string, CategoryId])[] = [
  ["host_preprocessing", "host_compute"],
  ["host_batch_formation", "compilation"],
  ["host_runtime", "kernel_launch"],
  ["data_transfer_h2d", "device_to_device"],
  ["device_compute", "device_compute"],
  ["data_transfer_d2h", "output"],
  ["host_postprocess", "collectives"],
  ["idle_time", "idle"],
];

const numberAt = (table: TableData, id: string, row: number): number | null => {
  const value = columnOf(table, id)?.[row];
  return typeof value === "number" ? value : null;
};

/** The part whose column is a wait that overlaps the others; the bars show what the others leave of the latency. */
const REST = "host_batch_formation";

/** Time of a part of a request, so that the parts add up to its latency. */
function partAt(table: TableData, id: string, row: number): number | null {
  if (id !== REST) return numberAt(table, id, row);
  const latency = numberAt(table, "latency", row);
  if (latency === null) return numberAt(table, id, row);
  const others = PARTS.reduce((all, [other]) => all + (other === REST ? 0 : (numberAt(table, other, row) ?? 0)), 0);
  return Math.max(0, latency - others);
}

/** Begin and end of the sampled items in ps on the time axis of the trace; null if the times are equal. */
export function sampleWindows({ rows, percentiles }: Percentiles): ({ begin: number; end: number } | null)[] {
  return percentiles.map((_, row) => {
    const [begin, end] = [numberAt(rows, "begin", row), numberAt(rows, "end", row)];
    return begin !== null && end !== null && end > begin ? { begin: Math.round(begin * 1e9), end: Math.round(end * 1e9) } : null;
  });
}

const labelsOf = ({ percentiles }: Percentiles): string[] => percentiles.map((percentile) => `${Number(percentile.toFixed(3))}%`);

/** Latency of the sampled requests by percentile; null without samples. */
export function requestChart(requests: Percentiles): StackChart | null {
  const { rows, percentiles } = requests;
  if (percentiles.length === 0) return null;
  const parts = PARTS.flatMap(([id, category]) => {
    const column = rows.columns.find((candidate) => candidate.id === id);
    return column
      ? [{ name: column.label, colour: CATEGORIES[category].colour, values: percentiles.map((_, row) => partAt(rows, id, row)) }]
      : [];
  });
  return {
    kind: "stack",
    x: { name: "Percentile", unit: null, labels: labelsOf(requests) },
    y: { name: "Time", unit: "ms" },
    series: filledSeries(parts),
    total: "Latency",
  };
}

/** Latency of the sampled batches: batching delay, device compute, other. */
export function batchChart(batches: Percentiles): StackChart | null {
  const { rows, percentiles } = batches;
  if (percentiles.length === 0) return null;
  const valuesOf = (id: string): (number | null)[] => percentiles.map((_, row) => numberAt(rows, id, row));
  const [processing, device] = [valuesOf("latency"), valuesOf("device_compute")];
  return {
    kind: "stack",
    x: { name: "Percentile", unit: null, labels: labelsOf(batches) },
    y: { name: "Time", unit: "ms" },
    series: filledSeries([
      { name: "Batching delay", colour: CATEGORIES.compilation.colour, values: valuesOf("batching_delay") },
      { name: "Device compute", colour: CATEGORIES.device_compute.colour, values: device },
      {
        name: "Other processing",
        colour: CATEGORIES.host_compute.colour,
        values: processing.map((latency, row) => Math.max(0, (latency ?? 0) - (device[row] ?? 0))),
      },
    ]),
    total: "Delay and processing",
  };
}

/** The parts of the average request; empty if unknown. */
export function averageParts({ requests: { rows } }: ServedModel): SharePart[] {
  const row = rows.rowCount - 1;
  const parts = PARTS.flatMap(([id, category]) => {
    const column = rows.columns.find((candidate) => candidate.id === id);
    const value = column ? partAt(rows, id, row) : null;
    return column && value !== null && value > 0
      ? [{ name: column.label, help: column.help ?? "", value, colour: CATEGORIES[category].colour }]
      : [];
  });
  const total = parts.reduce((all, { value }) => all + value, 0);
  return parts.map(({ name, help, value, colour }) => ({ name, help, colour, share: value / total, text: formatQuantity(value, "ms") }));
}

/** Title and sentence of the summary. */
export function summary(model: ServedModel): { title: string; sentence: string } {
  const { latency_ms, per_second } = model.requests;
  const largest = [...averageParts(model)].sort((a, b) => b.share - a.share)[0];
  const title =
    `A request takes ${formatQuantity(latency_ms, "ms")} on average` +
    `${largest ? `; ${formatPercent(100 * largest.share)} of it is ${largest.name.toLowerCase()}` : ""}`;
  return { title, sentence: `${formatCount(per_second)} requests per second.` };
}

const recorded = (count: number): string | null => (count > 0 ? String(count) : null);

/** The server's batching parameters. */
export function parameterFigures(server: BatchingParameters): Figure[] {
  const timeout = server.batch_timeout_micros;
  return [
    { name: "Batch threads", value: recorded(server.num_batch_threads), help: "Threads that process batches concurrently." },
    { name: "Largest batch size", value: recorded(server.max_batch_size), help: "Maximum number of inputs in a batch." },
    {
      name: "Batch timeout",
      value: timeout > 0 ? formatQuantity(timeout, "us") : null,
      help: "Maximum time that a batch waits for more requests.",
    },
    { name: "Maximum batches in the queue", value: recorded(server.max_enqueued_batches), help: "Further requests are rejected." },
    { name: "Allowed batch sizes", value: server.allowed_batch_sizes || null, help: "Batches are padded to the next larger of these." },
  ];
}

export function rateFigures({ per_second, latency_ms }: Percentiles, what: string): Figure[] {
  return [
    {
      name: `Throughput, ${what}`,
      value: `${formatCount(per_second)} ${what}/s`,
      better: "higher",
      help: `Completed ${what} per second.\nTheir number divided by the time from the first begin to the last end.\nSource: trace.`,
    },
    {
      name: `Average latency, ${what}`,
      value: formatQuantity(latency_ms, "ms"),
      better: "lower",
      help: `Time from begin to end.\nMean over all ${what}.\nSource: trace.`,
    },
  ];
}

/** Columns for which the server computes no percentiles. */
const NO_ORDER = new Set(["throughput", "begin", "end"]);

/** Labels of the columns that support percentiles. */
export function sortColumns(rows: TableData): string[] {
  return rows.columns.filter((column) => column.kind === "number" && !NO_ORDER.has(column.id)).map((column) => column.label);
}
