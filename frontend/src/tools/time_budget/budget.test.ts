import { describe, expect, it } from "vitest";
import {
  averageOf,
  barOf,
  causeName,
  causesTable,
  chooseDevice,
  devicesChart,
  foldedParts,
  repeatedColumns,
  headline,
  stepParts,
  partsTable,
  stepNote,
  stepsChart,
  windowOf,
  withBase,
} from "./model";
import { tableOf } from "../../base/testing";
import { ANSWER, NOTHING, averages, decomposed } from "./testing";

const budget = ANSWER;

describe("parts of a step", () => {
  it("are the mean over the devices, or those of one", () => {
    expect(stepParts(budget, 0, null)).toEqual([70, 10, 20]);
    expect(stepParts(budget, 1, 1)).toEqual([150, 50, 0]);
    expect(Object.entries(averageOf(budget, null).average_ps)).toEqual([
      ["compute", 97.5],
      ["exposed_communication", 17.5],
      ["idle_host", 35],
      ["between_steps", 50],
    ]);
    expect([averageOf(budget, 0).base_ps, averageOf(budget, 0).step_ps]).toEqual([200, 150]);
    expect([chooseDevice(budget, "TPU 1"), chooseDevice(budget, "gone"), chooseDevice(budget, null)]).toEqual([1, null, null]);
  });

  it("are grouped by category in the bar, with the time between steps", () => {
    expect(barOf(budget, 0).map(({ name, share, parts }) => [name, share, parts.map((part) => part.name)])).toEqual([
      ["Device compute", 0.4, ["Ops"]],
      ["Host compute", 0.35, ["Waits for host code"]],
      ["Between steps", 0.25, []],
    ]);
  });

  it("leave out devices that take no part", () => {
    const devices = ANSWER.decomposition.devices.map((device, i) => ({ ...device, steps: i === 0 ? 2 : 0 }));
    const alone = {
      ...ANSWER,
      takes_part: [
        [true, false],
        [true, false],
      ],
      average: averages({ "TPU 0": [80, 0, 70, 50], "TPU 1": [null, null, null, null] }),
      decomposition: decomposed({ devices }),
    };
    expect([stepParts(alone, 0, null), stepParts(alone, 0, 1)]).toEqual([[60, 0, 40], null]);
    expect(stepsChart(alone, 1).series).toEqual([]);
    expect(devicesChart(alone).x.labels).toEqual(["TPU 0", "TPU 1 (takes no part)"]);
    expect(headline(alone).sentences).toContain("TPU 1 takes part in no step and is not averaged in.");
    expect(barOf(alone, 1)).toEqual([]);
  });

  it("are stacked by step and by device", () => {
    const steps = stepsChart(budget, 1);
    expect(steps.x.labels).toEqual(["train 0", "train 1"]);
    expect(steps.series.map(({ name, values }) => [name, values])).toEqual([
      ["Ops", [80, 150]],
      ["Exposed collectives", [20, 50]],
    ]);
    const devices = devicesChart(budget);
    expect(devices.x.labels).toEqual(["TPU 0", "TPU 1"]);
    expect(devices.series[0]?.values).toEqual([80, 115]);
  });

  it("are a table by category with shares, and the time between steps if there is any", () => {
    const table = partsTable(budget, null);
    const values = Object.fromEntries(table.columns.map(({ id, values: list }) => [id, list]));
    expect(values["category"]).toEqual(["Device compute", "Collective communication", "Host compute", "Between steps"]);
    expect(values["time"]).toEqual([97.5, 17.5, 35, 50]);
    expect(values["share"]).toEqual([97.5 / 200, 17.5 / 200, 35 / 200, 0.25]);
    expect(values["between"]).toEqual([0, 0, 50, null]);
    const without = partsTable(
      {
        ...ANSWER,
        decomposition: decomposed({ base: "step", base_ps: 150, average_ps: { compute: 150 } }),
        between: {
          duration_ps: [0, 0],
          time_ps: [
            [0, 0, 0],
            [0, 0, 0],
          ],
        },
      },
      null,
    );
    expect(without.columns.map(({ id }) => id)).toEqual(["part", "category", "time", "share", "meaning"]);
    expect(without.columns.find(({ id }) => id === "share")?.label).toBe("Share of the step");
  });
});

describe("small parts", () => {
  const of = (share: (number | null)[], base?: number[]) =>
    foldedParts(tableOf({ part: share.map((_, i) => `p${i}`), share, ...(base === undefined ? {} : { base_share: base }) }));

  it("are folded below 1%, with their sum", () => {
    const { table, folded } = of([0.98, 0.01, 0.009, 0, null]);
    expect([table.columns[0]?.values, folded]).toEqual([["p0", "p1"], "3 parts below 1%, 0.9% in all"]);
    expect(of([0.5, 0.5])).toMatchObject({ folded: "", table: { rowCount: 2 } });
  });

  it("stay if they are large in the base", () => {
    expect(of([0.999, 0.001, 0], [0.5, 0.5, 0]).table.columns[0]?.values).toEqual(["p0", "p1"]);
  });
});

describe("columns that repeat a name", () => {
  it("are those of deepest events that are the code named", () => {
    const named = tableOf({ name: ["load (train.py:9)", "wait"], inner: ["$train.py:9 load", "wait"] });
    expect(repeatedColumns(named)).toEqual(["inner"]);
    expect(repeatedColumns(tableOf({ name: ["load (train.py:9)"], inner: ["$random.py:3 shuffle"] }))).toEqual([]);
  });
});

describe("the summary", () => {
  it("names the largest part but computation, and the host code behind it", () => {
    const { tone, title, sentences } = headline(budget);
    expect(tone).toBe("bad");
    expect(title).toBe("23.3% of the time from step to step is host compute (waits for host code); 48.8% is device compute");
    expect(sentences).toEqual(["2 steps on 2 devices.", "load_batch (train.py:9) accounts for 23.3% of the time from step to step."]);
    const load = { name: "$train.py:9 load_batch", inner: "$random.py:3 shuffle", host: "h", time_ps: 35, percent: 23.3 };
    const others = [
      { ...load, inner: "$random.py:9 choice", percent: 10 },
      { ...load, name: "$log.py:2 write", percent: 30 },
      { ...load, host: "another", percent: 23 },
    ];
    expect(headline({ ...budget, causes: [load, ...others] }).sentences[1]).toMatch(/^load_batch \(train\.py:9\) accounts for 33\.3% of/);
  });

  it("is good without such a part", () => {
    const { tone, title } = headline({ ...ANSWER, largest: null });
    expect([tone, title]).toEqual(["good", "48.8% of the time from step to step is device compute; no other cause takes 5%"]);
    expect(headline({ ...ANSWER, largest: { category: "between_steps", percent: 6 } })).toMatchObject({
      tone: "fair",
      title: "6.0% of the time from step to step is between steps; 48.8% is device compute",
    });
  });
});

describe("host code", () => {
  it("is named by function and line", () => {
    expect(causeName("$train.py:9 load_batch")).toBe("load_batch (train.py:9)");
    expect(causeName("$time sleep")).toBe("time sleep");
    expect(causeName(`x${"y".repeat(80)}`)).toHaveLength(60);
    expect(causeName(`$${"long/".repeat(20)}train.py:28 run`)).toMatch(/^run \(long.*….*train\.py:28\)$/);
    const table = causesTable(budget);
    expect(table.columns.map(({ id, values }) => [id, values[0]])).toEqual([
      ["name", "load_batch (train.py:9)"],
      ["time", 35],
      ["share", 0.233],
      ["inner", "random.py:3 shuffle"],
    ]);
  });
});

it("opens the trace viewer at a step with some room", () => {
  const steps = { number: [1], name: ["train 1"], begin_ps: [[2000, 7000]], duration_ps: [[200, 400]] };
  expect([windowOf(steps, 0, 0), windowOf(steps, 0, 1)]).toEqual(["1990,2210", "6980,7420"]);
  expect(windowOf({ ...steps, begin_ps: [[1, 1]] }, 0, 0)).toBe("0,211");
});

describe("a base of the time budget", () => {
  const base = {
    ...ANSWER,
    steps: { number: [0], name: ["train 0"], begin_ps: [[1000, 1000]], duration_ps: [[80, 80]] },
    average: averages({ "TPU 0": [50, 0, 30, 0], "TPU 1": [50, 30, 0, 0] }),
    decomposition: decomposed({
      base: "step",
      base_ps: 80,
      step_ps: 80,
      average_ps: { compute: 50, exposed_communication: 15, idle_host: 15 },
    }),
    time_ps: [
      [
        [50, 0, 30],
        [50, 30, 0],
      ],
    ],
    between: {
      duration_ps: [0, 0],
      time_ps: [
        [0, 0, 0],
        [0, 0, 0],
      ],
    },
  };
  const values = (wanted: string | null, id: string) =>
    withBase(partsTable(budget, chooseDevice(budget, wanted)), base, wanted).columns.find((column) => column.id === id)?.values;

  it("stands beside each part, of the same device if the base has it, else as the mean", () => {
    expect([values(null, "time"), values(null, "base_time"), values(null, "difference_time")]).toEqual([
      [97.5, 17.5, 35, 50],
      [50, 15, 15, null],
      [47.5, 2.5, 20, 50],
    ]);
    expect(values("TPU 1", "base_time")).toEqual([50, 30, 0, null]);
    expect(values("TPU 9", "base_time")).toEqual([50, 15, 15, null]);
  });

  it("is left out without steps", () => {
    const table = partsTable(budget, null);
    expect(withBase(table, NOTHING, null)).toBe(table);
    expect(stepNote(budget, NOTHING, null)).toContain("One side has no steps");
    const other = {
      ...ANSWER,
      devices: [
        { label: "GPU 0", name: "GPU 0", host: "h", kind: "gpu" },
        { label: "GPU 1", name: "GPU 1", host: "h", kind: "gpu" },
      ],
    };
    expect(stepNote(budget, other, "TPU 1")).toContain("The base has no TPU 1: the mean of its devices is shown.");
  });
});
