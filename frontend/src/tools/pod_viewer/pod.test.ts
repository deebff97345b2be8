import { describe, expect, it } from "vitest";
import type { Pod as PodDocument, PodSteps } from "../../base/documents";
import { GROUPS } from "../../base/steps/testing";
import { labelled, podOf, readPod, stepLabel } from "./decode";
import { chooseStep, podHeadline, sameUnit, stepsChart, widest, workerCard, workersChart } from "./model";

const core = (hostName: string, totalDurationUs: number, compute: number, input: number) => ({
  hostName,
  chipId: 0,
  nodeId: 0,
  stepNum: 1,
  totalDurationUs,
  bottleneck: compute > input ? "Device compute" : "Input",
  stepBreakdownUs: { "1": compute, "6": input },
});
const PAYLOAD = {
  podStatsSequence: {
    podStatsMap: [
      {
        stepNum: 3,
        podStatsPerCore: { "1002": core("b", 150, 50, 100), "2": core("a", 100, 90, 10), "10": core("a", 100, 80, 20) },
        channelDb: [],
      },
      { stepNum: 4, podStatsPerCore: { "1002": core("b", 104, 94, 10), "2": core("a", 100, 90, 10), "10": core("a", 96, 76, 20) } },
    ],
  },
  diagnostics: { info: [], warnings: ["No step marker "], errors: [] },
  stepBreakdownEvents: [
    { id: 1, name: "Device compute" },
    { id: 6, name: "Input" },
  ],
  deviceType: "TPU v4",
};
const pod = readPod(PAYLOAD);
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
const step = (at: number) => {
  const found = pod.steps[at];
  if (!found) throw new Error("no step");
  return found;
};

describe("pod viewer", () => {
  it("orders workers by host, then index", () => {
    expect(pod.workers.map(({ label, core: id }) => [label, id])).toEqual([
      ["a:0", 2],
      ["a:1", 10],
      ["b:0", 1002],
    ]);
    expect(pod.parts.map(({ category }) => category)).toEqual(["device_compute", "input"]);
    expect(pod.messages).toEqual([{ severity: "warning", text: "No step marker" }]);
    expect(labelled([{ core: 1, host: "vm", chip: 0, node: 0 }], false)[0]?.label).toBe("vm");
    expect(
      labelled(
        [
          { core: 0, host: "h", chip: 0, node: 0, name: "CPU device 0" },
          { core: 1, host: "h", chip: 0, node: 0, name: "CPU device 1" },
        ],
        false,
      ).map(({ label }) => label),
    ).toEqual(["CPU device 0", "CPU device 1"]);
    expect(
      labelled(
        [
          { core: 2, host: "h", chip: 1, node: 0 },
          { core: 1, host: "h", chip: 0, node: 1 },
        ],
        true,
      ).map(({ label }) => label),
    ).toEqual(["(0,1)", "(1,0)"]);
  });

  it("reports malformed responses", () => {
    expect(() => readPod([])).toThrow("the pod is not an object");
    expect(() => readPod({ stepBreakdownEvents: [] })).toThrow("have no names");
    expect(() => readPod({ ...PAYLOAD, podStatsSequence: { podStatsMap: [{ podStatsPerCore: { x: core("a", 1, 1, 1) } }] } })).toThrow(
      "core x is not a number",
    );
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
    const card = workerCard(pod, step(0), 1002);
    expect([card?.title, card?.host, card?.total]).toEqual(["b:0", "b", "150.0 us"]);
    expect(card?.lines.map(({ name, text }) => [name, text])).toEqual([
      ["Device compute", "50.0 us (33.3%)"],
      ["Input", "100.0 us (66.7%)"],
    ]);
    expect(workerCard(pod, step(0), 7)).toBeNull();
  });

  it("has the categories of the time budget with their parts, and the place of the step in the trace", () => {
    const own = podOf(ownAnswer({ compute: [60_000, 0], data_movement: [20_000, 0], idle_input: [20_000, 50_000] }));
    const [only] = own.steps;
    expect([own.workers.map(({ label }) => label), only?.name, own.messages]).toEqual([
      ["h0: GPU 0", "h1: GPU 0"],
      "train 7",
      [{ severity: "info", text: "Steps are inferred." }],
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
    expect(stepLabel(-2)).toBe("2 (incomplete)");
  });
});
