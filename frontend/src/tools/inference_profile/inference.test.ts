import { describe, expect, it } from "vitest";
import { hasRequests, readInference } from "./decode";
import { averageParts, batchChart, parameterFigures, rateFigures, requestChart, sampleWindows, sortColumns, summary } from "./model";

type Value = string | number | null;
const table = (cols: [string, string, string][], rows: Value[][], p: Record<string, string> = {}) => ({
  cols: cols.map(([id, label, type]) => ({ id, label, type, unit: type === "number" ? "ms" : null })),
  rows: rows.map((row) => ({ c: row.map((v) => ({ v })) })),
  p,
});
const MODELS = (...names: string[]) =>
  table(
    [["model_name", "Model Name", "string"]],
    names.map((name) => [name]),
  );
const REQUESTS = table(
  [
    ["percentile", "Percentile", "string"],
    ["request_id", "Request ID", "string"],
    ["latency_ms", "Latency", "number"],
    ["throughput", "Throughput", "string"],
    ["host_preprocessing", "Host preprocess", "number"],
    ["device_compute", "Device compute", "number"],
    ["trace_viewer_url", "Trace Viewer URL", "string"],
    ["begin_ms", "Begin", "number"],
    ["end_ms", "End", "number"],
  ],
  [
    ["0.000", "4", 2, "N/A", 1.5, 0.5, "", 10, 12],
    ["50.000", "6", 4, "N/A", 3, 1, "", null, null],
    ["Batch size 16", "N/A", 3, "500.0", 2, 0.7, "", null, null],
    ["Average", "N/A", 3, "500.0", 2.25, 0.75, "", null, null],
  ],
  { throughput: "500.0", averageLatencyMs: "3.000" },
);
const BATCHES = table(
  [
    ["percentile", "Percentile", "string"],
    ["batch_id", "Batch ID", "string"],
    ["latency", "Latency", "number"],
    ["batching_delay_us", "Batching delay", "number"],
    ["device_compute", "Device compute", "number"],
  ],
  [
    ["0.000", "0", 1.2, 0.5, 0.4],
    ["Aggregated", "N/A", 1.2, 0.5, 0.4],
  ],
  { hasBatchingParam: "true", batchingParamMaxBatchSize: "16", batchingParamBatchTimeoutMicros: "5000" },
);
const NOTHING = table(
  [
    ["percentile", "Percentile", "string"],
    ["request_id", "Request ID", "string"],
    ["latency_ms", "Latency", "number"],
  ],
  [["Average", "N/A", 0]],
);

describe("inference profile", () => {
  it("gives every model its tables", () => {
    const models = readInference([MODELS("a", "b"), REQUESTS, BATCHES, NOTHING]);
    expect(models.map(({ name, batches, patterns }) => [name, batches !== null, patterns])).toEqual([
      ["a", true, null],
      ["b", false, null],
    ]);
    expect(models.map(hasRequests)).toEqual([true, false]);
    expect(() => readInference([])).toThrow("is empty");
    expect(() => readInference([MODELS("a"), BATCHES])).toThrow("does not begin with requests");
  });

  const [model] = readInference([MODELS("a"), REQUESTS, BATCHES]);
  if (!model) throw new Error("no model");

  it("drops empty links and converts texts to numbers", () => {
    expect(model.requests.columns.map(({ id }) => id)).not.toContain("trace_viewer_url");
    expect(model.requests.columns.find(({ id }) => id === "throughput")).toMatchObject({ kind: "number", values: [null, null, 500, 500] });
    expect(model.requests.columns.find(({ id }) => id === "request_id")?.values).toEqual(["4", "6", null, null]);
  });

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
    const batched = table(
      [
        ["percentile", "Percentile", "string"],
        ["request_id", "Request ID", "string"],
        ["latency_ms", "Latency", "number"],
        ["host_batch_formation", "Host batch formation", "number"],
        ["host_preprocessing", "Host preprocess", "number"],
        ["device_compute", "Device compute", "number"],
      ],
      [
        ["50.000", "6", 2, 0.5, 1, 0.6],
        ["Average", "N/A", 1.95, 0.3, 1.2, 0.5],
      ],
      { averageLatencyMs: "1.950" },
    );
    const [found] = readInference([MODELS("a"), batched]);
    if (!found) throw new Error("no model");
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
    expect(model.batches && parameterFigures(model.batches).map(({ value }) => value)).toEqual([null, "16", "5 ms", null, null]);
    expect(sortColumns(model.requests)).toEqual(["Latency", "Host preprocess", "Device compute"]);
  });
});
