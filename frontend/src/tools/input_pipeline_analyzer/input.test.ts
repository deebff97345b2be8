import { describe, expect, it } from "vitest";
import { readInputPipeline } from "./decode";
import { noReading, readingAnswer } from "../../base/steps/testing";
import { barOf, hostParts, limitOf, sentences, stepFigures, usefulTips, waitingChart, waitingTable, describeWaiting } from "./model";

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
  ["0", 9, 1, 10, 0, 12],
  ["1", 18, 2, 10, 1, 14],
];
const CONCLUSION = "Your program is MODERATELY input-bound because 12.0% of the total step time sampled is waiting for input.";
const answer = (more: unknown = { ...readingAnswer(), next: "Look there." }) => [
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
  table(XPROF, ROWS, { hardware_type: "TPU", input_conclusion: CONCLUSION, summary_nextstep: "Look at Section 3." }),
  table(OPS, [["Iterator::Root", 20, 5, 0.5, 5, 0.5, "Preprocessing"]], {
    enqueue_us: "100.000",
    demanded_file_read_us: "0.000",
    advanced_file_read_us: "300.000",
    preprocessing_us: "600.000",
    unclassified_nonequeue_us: "0.000",
  }),
  table({ link: "string" }, [['Use <a href="https://x.org" target="_blank">map()</a>']]),
  table({ severity: "string", message: "string" }),
  ...(more === null ? [] : [more]),
];

describe("input pipeline", () => {
  it("decodes the response and says at once how much of the time waits for input", () => {
    const data = readInputPipeline(answer());
    expect(limitOf(data)).toEqual({ tone: "bad", title: "Input-bound: 35.0% of the time from step to step waits for input" });
    expect(barOf(data).map(({ id, share }) => [id, share])).toEqual([
      ["device_compute", 0.1],
      ["input", 0.35],
      ["other", 0.05],
      ["between_steps", 0.5],
    ]);
    expect(data.ops.columns.map(({ label, unit }) => [label, unit]).slice(3, 6)).toEqual([
      ["Total time (share)", "fraction"],
      ["Self time", "ms"],
      ["Self time (share)", "fraction"],
    ]);
    expect([data.tips.length, data.next]).toEqual([1, "Look there."]);
    expect(data.noOps).toContain("such as tf.data");
    expect(readInputPipeline(answer({ ...readingAnswer(), no_ops: "No stages." })).noOps).toBe("No stages.");
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

  it("has statistics of the wait in each step", () => {
    const data = readInputPipeline(answer());
    expect(stepFigures(data).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time", "10 ms", "2 steps, σ 2.828 ms, 8 ms to 12 ms"],
      ["Step time waiting for input", "35.0%", "7 ms of 20 ms"],
      ["Wait for input per step", "7 ms", "σ 1.414 ms, 6 ms to 8 ms"],
    ]);
    expect([data.steps.labels, waitingChart(data)]).toEqual([["train 1", "train 2"], null]);
    expect(sentences(data)).toEqual(["GPU 1 takes part in no step and is not averaged in."]);
  });

  it("knows the wait also where other time may be input, and where there is none", () => {
    const of = (level: string, percent: number) => readInputPipeline(answer(readingAnswer({ input: { level, percent } })));
    expect(limitOf(of("NOT", 1.2))).toEqual({ tone: "good", title: "Not input-bound: 1.2% of the time from step to step waits for input" });
    expect(limitOf(of("POTENTIALLY", 21)).title).toBe(
      "Possibly input-bound: 21.0% of the time from step to step is unexplained or host copies",
    );
    // The share of input itself, not the one that decided.
    expect(stepFigures(of("POTENTIALLY", 21))[1]?.value).toBe("35.0%");
  });

  it("shows XProf's conclusion, statistics and band in its reading", () => {
    const data = readInputPipeline(answer(null));
    expect(limitOf(data)).toEqual({ tone: "none", title: CONCLUSION });
    expect([barOf(data), data.next]).toEqual([[], "Look at Section 3."]);
    expect(stepFigures(data).map(({ name, value, detail }) => [name, value, detail])).toEqual([
      ["Step time", "15 ms", "2 steps, σ 7.071 ms, 10 ms to 20 ms"],
      ["Step time waiting for input", "13.0%", "σ 1.4%, 12.0% to 14.0%"],
    ]);
    const chart = waitingChart(data);
    expect([chart?.line.values, chart?.low, chart?.high]).toEqual([
      [10, 10],
      [0, 1],
      [12, 14],
    ]);
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
    const data = readInputPipeline(answer(noReading()));
    expect(limitOf(data).title).toBe("No steps in this profile: only the host's side is known");
    expect([barOf(data), waitingChart(data), stepFigures(data)]).toEqual([[], null, []]);
    expect(() => readInputPipeline([{}])).toThrow("1 tables in place of 5");
  });
});
