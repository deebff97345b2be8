import { describe, expect, it } from "vitest";
import { labelled, readPod } from "./decode";
import type { PodStep } from "./decode";
import { chooseStep, podHeadline, sameUnit, stepLabel, stepsChart, widest, workerCard, workersChart } from "./model";

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
      { stepNum: 4, podStatsPerCore: { "1002": core("b", 104, 94, 10), "2": core("a", 100, 90, 10), "10": core("a", 100, 80, 20) } },
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
    expect(podHeadline(pod, step(1)).title).toBe("Step 4: no straggler; 3 workers on 2 hosts take 100 us to 104 us");
    expect(widest(pod, step(1))).toBe("Device compute differs most: 80 us on a:1, 94 us on b:0.");
  });

  it("compares two workers with each other, and finds the one that the others wait for", () => {
    const two = (parts: [number, number][]) =>
      readPod({
        stepBreakdownEvents: [
          { id: 1, name: "Device compute" },
          { id: 3, name: "Device collective communication" },
        ],
        deviceType: "GPU",
        steps: {
          numbers: [0],
          cores: parts.map((_, i) => 1000 * i + 1),
          hosts: parts.map((_, i) => `h${i}`),
          total_ns: [parts.map(([a, b]) => a + b)],
          parts_ns: { "1": [parts.map(([a]) => a)], "3": [parts.map(([, b]) => b)] },
        },
      });
    const of = (parts: [number, number][]) => {
      const found = two(parts);
      const [only] = found.steps;
      return podHeadline(found, only ?? step(0));
    };
    expect(
      of([
        [100_000, 0],
        [120_000, 0],
      ]).title,
    ).toBe("Step 0: h1 is slow, 120 us, 20.0% longer than the other host");
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
    expect([late.tone, late.title]).toEqual(["bad", "Step 0: all take about the same time, 61 us, but wait for one worker"]);
    expect(late.sentences[0]).toBe("h0 works for 56 us, the others for 15 us: they wait for it in collectives, 46 us against 5 us.");
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
      [100, 100],
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

  it("decodes arrays like objects", () => {
    const rest = { ...PAYLOAD, podStatsSequence: {} };
    const arrays = readPod({
      ...rest,
      steps: {
        numbers: [3, 4],
        cores: [1002, 2, 10],
        hosts: ["b", "a", "a"],
        total_ns: [
          [150_000, 100_000, 100_000],
          [104_000, 100_000, 100_000],
        ],
        parts_ns: {
          "1": [
            [50_000, 90_000, 80_000],
            [94_000, 90_000, 80_000],
          ],
          "6": [
            [100_000, 10_000, 20_000],
            [10_000, 10_000, 20_000],
          ],
        },
      },
    });
    expect(arrays.workers).toEqual(pod.workers);
    arrays.steps.forEach((one, at) => {
      expect([...one.byCore].sort(([a], [b]) => a - b)).toEqual([...step(at).byCore].sort(([a], [b]) => a - b));
      expect(one.number).toBe(step(at).number);
    });
    expect(stepsChart(arrays)).toEqual(stepsChart(pod));
    expect(podHeadline(arrays, arrays.steps[0] ?? step(0))).toEqual(podHeadline(pod, step(0)));
  });

  it("rejects arrays of different lengths, and accepts parts without time", () => {
    const steps = { numbers: [3], cores: [1], hosts: ["a"], total_ns: [[5000]], parts_ns: {} };
    const rest = { ...PAYLOAD, podStatsSequence: {} };
    expect(readPod({ ...rest, steps }).steps[0]?.byCore.get(1)).toEqual({ totalUs: 5, partsUs: [0, 0], bottleneck: "Input" });
    for (const bad of [
      { cores: [1, 2] },
      { total_ns: [[5000, 1]] },
      { numbers: [] },
      { parts_ns: { "1": [[1, 2]] } },
      { parts_ns: { "1": [] } },
      { total_ns: [["x"]] },
    ]) {
      expect(() => readPod({ ...rest, steps: { ...steps, ...bad } }), JSON.stringify(bad)).toThrow();
    }
  });

  it("finds the step of the address", () => {
    expect([chooseStep(pod, "4"), chooseStep(pod, null), chooseStep(pod, "9")]).toEqual([1, 0, 0]);
    expect(stepLabel(-2)).toBe("2 (incomplete)");
  });
});

describe("devices of the CPU backend", () => {
  const answer = {
    steps: {
      numbers: [0],
      cores: [0, 1, 2],
      hosts: ["h", "h", "h"],
      labels: ["CPU device 0", "CPU device 1", "CPU device 2"],
      total_ns: [[100, 100, 100]],
      parts_ns: { 1: [[90, 20, 30]], 2: [[10, 10, 10]], 9: [[0, 70, 60]] },
    },
    stepBreakdownEvents: [
      { id: 1, name: "Compute" },
      { id: 2, name: "Exposed communication" },
      { id: 9, name: "Idle: waiting for another device" },
    ],
    deviceType: "CPU",
  };

  it("have their names, and the late one is named though all steps are equally long", () => {
    const pod = readPod(answer);
    expect(pod.workers.map(({ label }) => label)).toEqual(["CPU device 0", "CPU device 1", "CPU device 2"]);
    expect(pod.parts.map(({ category }) => category)).toEqual(["device_compute", "collectives", "peer"]);
    const { tone, title, sentences } = podHeadline(pod, pod.steps[0] as PodStep);
    expect([tone, title]).toEqual(["bad", "Step 0: all take about the same time, 100 ns, but wait for one worker"]);
    expect(sentences[0]).toBe("CPU device 0 works for 90 ns, the others for 25 ns: they wait for it in collectives, 75 ns against 10 ns.");
  });
});
