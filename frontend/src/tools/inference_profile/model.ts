// Percentile charts, figures and summary of requests and batches. Pure.
import type { StackChart } from "../../base/chart/chart_spec";
import { filledSeries } from "../../base/chart/chart_data";
import { columnOf, propertyNumber } from "../../api/payload/fields";
import { formatCount, formatPercent, formatQuantity } from "../../base/format";
import { CATEGORIES } from "../../base/steps/step_category";
import type { CategoryId } from "../../base/steps/step_category";
import type { TableData } from "../../base/table/table_data";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import type { Model } from "./decode";

/** Parts of a request from bottom to top of a bar, with the step category whose colour they use. */
const PARTS: readonly (readonly [string, CategoryId])[] = [
  ["host_preprocessing", "host_compute"],
  ["host_batch_formation", "compilation"],
  ["host_runtime", "kernel_launch"],
  ["data_transfer_h2d", "device_to_device"],
  ["device_compute", "device_compute"],
  ["data_transfer_d2h", "output"],
  ["host_postprocess", "collectives"],
  ["idle time", "idle"],
];

/** The rows of sampled requests or batches. */
function sampleRows(table: TableData): number[] {
  const labels = columnOf(table, "percentile") ?? [];
  return labels.flatMap((label, row) => (typeof label === "string" && /^\d+(\.\d+)?$/.test(label) ? [row] : []));
}

const numberAt = (table: TableData, id: string, row: number): number | null => {
  const value = columnOf(table, id)?.[row];
  return typeof value === "number" ? value : null;
};

/** The part whose column is a wait that overlaps the others; the bars show what the others leave of the latency. */
const REST = "host_batch_formation";

/** Time of a part of a request, so that the parts add up to its latency. */
function partAt(table: TableData, id: string, row: number): number | null {
  if (id !== REST) return numberAt(table, id, row);
  const latency = numberAt(table, "latency_ms", row);
  if (latency === null) return numberAt(table, id, row);
  const others = PARTS.reduce((all, [other]) => all + (other === REST ? 0 : (numberAt(table, other, row) ?? 0)), 0);
  return Math.max(0, latency - others);
}

/** Begin and end of the sampled items in ps on the time axis of the trace; null if unknown. */
export function sampleWindows(table: TableData): ({ begin: number; end: number } | null)[] {
  return sampleRows(table).map((row) => {
    const [begin, end] = [numberAt(table, "begin_ms", row), numberAt(table, "end_ms", row)];
    return begin !== null && end !== null && end > begin ? { begin: Math.round(begin * 1e9), end: Math.round(end * 1e9) } : null;
  });
}

/** Latency of the sampled requests by percentile; null without samples. */
export function requestChart(requests: TableData): StackChart | null {
  const rows = sampleRows(requests);
  if (rows.length === 0) return null;
  const labels = columnOf(requests, "percentile") ?? [];
  const parts = PARTS.flatMap(([id, category]) => {
    const column = requests.columns.find((one) => one.id === id);
    return column
      ? [{ name: column.label, colour: CATEGORIES[category].colour, values: rows.map((row) => partAt(requests, id, row)) }]
      : [];
  });
  return {
    kind: "stack",
    x: { name: "Percentile", unit: null, labels: rows.map((row) => `${Number(labels[row])}%`) },
    y: { name: "Time", unit: "ms" },
    series: filledSeries(parts),
    total: "Latency",
  };
}

/** Latency of the sampled batches: batching delay, device compute, other. */
export function batchChart(batches: TableData): StackChart | null {
  const rows = sampleRows(batches);
  if (rows.length === 0) return null;
  const labels = columnOf(batches, "percentile") ?? [];
  const rest = rows.map((row) => Math.max(0, (numberAt(batches, "latency", row) ?? 0) - (numberAt(batches, "device_compute", row) ?? 0)));
  return {
    kind: "stack",
    x: { name: "Percentile", unit: null, labels: rows.map((row) => `${Number(labels[row])}%`) },
    y: { name: "Time", unit: "ms" },
    series: filledSeries([
      {
        name: "Batching delay",
        colour: CATEGORIES.compilation.colour,
        values: rows.map((row) => numberAt(batches, "batching_delay_us", row)),
      },
      {
        name: "Device compute",
        colour: CATEGORIES.device_compute.colour,
        values: rows.map((row) => numberAt(batches, "device_compute", row)),
      },
      { name: "Other processing", colour: CATEGORIES.host_compute.colour, values: rest },
    ]),
    total: "Delay and processing",
  };
}

function averageRow(table: TableData): number {
  return (columnOf(table, "percentile") ?? []).findIndex((label) => label === "Average" || label === "Aggregated");
}

/** The parts of the average request; empty if unknown. */
export function averageParts({ requests }: Model): SharePart[] {
  const row = averageRow(requests);
  const parts = PARTS.flatMap(([id, category]) => {
    const column = requests.columns.find((one) => one.id === id);
    const value = column ? partAt(requests, id, row) : null;
    return column && value !== null && value > 0
      ? [{ name: column.label, help: column.help ?? "", value, colour: CATEGORIES[category].colour }]
      : [];
  });
  const total = parts.reduce((all, { value }) => all + value, 0);
  return parts.map(({ name, help, value, colour }) => ({ name, help, colour, share: value / total, text: formatQuantity(value, "ms") }));
}

/** Title and sentence of the summary. */
export function summary(model: Model): { title: string; sentence: string } {
  const latency = propertyNumber(model.requests.properties, "averageLatencyMs");
  const rate = propertyNumber(model.requests.properties, "throughput");
  const largest = [...averageParts(model)].sort((a, b) => b.share - a.share)[0];
  const title =
    `A request takes ${formatQuantity(latency, "ms")} on average` +
    `${largest ? `; ${formatPercent(100 * largest.share)} of it is ${largest.name.toLowerCase()}` : ""}`;
  return { title, sentence: `${rate === null ? "-" : formatCount(rate)} requests per second.` };
}

const PARAMETERS = [
  ["NumBatchThreads", "Batch threads", "Threads that process batches concurrently."],
  ["MaxBatchSize", "Largest batch size", "Maximum number of inputs in a batch."],
  ["BatchTimeoutMicros", "Batch timeout", "Maximum time that a batch waits for more requests."],
  ["MaxEnqueuedBatches", "Maximum batches in the queue", "Further requests are rejected."],
  ["AllowedBatchSizes", "Allowed batch sizes", "Batches are padded to the next larger of these."],
] as const;

/** The server's batching parameters; empty if the profile does not contain them. */
export function parameterFigures({ properties }: TableData): Figure[] {
  if (properties["hasBatchingParam"] !== "true") return [];
  return PARAMETERS.map(([key, name, help]) => {
    const text = properties[`batchingParam${key}`] ?? "";
    const value = key === "BatchTimeoutMicros" && text !== "" && Number.isFinite(Number(text)) ? formatQuantity(Number(text), "us") : text;
    return { name, help, value: value || null };
  });
}

export function rateFigures({ properties }: TableData, what: string): Figure[] {
  const rate = propertyNumber(properties, "throughput");
  const latency = propertyNumber(properties, "averageLatencyMs");
  return [
    {
      name: "Throughput",
      value: rate === null ? null : `${formatCount(rate)} ${what}/s`,
      better: "higher",
      help: `Completed ${what} per second.\nTheir number divided by the time from the first begin to the last end.\nSource: trace.`,
    },
    {
      name: "Average latency",
      value: latency === null ? null : formatQuantity(latency, "ms"),
      better: "lower",
      help: `Time from begin to end.\nMean over all ${what}.\nSource: trace.`,
    },
  ];
}

/** Columns for which the server computes no percentiles. */
const NO_ORDER = new Set(["throughput", "begin_ms", "end_ms"]);

/** Labels of the columns that support percentiles. */
export function sortColumns(table: TableData): string[] {
  return table.columns.filter((column) => column.kind === "number" && !NO_ORDER.has(column.id)).map((column) => column.label);
}
