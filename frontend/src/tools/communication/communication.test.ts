import { describe, expect, it } from "vitest";
import { clocksOf, headline, hiddenChart, hiddenColumns, stepsChart, windowOf, withBaseOps, withBaseRanks, withShortNames } from "./model";
import { NOTHING, OPS, answer } from "./testing";

const LATE = { device: "GPU 1", host: "h", caused_percent: 100, work_ratio: 3, more_work: true, modified_z: null, waits_ratio: 5 };

describe("the summary of communication", () => {
  it("names the collective with most exposed time", () => {
    const { tone, title, sentences } = headline(answer());
    expect([tone, title]).toEqual(["none", "60.0% of the communication is exposed, most of it in all-reduce.1"]);
    expect(sentences).toEqual([
      "2 collectives, 1 ns over all devices; computation hides 40.0% of it, and 10.0% is waiting for the last device.",
    ]);
  });

  it("ranks collectives without waits, as findings do, and names their kernels shortly", () => {
    const names = [
      "ncclKernel_AllGather(ncclWork*, int) [all-gather, 8 float]",
      "ncclKernel_SendRecv(ncclWork*, int) [all-to-all, 8 float]",
    ];
    const found = answer({}, { ...OPS, op: names, exposed_ps: [300, 200], own_exposed_ps: [100, 200] });
    expect(headline(found).title).toBe(
      "50.0% of the communication is exposed, most of it in ncclKernel_SendRecv [all-to-all, 8 float], without waits for late devices",
    );
    const [op] = withShortNames(found.ops).columns;
    expect([op?.values[0], op?.shorten?.(names[0] ?? "")]).toEqual([names[0], "ncclKernel_AllGather [all-gather, 8 float]"]);
  });

  it("says that collectives outside of the steps cost them nothing", () => {
    const found = headline(answer({ cost: { share: 0, base: "step" } }));
    expect([found.tone, found.title]).toEqual(["none", "Communication costs the steps nothing: 60.0% of it is exposed, outside of them"]);
  });

  it("is as severe as what it costs of the step", () => {
    const costing = (share: number, more: object = {}) => answer({ cost: { share, base: "step" }, ...more });
    expect([0.004, 0.03, 0.1].map((share) => headline(costing(share)).tone)).toEqual(["good", "fair", "bad"]);
    expect(headline(costing(0.004)).sentences[0]).toBe(
      "Communication takes 0.4% of the step: what computation does not hide, and waits for late devices.",
    );
    const late = { stragglers: [{ ...LATE, work_ratio: 3 }] };
    expect(headline(answer(late)).tone).toBe("fair");
    expect([0.004, 0.2].map((share) => headline(costing(share, late)).tone)).toEqual(["good", "bad"]);
  });

  it("is good if computation hides most of it", () => {
    const { tone, title } = headline(answer({}, { ...OPS, exposed_ps: [100, 0] }));
    expect([tone, title]).toEqual(["good", "Computation hides 90.0% of the communication"]);
  });

  it("names a late device rather than a collective", () => {
    const late = { stragglers: [{ ...LATE, work_ratio: 3.6667 }] };
    expect(headline(answer(late)).title).toBe(
      "GPU 1 is late: it computes 3.7 times as long as the median device, and the others wait for it",
    );
    const alone = { stragglers: [{ ...LATE, work_ratio: null }], early_ends: 2 };
    const { title, sentences } = headline(answer(alone));
    expect(title).toContain("computes much longer than the median device");
    expect(sentences.slice(1)).toEqual(["2 runs of collectives ended before the last device began: the clocks disagree."]);
  });

  it("names who others waited for, however much work it has", () => {
    const quick = { ...LATE, work_ratio: 1, more_work: false, caused_percent: 50, waits_ratio: null };
    expect(headline(answer({ stragglers: [{ ...quick, caused_percent: 100 }] })).title).toBe(
      "GPU 1 arrives late at collectives: 100.0% of all waits are for it",
    );
    const host = { stragglers: [quick, { ...quick, device: "GPU 0" }], late_hosts: ["h"] };
    expect(headline(answer(host)).title).toBe("Host h arrives late at collectives: 100.0% of all waits are for it");
  });

  it("says that nothing was recorded", () => {
    expect(headline(NOTHING)).toMatchObject({ tone: "none", title: "No collectives were recorded" });
  });
});

it("draws hidden and exposed time, and the hidden share, by step", () => {
  const { steps } = answer();
  expect(stepsChart(steps).series.map(({ name, values }) => [name, values])).toEqual([
    ["Hidden by computation", [200, 0]],
    ["Exposed", [300, 0]],
  ]);
  expect([hiddenChart(steps).line.values, hiddenChart(steps).y.max]).toEqual([[40, null], 100]);
});

it("opens the trace viewer at the longest run", () => {
  const found = answer();
  expect(windowOf(found, 0)).toEqual({ window: "3000,9000", host: "h" });
  expect(windowOf(found, 1)).toEqual({ window: "8000,10100", host: "h" });
  expect(windowOf(found, 7)).toBeNull();
});

it("hides columns without values and those that only links use", () => {
  expect(hiddenColumns(answer())).toEqual(["stall_ps", "begin_ps", "end_ps", "host"]);
  expect(hiddenColumns(answer({}, { ...OPS, host: ["a", "b"], stall_ps: [1, 2] }))).toEqual(["begin_ps", "end_ps"]);
});

it("passes the clocks of hosts to the trace viewer", () => {
  expect(clocksOf(answer({ host_offsets_ps: { a: 0, b: -500, "c:1": 7 } }))).toBe("b:-500,c:1:7");
  expect(clocksOf(answer())).toBe("");
});

it("shows collectives and devices of a base, collectives also under another number", () => {
  const base = answer({}, { ...OPS, op: ["all-reduce.7", "all-gather.9"], total_ps: [500, 300] });
  const run = answer();
  const values = (table: ReturnType<typeof withBaseOps>, id: string) => table.columns.find((column) => column.id === id)?.values;
  const ops = withBaseOps(run.ops, base.ops);
  expect([values(ops, "op"), values(ops, "base_total_ps"), values(ops, "difference_total_ps")]).toEqual([
    ["all-reduce.1", "all-gather.2"],
    [500, 300],
    [300, -100],
  ]);
  expect(values(withBaseRanks(run.ranks, base.ranks), "difference_work_ps")).toEqual([0, 0]);
});
