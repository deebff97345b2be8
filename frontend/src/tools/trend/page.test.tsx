// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import type { TrendAnswer, TrendChange, TrendSeries } from "../../api/trend";
import {
  againstBaseline,
  axesOf,
  axisLabels,
  changesTable,
  marksOf,
  readBaseline,
  remarksTable,
  remarksTitle,
  stepChart,
  usualSeries,
  writeBaseline,
} from "./model";
import { median } from "../../base/median";
import page from "./page";

vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

const NAMES = ["a", "b,1", "c", "d"];
const CHANGE: TrendChange = {
  index: 2,
  kind: "step",
  sentence: "5.0% slower since c: dot +5 us.",
  before_ps: 100e6,
  after_ps: 105e6,
  change_percent: 5,
  low_percent: 4,
  high_percent: 6,
  gone: null,
  labels: "commit x -> y",
  parts: [{ name: "dot", before_ps: 50e6, after_ps: 55e6 }],
};
const SERIES: TrendSeries = {
  title: "jit_step on 4 TPU v5",
  about: "4 runs.",
  reason: "",
  no_change: "",
  rows: [0, 1, 2, 3],
  step_ps: [99e6, 103e6, 104e6, 108e6],
  adjusted_ps: [100e6, 100e6, 105e6, 105e6],
  is_adjusted: true,
  parts: [{ id: "compute", name: "Ops", ps: [99e6, 103e6, 104e6, 108e6] }],
  places: [{ name: "dot", ps: [50e6, 50e6, 55e6, 55e6], changes: [2] }],
  changes: [CHANGE],
};
const ANSWER: TrendAnswer = {
  listed: 5,
  remaining: 0,
  runs: {
    run: [...NAMES, "bad"],
    written_ms: [1e12, 1e12, 1e12, 0, 0],
    problem: ["", "", "", "", "It is damaged."],
    note: ["", "Its clock was wrong.", "", "", ""],
    memory_bytes: [0, 0, 0, 0, 0],
    steps: [8, 8, 8, 8, 0],
    labels: { commit: ["0123456789abcdef", "x", "y", "", ""] },
  },
  series: [SERIES],
};
const TOOL = { id: "trend", title: "Trend", group: "Summary", hosts: "all" } as const;

const open = (answer: (at: URL) => unknown, bases?: readonly string[]): Promise<Shown> =>
  showPage(page, TOOL, (at: URL) => answer(at), {}, bases);
const press = async (shown: Shown, words: string): Promise<void> => {
  const found = [...shown.root.querySelectorAll<HTMLElement>("button")].find((one) => one.textContent?.includes(words));
  if (!found) throw new Error(`no button ${words}: ${shown.root.textContent ?? ""}`);
  found.click();
  await settle(shown.root);
};

describe("the model", () => {
  it("shows runs by name, date or label", () => {
    expect(axesOf(ANSWER.runs).map(({ id }) => id)).toEqual(["run", "date", "label:commit"]);
    expect(axisLabels(ANSWER.runs, SERIES, "run")).toEqual(NAMES);
    expect(axisLabels(ANSWER.runs, SERIES, "label:commit")).toEqual(["0123456789", "x", "y", "-"]);
    expect(axisLabels(ANSWER.runs, SERIES, "date").at(-1)).toBe("-");
  });

  it("keeps a baseline in the address by the names of its runs", () => {
    const text = writeBaseline(NAMES, { from: 1, to: 2 });
    expect(readBaseline(NAMES, text)).toEqual({ from: 1, to: 2 });
    expect([readBaseline(NAMES, "gone,c"), readBaseline(NAMES, "c,a"), readBaseline(NAMES, null)]).toEqual([null, null, null]);
  });

  it("compares the newest run with the median of the baseline", () => {
    expect([median([3, 1, 2]), median([4, 1]), median([])]).toEqual([2, 2.5, 0]);
    expect(againstBaseline(NAMES, SERIES.adjusted_ps, { from: 0, to: 1 })).toBe(
      "The newest run takes 105 us against 100 us of the median of 2 runs, a to b,1, +5.0%.",
    );
  });

  it("marks changes with their interval, and the baseline as a span", () => {
    expect(marksOf(SERIES, { from: 0, to: 1 })).toEqual([
      { from: 0, to: 1, colour: null, label: "baseline" },
      { from: 2, colour: null, label: "+5.0%\n+4.0% to +6.0%" },
    ]);
    expect(marksOf({ ...SERIES, changes: [{ ...CHANGE, change_percent: null }] }, null)).toEqual([{ from: 2, colour: null }]);
  });

  it("begins the axis where small changes can be seen", () => {
    expect(stepChart(SERIES, NAMES, "Run", true).y.from).toBeCloseTo(100e6 - 5e6 / 3);
    expect(stepChart(SERIES, NAMES, "Run", false).line.values).toEqual(SERIES.step_ps);
    expect(stepChart({ ...SERIES, adjusted_ps: [1, 10] }, NAMES, "Run", true).y.from).toBe(0);
  });

  it("has a row per change", () => {
    const table = changesTable(SERIES, NAMES);
    expect(table.columns.map(({ values }) => values[0])).toEqual([
      "c",
      "step",
      100e6,
      105e6,
      5,
      4,
      6,
      null,
      "dot 50 us to 55 us",
      "commit x -> y",
    ]);
  });

  it("has a row per run that is left out or odd", () => {
    const table = remarksTable(ANSWER.runs);
    expect(table.columns.map(({ values }) => [...values])).toEqual([
      ["b,1", "bad"],
      ["yes", "no"],
      ["Its clock was wrong.", "It is damaged."],
    ]);
    expect(remarksTitle(ANSWER.runs)).toBe("Left out: 1 run. Odd: 1 run");
    expect(remarksTitle({ ...ANSWER.runs, problem: NAMES.map(() => "") })).toBe("Odd: 1 run");
  });

  it("shows the series of the chosen run, else the longest", () => {
    const found = {
      ...ANSWER,
      series: [
        { ...SERIES, rows: [0] },
        { ...SERIES, rows: [1, 2, 3] },
      ],
    };
    expect(["a", "c", "bad", "gone", null].map((run) => usualSeries(found, run))).toEqual([0, 1, 1, 1, 1]);
  });
});

describe("the page", () => {
  it("tells the newest change, its two sides, and the runs that are left out", async () => {
    const shown = await open(() => ANSWER);
    const text = shown.root.textContent ?? "";
    for (const words of ["5.0% slower since c", "Step time", "Parts of the step", "Places that changed", "Left out: 1 run"])
      expect(text).toContain(words);
    expect(text).not.toContain("Stop");
  });

  it("chooses the runs before the newest as a baseline, and clears it", async () => {
    const shown = await open(() => ANSWER);
    await press(shown, "The 3 runs before the newest");
    expect(shown.root.textContent).toContain("of the median of 3 runs, a to c, +5.0%");
    await press(shown, "As recorded");
    expect(shown.root.textContent).toContain("The newest run takes 108 us against 103 us");
    await press(shown, "Clear");
    expect(shown.root.textContent).toContain("Drag over the chart");
  });

  it("leads to the comparison of runs that are there, which a saved report lacks", async () => {
    const linked = (shown: Shown): boolean => shown.root.textContent?.includes("Compare both sides") ?? false;
    expect(linked(await open(() => ANSWER, NAMES))).toBe(true);
    const saved = await open(() => ({ ...ANSWER, unread: 7 }), ["c"]);
    expect(linked(saved)).toBe(false);
    expect(saved.root.textContent).toContain("7 runs had not been read when this report was saved.");
  });

  it("reads what is not known until it is stopped, and goes on", async () => {
    let remaining = 3;
    const waiting: (() => void)[] = [];
    const shown = await open((at) => {
      if (at.searchParams.get("read") !== "true") return { ...ANSWER, remaining };
      return new Promise((done) => waiting.push(() => done({ listed: 5, remaining: --remaining })));
    });
    const slice = async (): Promise<void> => {
      waiting.shift()?.();
      await settle(shown.root);
    };
    expect(shown.root.textContent).toContain("2 of 5 runs read…");
    await slice();
    expect(shown.root.textContent).toContain("3 of 5 runs read…");
    await press(shown, "Stop");
    await slice();
    expect([waiting.length, shown.root.textContent?.includes("4 of 5 runs read")]).toEqual([0, true]);
    await press(shown, "Continue");
    await slice();
    expect(shown.root.textContent).not.toContain("runs read");
  });

  it("says why there is nothing to show", async () => {
    const shown = await open(() => ({ ...ANSWER, series: [], runs: { ...ANSWER.runs, problem: NAMES.map(() => "No steps.") } }));
    expect(shown.root.textContent).toContain("None of 5 runs has steps");
    expect(shown.root.textContent).toContain("Left out: 4 runs");
  });
});
