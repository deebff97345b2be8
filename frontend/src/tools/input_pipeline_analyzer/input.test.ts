import { describe, expect, it } from "vitest";
import { readInputPipeline } from "./decode";
import { xprofNote } from "../../base/steps/reading";
import { hostParts, limitOf, sentences, stepFigures, usefulTips, waitingChart, waitingParts, waitingTable, describeWaiting } from "./model";

type Value = string | number;
const table = (cols: Record<string, string>, rows: Value[][] = [], p: Record<string, string> = {}) => ({
  cols: Object.entries(cols).map(([id, type]) => ({ id, label: id, type })),
  rows: rows.map((values) => ({ c: values.map((v) => ({ v })) })),
  p,
});
const XPROF = {
  stepnum: "string",
  tcComputeTimeMs: "number",
  tcInfeedTimeMs: "number",
  infeedPercentAverage: "number",
  infeedPercentMin: "number",
  infeedPercentMax: "number",
};
const OWN = {
  stepnum: "string",
  tcComputeTimeMs: "number",
  tcInfeedTimeMs: "number",
  stepTimeMs: "number",
  host: "string",
  core: "string",
  waitingPercent: "number",
  waitingPercentLeast: "number",
  waitingPercentMost: "number",
};
const reading = (steps: unknown, level: string, percent: number) => ({
  steps,
  verdict: { input: { level, percent } },
  xprof_input: { level: "MODERATELY", percent: 12 },
  recording: null,
  hosts: { step_ms: { h: 10 }, slowest_in: { h: 2 }, over_others: {}, stragglers: [] },
  statement: steps ? "Input takes 10.0% of the step time." : "",
  next: "",
});
const OPS = {
  opName: "string",
  count: "number",
  timeInMs: "number",
  timeInPercent: "number",
  selfTimeInMs: "number",
  selfTimeInPercent: "number",
  category: "string",
};
const ROWS: Value[][] = [
  ["0", 9, 1, 10, "h", "3", 10, 0, 12],
  ["1", 18, 2, 20, "h", "2", 10, 1, 14],
];
const answer = (steps: Value[][] = ROWS, level = "MODERATELY") => [
  {
    cols: [
      { id: "index", label: "Index", type: "string" },
      { id: "0", label: "0", type: "string" },
      { id: "1", label: "1", type: "string" },
    ],
    rows: [
      ["Step number", "0", "1"],
      ["Core name", "h:3", "h:2"],
    ].map((row) => ({ c: row.map((v) => ({ v })) })),
  },
  table(XPROF, [], { hardware_type: "TPU", input_conclusion: "" }),
  table(OPS, [["Iterator::Root", 20, 5, 0.5, 5, 0.5, "Preprocessing"]], {
    enqueue_us: "100.000",
    demanded_file_read_us: "0.000",
    advanced_file_read_us: "300.000",
    preprocessing_us: "600.000",
    unclassified_nonequeue_us: "0.000",
  }),
  table({ link: "string" }, [['Use <a href="https://x.org" target="_blank">map()</a>']]),
  table({ severity: "string", message: "string" }),
  reading(steps.length ? table(OWN, steps, { hardware_type: "TPU" }) : null, steps.length ? level : "", steps.length ? 10 : 0),
];

describe("input pipeline", () => {
  it("decodes the response and determines the limit", () => {
    const data = readInputPipeline(answer());
    expect(limitOf(data)).toEqual({ tone: "fair", title: "Moderately input-bound: 10.0% of the step time is spent waiting for input" });
    expect(waitingParts(data).map(({ name, share, text }) => [name, share, text])).toEqual([
      ["Waiting for input", 0.1, "1.500 ms per step"],
      ["Other step time", 0.9, "13.50 ms per step"],
    ]);
    expect(data.ops.columns.map(({ label, unit }) => [label, unit]).slice(3, 6)).toEqual([
      ["Total time (share)", "fraction"],
      ["Self time", null],
      ["Self time (share)", "fraction"],
    ]);
    expect(data.tips).toHaveLength(1);
  });

  it("summarises the waiting cores", () => {
    const found = readInputPipeline(answer()).waitingCores;
    expect(found && describeWaiting(found)).toBe("h:2 waits longest in 1 of 2 steps; 1 other core in the other steps.");
    expect(found && waitingTable(found).columns.map(({ values }) => values)).toEqual([
      ["0", "1"],
      ["h:3", "h:2"],
    ]);
    expect(describeWaiting({ steps: ["0"], cores: ["unknown"] })).toBe("No core waits for input in any step.");
  });

  it("has statistics and a band of the waiting share", () => {
    const data = readInputPipeline(answer());
    expect(stepFigures(data).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time", "15 ms", "2 steps, σ 7.071 ms, 10 ms to 20 ms"],
      ["Step time waiting for input", "10.0%", "the same in every step"],
    ]);
    const chart = waitingChart(data);
    expect([chart?.line.values, chart?.low, chart?.high]).toEqual([
      [10, 10],
      [0, 1],
      [12, 14],
    ]);
    expect(xprofNote(data.reading)).toBe(
      "XProf reads 12.0% of the step time as input: it combines the longest wait of any core with the computation of the fastest one.",
    );
  });

  it("says nothing about input that it cannot see", () => {
    const data = readInputPipeline(answer(ROWS, "UNSEEN"));
    expect(limitOf(data)).toEqual({ tone: "none", title: "No input events recorded: waiting for input is unknown" });
    expect([waitingParts(data), stepFigures(data).length, xprofNote(data.reading)]).toEqual([[], 1, null]);
    const known = readInputPipeline(answer(ROWS, "NOT"));
    expect(limitOf(known).title).toBe("Not input-bound: 10.0% of the step time is waiting for input");
    expect(sentences(known)).toEqual(["Input takes 10.0% of the step time."]);
  });

  it("gives tips on what takes time only", () => {
    const data = readInputPipeline(answer());
    expect(usefulTips({ ...data, tips: ["enqueue", "preprocess", "ahead", "demand", "other"] })).toEqual([
      "enqueue",
      "preprocess",
      "ahead",
    ]);
  });

  it("splits the host's input processing", () => {
    expect(hostParts(readInputPipeline(answer())).map(({ name, share, text }) => [name, share, text])).toEqual([
      ["Reading data from files in advance", 0.3, "300 us"],
      ["Data preprocessing", 0.6, "600 us"],
      ["Enqueuing data to be transferred to the device", 0.1, "100 us"],
    ]);
  });

  it("has no figures without steps, and reports malformed responses", () => {
    const data = readInputPipeline(answer([]));
    expect(limitOf(data).title).toBe("No steps in this profile: the time spent waiting for input is unknown");
    expect([waitingParts(data), waitingChart(data), stepFigures(data)]).toEqual([[], null, []]);
    expect(() => readInputPipeline([{}])).toThrow("1 tables in place of 6");
  });
});
