import { describe, expect, it } from "vitest";
import type { RooflineModel } from "../../base/documents";
import type { Cell } from "../../base/table/table_data";
import { tableOf } from "../../base/testing";
import { NOTES, ON_CPU } from "../../page/testing";
import { allowed, choose, rooflineOf, remarks, summaryOf } from "./model";
import type { Choice } from "./model";
import { extentOf, rooflineChart, roofLine } from "./chart";

const IDS = [
  "step",
  "rank",
  "category",
  "operation",
  "total_time",
  "total_self_time_percent",
  "measured_flop_rate",
  "hbm_bw",
  "cmem_read_bw",
  "vmem_read_bw",
  "operational_intensity",
  "bottleneck_operational_intensity",
  "bound_by",
  "roofline_efficiency",
  "include_infeed_outfeed",
];

const TPU: RooflineModel = {
  rows: tableOf({}),
  device_type: "TPU v6 Lite",
  peak_gflops_per_s: 918000,
  memories: [
    { id: "hbm", name: "HBM", peak_gib_per_s: 1525.5, ridge_flops_per_byte: 918000 / (1525.5 * 1.073741824) },
    { id: "vmem_read", name: "VMEM read", peak_gib_per_s: 21696.1, ridge_flops_per_byte: 918000 / (21696.1 * 1.073741824) },
  ],
  megacore: false,
  has_cmem: false,
  has_merged_vmem: false,
  messages: [{ severity: "warning", text: "No step marker" }],
  notes: { ...NOTES, limits: { ...NOTES.limits, gflops_per_s: 918000, hbm_gib_per_s: 1525.5, memory_gib_per_s: 23221.6 } },
  left_out: [],
};

function answer(rows: readonly (readonly Cell[])[], change: Partial<RooflineModel> = {}): RooflineModel {
  return { ...TPU, rows: tableOf(Object.fromEntries(IDS.map((id, i) => [id, rows.map((row) => row[i] ?? null)]))), ...change };
}

const half = (transfers: boolean) => [
  ["Total", 0, "Program", "Program", 1000, 0, 700, 66, 0, 0, 7, 10, "HBM", 0.04, transfers],
  ["Total", 1, "fusion", "f.1", 600, 0.6, 800, 60, 0, 0, 8, 12, "HBM", 0.05, transfers],
  ["Total", 2, "copy", "c.1", 300, 0.3, 0, 10, 0, 0, 0, 0, "HBM", 0.01, transfers],
  ["Total", 3, "conv", "v.1", 100, 0.1, 1e6, 10, 0, 0, 900, 900, "Compute", 1.1, transfers],
  ["Total", 4, "copy-start", "w.1", 1, 0, 1.8e7, 2.8e9, 0, 0, 9, 9, "HBM", 2e6, transfers],
  ["Average", 0, "Program", "Program", 500, 0, 650, 60, 0, 0, 7, 10, "HBM", 0.04, transfers],
  ["1", 0, "Program", "Program", 510, 0, 640, 60, 0, 0, 7, 10, "HBM", 0.04, transfers],
];
const ROOFLINE = rooflineOf(answer([...half(true), ...half(false)]));
const choice: Choice = { view: "ops", transfers: true, step: "", category: "", bound: "", text: "" };

describe("the response", () => {
  it("differs without infeed and outfeed, or not", () => {
    expect(ROOFLINE.hasTransfers).toBe(false);
    expect(rooflineOf(answer([...half(true), ...half(false).slice(0, 2)])).hasTransfers).toBe(true);
  });

  it("filters ops and steps", () => {
    const names = (more: Partial<Choice>) =>
      choose(ROOFLINE.points, { ...choice, ...more }).map(({ name, step }) => (name === "Program" ? step : name));
    expect(names({})).toEqual(["f.1", "c.1", "v.1", "w.1"]);
    expect(names({ bound: "Compute" })).toEqual(["v.1"]);
    expect(names({ category: "copy" })).toEqual(["c.1"]);
    expect(names({ text: "F." })).toEqual(["f.1"]);
    expect(names({ view: "program" })).toEqual(["Total", "Average", "1"]);
    expect(names({ view: "program", step: "steps" })).toEqual(["1"]);
  });

  it("gives the bottleneck, the efficiency and the points that are not drawn", () => {
    const { headline, lines, tone } = summaryOf(ROOFLINE, true);
    expect(headline).toBe("The program runs at 700 GFLOP/s, 4.0% of its roofline");
    expect(tone).toBe("none");
    expect(lines[0]).toMatch(/below the HBM ridge point of 560\.4 FLOP\/B; the roof above it is HBM/);
    expect(lines[2]).toMatch(/f\.1, with 60\.0% of the observed time at 5\.0%/);
    expect(lines[1]).toBe("Of the observed time (1 ms over 8 cores), by the nearest limit, reached or not: 90.0% HBM, 10.0% Compute.");
    expect(remarks(choose(ROOFLINE.points, choice))).toBe(
      "1 row without FLOPs or bytes is only in the table. 1 row beyond what the device can do is not drawn: work of " +
        "these ops is done outside their recorded time.",
    );
  });

  it("marks what no device reaches", () => {
    const column = (id: string) => ROOFLINE.table.columns.find((one) => one.id === id);
    const marked = (id: string) =>
      column(id)
        ?.doubts?.slice(0, 6)
        .map((doubt) => doubt !== null);
    // The convolution is a tenth above the peak, which clocks explain: its percentage says so, its rate is plausible.
    for (const id of ["measured_flop_rate", "hbm_bw"]) expect(marked(id)).toEqual([false, false, false, false, true, false]);
    expect(marked("roofline_efficiency")).toEqual([false, false, false, true, true, false]);
    expect(
      column("roofline_efficiency")
        ?.doubts?.slice(3, 5)
        .map((doubt) => doubt?.slice(0, 23)),
    ).toEqual(["Slightly more than 100%", "Far more than 100%, and"]);
    expect(ROOFLINE.points.filter(({ doubtful }) => doubtful).map(({ name }) => name)).toEqual(["w.1", "w.1"]);
  });

  it("has points but no roofs on a CPU", () => {
    const cpu = rooflineOf(answer(half(true), { peak_gflops_per_s: null, memories: [], notes: ON_CPU }));
    expect(cpu.points[1]?.efficiency).toBeNull();
    expect(summaryOf(cpu, true).lines[0]).toBe("No peak lines: the program ran on the CPU, whose peak rates are unknown.");
  });
});

describe("the chart", () => {
  const points = choose(ROOFLINE.points, choice);
  const chart = rooflineChart(points, ROOFLINE, choice, () => ROOFLINE.table);

  it("spans whole decades around points and ridges", () => {
    expect([chart.x.from, chart.x.to, chart.y.from, chart.y.to]).toEqual([0, 4, 2, 7]);
    expect(extentOf([], [], null)).toEqual({ x: [0, 1], y: [0, 1] });
  });

  it("draws a roof to its ridge and along the peak", () => {
    const [hbm] = ROOFLINE.document.memories;
    if (!hbm) throw new Error("no roof");
    const { corners, label } = roofLine(hbm, 918000, { x: [0, 4], y: [2, 7] }, 0);
    expect(label).toBe("HBM 1.490 TiB/s");
    expect(corners.map(([x, y]) => [Math.round(x), Math.round(y)])).toEqual([
      [1, 1638],
      [560, 918000],
      [10000, 918000],
    ]);
    expect(roofLine(hbm, 918000, { x: [3, 4], y: [2, 7] }, 0).corners.map(([x]) => x)).toEqual([1000, 10000]);
    expect(roofLine(hbm, 918000, { x: [0, 4], y: [5, 7] }, 0).corners[0]?.map(Math.round)).toEqual([61, 100000]);
    expect(allowed(hbm, 918000, 1)).toBeCloseTo(1525.5 * 1.073741824);
  });

  it("has a series per category and one for the program; ops without FLOPs are omitted", () => {
    expect(chart.series.map(({ name, shape, points: list }) => [name, shape, list.map(({ place }) => place)])).toEqual([
      ["fusion", "circle", [1]],
      ["conv", "square", [3]],
      ["Program", "star", [0]],
    ]);
    expect(chart.tip(1)?.title).toBe("f.1 (fusion)");
    expect(chart.tip(0)?.title).toBe("Program, total");
    expect(chart.tip(2)).toBeNull();
  });
});

it("shows kernels by short names, with the full ones in tooltips and CSV", () => {
  const full = "Net_0/aten::mm/void cutlass::Kernel2<cutlass_80_tensorop_gemm>(cutlass_80_tensorop_gemm::Params)";
  const short = "Net_0/aten::mm/Kernel2<cutlass_80_tensorop_gemm>";
  const roofline = rooflineOf(answer([...half(true), ["Total", 5, "aten::mm", full, 100, 0.1, 900, 10, 0, 0, 9, 9, "HBM", 0.5, true]]));
  const column = roofline.table.columns.find(({ id }) => id === "operation");
  expect([column?.values.at(-1), column?.shorten?.(full), column?.shorten?.("f.1")]).toEqual([full, short, "f.1"]);
  const spec = rooflineChart(roofline.points, roofline, choice, () => roofline.table);
  const last = roofline.points.length - 1;
  expect(spec.tip?.(last)?.title).toBe(`${short} (aten::mm)`);
});
