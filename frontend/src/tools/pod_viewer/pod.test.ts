import { describe, expect, it } from "vitest";
import type { Pod as PodDocument, PodSteps } from "../../base/documents";
import { GROUPS } from "../../base/steps/testing";
import { podOf } from "./pod";
import { chooseStep, podHeadline, sameUnit, stepsChart, widest, workerCard, workersChart } from "./model";

/** An answer about one step, its parts in ns by worker. */
const ownAnswer = (partsNs: Record<string, number[]>, steps: Partial<PodSteps> = {}): PodDocument => {
  const workers = Object.values(partsNs)[0]?.length ?? 0;
  const each = Array.from({ length: workers }, (_, i) => i);
  return {
    steps: {
      numbers: [7],
      names: ["train 7"],
      left_out: 0,
      hosts: each.map((i) => `h${i}`),
      labels: each.map((i) => `h${i}: GPU 0`),
      begin_ps: [each.map(() => 1e9)],
      takes_part: null,
      total_ns: [each.map((i) => Object.values(partsNs).reduce((all, column) => all + (column[i] ?? 0), 0))],
      parts_ns: Object.fromEntries(Object.entries(partsNs).map(([id, column]) => [id, [column]])),
      ...steps,
    },
    groups: [
      {
        id: "collectives",
        name: "Collective communication",
        help: "",
        parts: [{ id: "idle_peer", name: "Waits for late devices", help: "" }],
      },
      ...GROUPS.slice(0, -1),
    ],
    notes: ["Steps are inferred."],
    device_type: "GPU",
    left_out: [],
  };
};
/** Two steps of three cores, of which the hosts are unordered. */
const pod = podOf({
  ...ownAnswer({}),
  steps: {
    numbers: [3, 4],
    names: ["3", "4"],
    left_out: 0,
    hosts: ["b", "a", "a"],
    labels: ["b:0", "a:0", "a:1"],
    begin_ps: null,
    takes_part: null,
    total_ns: [
      [150_000, 100_000, 100_000],
      [104_000, 100_000, 96_000],
    ],
    parts_ns: {
      compute: [
        [50_000, 90_000, 80_000],
        [94_000, 90_000, 76_000],
      ],
      idle_input: [
        [100_000, 10_000, 20_000],
        [10_000, 10_000, 20_000],
      ],
    },
  },
  groups: GROUPS.filter(({ id }) => id === "device_compute" || id === "input"),
});
const step = (at: number) => {
  const found = pod.steps[at];
  if (!found) throw new Error("no step");
  return found;
};

describe("pod viewer", () => {
  it("orders workers by host, then as the server does", () => {
    expect(pod.workers.map(({ label, core: id }) => [label, id])).toEqual([
      ["a:0", 1],
      ["a:1", 2],
      ["b:0", 0],
    ]);
  });

  it("names the straggler of a step and what differs", () => {
    expect(podHeadline(pod, step(0))).toEqual({
      tone: "bad",
      title: "Step 3: b is slow, 150 us, 50.0% longer than the other host",
      sentences: ["Input differs most: 10 us on a:0, 100 us on b:0."],
    });
    expect(podHeadline(pod, step(1)).title).toBe("Step 4: no straggler; 3 workers on 2 hosts take 96 us to 104 us");
    expect(widest(pod, step(1))).toBe("Device compute differs most: 76 us on a:1, 94 us on b:0.");
  });

  it("compares two workers with each other, and finds the one that the others wait for", () => {
    const of = (parts: [number, number][]) => {
      const found = podOf(ownAnswer({ compute: parts.map(([a]) => a), idle_peer: parts.map(([, b]) => b) }));
      const [only] = found.steps;
      return podHeadline(found, only ?? step(0));
    };
    expect(
      of([
        [100_000, 0],
        [120_000, 0],
      ]).title,
    ).toBe("Step train 7: h1 is slow, 120 us, 20.0% longer than the other host");
    expect(
      of([
        [100_000, 0],
        [109_000, 0],
      ]).tone,
    ).toBe("good");
    const late = of([
      [56_000, 5000],
      [15_000, 46_000],
      [15_000, 46_000],
    ]);
    expect([late.tone, late.title]).toEqual(["bad", "Step train 7: all take about the same time, 61 us, but wait for one worker"]);
    expect(late.sentences[0]).toBe("h0: GPU 0 works for 56 us, the others for 15 us: they wait for it in collectives, 46 us against 5 us.");
  });

  it("writes all times of a card in one unit", () => {
    expect([1_016_000, 729_078.77, 0.5].map(sameUnit(1_016_000))).toEqual(["1.016 s", "0.729 s", "0.000 s"]);
    expect([950_780, 12].map(sameUnit(950_780))).toEqual(["950.8 ms", "0.0 ms"]);
  });

  it("draws one column per worker, and the range of every step", () => {
    expect(workersChart(pod, step(0)).series.map(({ name, values }) => [name, values])).toEqual([
      ["Device compute", [90, 80, 50]],
      ["Input", [10, 20, 100]],
    ]);
    const all = stepsChart(pod);
    expect([all.x.labels, all.low, all.high]).toEqual([
      ["3", "4"],
      [100, 96],
      [150, 104],
    ]);
  });

  it("lists the parts of a worker", () => {
    const card = workerCard(pod, step(0), 0);
    expect([card?.title, card?.host, card?.total, card?.window]).toEqual(["b:0", "b", "150.0 us", null]);
    expect(card?.lines.map(({ name, text }) => [name, text])).toEqual([
      ["Device compute", "50.0 us (33.3%)"],
      ["Input", "100.0 us (66.7%)"],
    ]);
    expect(workerCard(pod, step(0), 7)).toBeNull();
  });

  it("has the categories of the time budget with their parts, and the place of the step in the trace", () => {
    const own = podOf(ownAnswer({ compute: [60_000, 0], data_movement: [20_000, 0], idle_input: [20_000, 50_000] }));
    const [only] = own.steps;
    expect([own.workers.map(({ label }) => label), only?.name, own.notes]).toEqual([
      ["h0: GPU 0", "h1: GPU 0"],
      "train 7",
      ["Steps are inferred."],
    ]);
    expect(only && workersChart(own, only).series.map(({ name, values }) => [name, values])).toEqual([
      ["Device compute", [80, 0]],
      ["Input", [20, 50]],
    ]);
    const card = only && workerCard(own, only, 0);
    expect(card?.lines.filter(({ share }) => share.share > 0).map(({ name, inner, text }) => [name, inner, text])).toEqual([
      ["Device compute", false, "80.0 us (80.0%)"],
      ["Ops", true, "60.0 us (60.0%)"],
      ["Data movement", true, "20.0 us (20.0%)"],
      ["Input", false, "20.0 us (20.0%)"],
    ]);
    expect([card?.bottleneck, card?.window]).toEqual(["Device compute", "995000000,1105000000"]);
  });

  it("shows devices without work as not taking part", () => {
    const own = podOf(ownAnswer({ compute: [60_000, 0] }, { takes_part: [[true, false]], total_ns: [[60_000, 60_000]] }));
    const [only] = own.steps;
    expect(only && workersChart(own, only).x.labels).toEqual(["h0: GPU 0", "h1: GPU 0 (takes no part)"]);
    expect(only && podHeadline(own, only)).toEqual({
      tone: "none",
      title: "Step train 7 takes 60 us on the only worker",
      sentences: ["Its largest part is device compute.", "h1: GPU 0 takes no part in this step."],
    });
    expect(stepsChart(own).high).toEqual([60]);
    expect(only && workerCard(own, only, 1)).toBeNull();
  });

  it("finds the step of the address", () => {
    expect([chooseStep(pod, "4"), chooseStep(pod, null), chooseStep(pod, "9")]).toEqual([1, 0, 0]);
  });
});
