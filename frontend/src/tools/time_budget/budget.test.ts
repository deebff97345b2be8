import { describe, expect, it } from "vitest";
import { readBudget } from "./decode";
import {
  averageParts,
  causeName,
  causesTable,
  chooseDevice,
  devicesChart,
  headline,
  lookOf,
  partsOf,
  partsTable,
  shareParts,
  stepNote,
  stepsChart,
  windowOf,
  withBase,
} from "./model";
import { ANSWER, NOTHING } from "./testing";

const budget = readBudget(ANSWER);

describe("the answer of the time budget", () => {
  it("is decoded with labels, and devices named with their host if there are several", () => {
    expect(budget.parts.map(({ name }) => name)).toEqual(["Compute", "Exposed communication", "Idle: host code"]);
    expect(budget.devices.map(({ label }) => label)).toEqual(["TPU 0", "TPU 1"]);
    const two = readBudget({
      ...ANSWER,
      devices: [
        { name: "GPU 0", host: "a", kind: "gpu" },
        { name: "GPU 0", host: "b", kind: "gpu" },
      ],
    });
    expect(two.devices.map(({ label }) => label)).toEqual(["a: GPU 0", "b: GPU 0"]);
  });

  it("must have a number for every step, device and part", () => {
    expect(() =>
      readBudget({
        ...ANSWER,
        time_ps: [
          [
            [60, 0, 40],
            [80, 20],
          ],
          [
            [1, 2, 3],
            [1, 2, 3],
          ],
        ],
      }),
    ).toThrow("the parts of a step");
    expect(() => readBudget({ ...ANSWER, time_ps: ANSWER.time_ps.slice(1) })).toThrow("an entry per step");
    expect(() => readBudget({ ...ANSWER, time_ps: [[[60, 0, 40]], [[1, 2, 3]]] })).toThrow("an entry per device");
    expect(readBudget(NOTHING).devices).toEqual([]);
  });
});

describe("parts of a step", () => {
  it("are the mean over the devices, or those of one", () => {
    expect(partsOf(budget, 0, null)).toEqual([70, 10, 20]);
    expect(partsOf(budget, 1, 1)).toEqual([150, 50, 0]);
    expect(averageParts(budget, null)).toEqual([97.5, 17.5, 35]);
    expect(averageParts(budget, 0)).toEqual([80, 0, 70]);
    expect([chooseDevice(budget, "TPU 1"), chooseDevice(budget, "gone"), chooseDevice(budget, null)]).toEqual([1, null, null]);
  });

  it("have the colours of step-time categories; parts without time are left out", () => {
    expect(shareParts(budget.parts, averageParts(budget, 0)).map(({ name, share }) => [name, share])).toEqual([
      ["Compute", 80 / 150],
      ["Idle: host code", 70 / 150],
    ]);
    expect(lookOf("idle_input").striped).toBe(true);
    expect(lookOf("something else").colour).toEqual(lookOf("idle_other").colour);
  });

  it("are stacked by step and by device", () => {
    const steps = stepsChart(budget, 1);
    expect(steps.x.labels).toEqual(["train 0", "train 1"]);
    expect(steps.series.map(({ name, values }) => [name, values])).toEqual([
      ["Compute", [80, 150]],
      ["Exposed communication", [20, 50]],
    ]);
    const devices = devicesChart(budget);
    expect(devices.x.labels).toEqual(["TPU 0", "TPU 1"]);
    expect(devices.series[0]?.values).toEqual([80, 115]);
  });

  it("are a table with shares, and the time between steps if there is any", () => {
    const table = partsTable(budget, null);
    const values = Object.fromEntries(table.columns.map(({ id, values: list }) => [id, list]));
    expect(values["time"]).toEqual([97.5, 17.5, 35]);
    expect(values["share"]).toEqual([0.65, 17.5 / 150, 35 / 150]);
    expect(values["between"]).toEqual([0, 0, 50]);
    const without = partsTable(
      readBudget({
        ...ANSWER,
        between: {
          duration_ps: [0, 0],
          time_ps: [
            [0, 0, 0],
            [0, 0, 0],
          ],
        },
      }),
      null,
    );
    expect(without.columns.map(({ id }) => id)).toEqual(["part", "time", "share", "meaning"]);
  });
});

describe("the summary", () => {
  it("names the largest part but computation, and the host code behind it", () => {
    const { tone, title, sentences } = headline(budget);
    expect(tone).toBe("bad");
    expect(title).toBe("23.3% of the step is waiting for host code; 65.0% is computation");
    expect(sentences).toEqual([
      "A step takes 0.150 ns on average over 2 steps and 2 devices.",
      "load_batch (train.py:9) accounts for 23.3% of the step.",
      "The time between steps adds 16.7% to that of the steps.",
    ]);
  });

  it("is good without such a part", () => {
    const { tone, title } = headline(readBudget({ ...ANSWER, largest: null }));
    expect([tone, title]).toEqual(["good", "The devices compute for 65.0% of the step; no other cause takes 5%"]);
    expect(headline(readBudget({ ...ANSWER, largest: { category: "idle_launch", percent: 6 } })).tone).toBe("fair");
  });
});

describe("host code", () => {
  it("is named by function and line", () => {
    expect(causeName("$train.py:9 load_batch")).toBe("load_batch (train.py:9)");
    expect(causeName("$time sleep")).toBe("time sleep");
    expect(causeName(`x${"y".repeat(80)}`)).toHaveLength(60);
    const table = causesTable(budget);
    expect(table.columns.map(({ id, values }) => [id, values[0]])).toEqual([
      ["name", "load_batch (train.py:9)"],
      ["time", 35],
      ["share", 23.3],
      ["inner", "random.py:3 shuffle"],
    ]);
  });
});

it("opens the trace viewer at a step with some room", () => {
  const step = { number: 1, name: "train 1", beginPs: [2000, 7000], durationPs: [200, 400] };
  expect([windowOf(step, 0), windowOf(step, 1)]).toEqual(["1990,2210", "6980,7420"]);
  expect(windowOf({ ...step, beginPs: [1, 1] }, 0)).toBe("0,211");
});

describe("a base of the time budget", () => {
  const base = readBudget({
    ...ANSWER,
    steps: ANSWER.steps.slice(0, 1),
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
  });
  const values = (wanted: string | null, id: string) =>
    withBase(partsTable(budget, chooseDevice(budget, wanted)), base, wanted).columns.find((column) => column.id === id)?.values;

  it("stands beside each part, of the same device if the base has it, else as the mean", () => {
    expect([values(null, "time"), values(null, "base_time"), values(null, "difference_time")]).toEqual([
      [97.5, 17.5, 35],
      [50, 15, 15],
      [47.5, 2.5, 20],
    ]);
    expect(values("TPU 1", "base_time")).toEqual([50, 30, 0]);
    expect(values("TPU 9", "base_time")).toEqual([50, 15, 15]);
  });

  it("is left out without steps", () => {
    const table = partsTable(budget, null);
    expect(withBase(table, readBudget(NOTHING), null)).toBe(table);
    expect(stepNote(budget, readBudget(NOTHING), null)).toContain("One side has no steps");
    const other = readBudget({
      ...ANSWER,
      devices: [
        { name: "GPU 0", host: "h", kind: "gpu" },
        { name: "GPU 1", host: "h", kind: "gpu" },
      ],
    });
    expect(stepNote(budget, other, "TPU 1")).toContain("The base has no TPU 1: the mean of its devices is shown.");
  });
});
