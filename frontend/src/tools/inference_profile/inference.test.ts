import { describe, expect, it } from "vitest";
import type { BatchingParameters, Percentiles, ServedModel } from "../../base/documents";
import type { Cell } from "../../base/table/table_data";
import { tableOf } from "../../base/testing";
import { averageParts, batchChart, parameterFigures, rateFigures, requestChart, sampleWindows, sortColumns, summary } from "./model";

const LABELS: Readonly<Record<string, string>> = {
  latency: "Latency",
  host_preprocessing: "Host preprocess",
  host_batch_formation: "Host batch formation",
  device_compute: "Device compute",
};

function percentiles(values: Record<string, Cell[]>, more: Partial<Percentiles> = {}): Percentiles {
  const rows = tableOf(values);
  const columns = rows.columns.map((column) => ({ ...column, label: LABELS[column.id] ?? column.id }));
  return { rows: { ...rows, columns }, percentiles: [], count: 2, per_second: 0, latency_ms: 0, ...more };
}

const model: ServedModel = {
  name: "a",
  requests: percentiles(
    {
      percentile: ["0.000", "50.000", "Batch size 16", "Average"],
      request_id: ["4", "6", null, null],
      latency: [2, 4, 3, 3],
      throughput: [null, null, 500, 500],
      host_preprocessing: [1.5, 3, 2, 2.25],
      device_compute: [0.5, 1, 0.7, 0.75],
      begin: [10, null, null, null],
      end: [12, null, null, null],
    },
    { percentiles: [0, 50], per_second: 500, latency_ms: 3 },
  ),
  batches: percentiles(
    { percentile: ["0.000", "Aggregated"], latency: [1.2, 1.2], batching_delay: [0.5, 0.5], device_compute: [0.4, 0.4] },
    { percentiles: [0] },
  ),
  parameters: null,
};
const SERVER: BatchingParameters = {
  num_batch_threads: 0,
  max_batch_size: 16,
  batch_timeout_micros: 5000,
  max_enqueued_batches: 0,
  allowed_batch_sizes: "",
};

describe("inference profile", () => {
  it("charts the sampled requests and batches only", () => {
    const chart = requestChart(model.requests);
    expect(chart?.x.labels).toEqual(["0%", "50%"]);
    expect(chart?.series.map(({ name, values }) => [name, values])).toEqual([
      ["Host preprocess", [1.5, 3]],
      ["Device compute", [0.5, 1]],
    ]);
    expect(model.batches && batchChart(model.batches)?.series.map(({ name, values }) => [name, values[0]])).toEqual([
      ["Batching delay", 0.5],
      ["Device compute", 0.4],
      ["Other processing", expect.closeTo(0.8)],
    ]);
    expect(sampleWindows(model.requests)).toEqual([{ begin: 10e9, end: 12e9 }, null]);
  });

  it("shows of the wait for a batch what the other parts leave of the latency", () => {
    const requests = percentiles(
      {
        percentile: ["50.000", "Average"],
        latency: [2, 1.95],
        host_batch_formation: [0.5, 0.3],
        host_preprocessing: [1, 1.2],
        device_compute: [0.6, 0.5],
      },
      { percentiles: [50] },
    );
    const found = { ...model, requests };
    expect(averageParts(found).map(({ name, text }) => [name, text])).toEqual([
      ["Host preprocess", "1.200 ms"],
      ["Host batch formation", "250 us"],
      ["Device compute", "500 us"],
    ]);
    expect(requestChart(found.requests)?.series.map(({ values }) => values[0])).toEqual([1, expect.closeTo(0.4), 0.6]);
  });

  it("sums up", () => {
    expect(summary(model)).toEqual({
      title: "A request takes 3 ms on average; 75.0% of it is host preprocess",
      sentence: "500 requests per second.",
    });
    expect(averageParts(model).map(({ name, share }) => [name, share])).toEqual([
      ["Host preprocess", 0.75],
      ["Device compute", 0.25],
    ]);
    expect(rateFigures(model.requests, "requests").map(({ value }) => value)).toEqual(["500 requests/s", "3 ms"]);
    expect(parameterFigures(SERVER).map(({ value }) => value)).toEqual([null, "16", "5 ms", null, null]);
    expect(sortColumns(model.requests.rows)).toEqual(["Latency", "Host preprocess", "Device compute"]);
  });
});
