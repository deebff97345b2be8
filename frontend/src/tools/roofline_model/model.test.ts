import { describe, expect, it } from "vitest";
import { allowed, choose, readRoofline, remarks, summaryOf } from "./model";
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
const TEXTS = ["step", "category", "operation", "bound_by"];
const PROPERTIES = {
  device_type: "TPU v6 Lite",
  peak_flop_rate: "918000",
  peak_hbm_bw: "1525.5",
  peak_cmem_read_bw: "0",
  peak_vmem_read_bw: "21696.1",
  cores: "8",
  compute_peak: "918000",
  hbm_peak: "1525.5",
  memory_peak: "23221.6",
};

function payload(rows: unknown[][], p: Record<string, string> = PROPERTIES): unknown {
  const cols = IDS.map((id) => ({
    id,
    label: id === "hbm_bw" ? "HBM BW (GiB/s)" : id,
    type: TEXTS.includes(id) ? "string" : id.startsWith("include") ? "boolean" : "number",
  }));
  return [
    { cols, rows: rows.map((row) => ({ c: row.map((v) => ({ v })) })), p },
    {
      cols: [
        { id: "severity", type: "string" },
        { id: "message", type: "string" },
      ],
      rows: [{ c: [{ v: "WARNING" }, { v: "No step marker" }] }],
    },
  ];
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
const ROOFLINE = readRoofline(payload([...half(true), ...half(false)]));
const choice: Choice = { view: "ops", transfers: true, step: "", category: "", bound: "", text: "" };

describe("the response", () => {
  it("has roofs of the memories with a peak, and units", () => {
    expect(ROOFLINE.roofs.map(({ id, ridge }) => [id, Math.round(ridge * 10) / 10])).toEqual([
      ["hbm", 560.4],
      ["vmem_read", 39.4],
    ]);
    expect(ROOFLINE.messages).toEqual([{ severity: "warning", text: "No step marker" }]);
    const column = (id: string) => ROOFLINE.table.columns.find((one) => one.id === id);
    expect(column("roofline_efficiency")?.unit).toBe("fraction");
    expect(column("hbm_bw")?.label).toBe("HBM BW");
    expect(column("cmem_read_bw")?.values.every((value) => value === null)).toBe(true);
    expect(ROOFLINE.hasTransfers).toBe(false);
    expect(readRoofline(payload([...half(true), ...half(false).slice(0, 2)])).hasTransfers).toBe(true);
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
    expect(lines[2]).toMatch(/f\.1, with 60\.0% of all recorded time at 5\.0%/);
    expect(lines[1]).toBe(
      "Of all recorded time (1 ms over 8 cores): 90.0% closest to the limit of HBM, 10.0% closest to the limit of Compute.",
    );
    expect(remarks(choose(ROOFLINE.points, choice))).toBe(
      "1 row without FLOPs or bytes is only in the table. 1 row beyond what the device can do is not drawn: work of " +
        "these ops is done outside their recorded time.",
    );
  });

  it("marks what no device reaches, and names the base of shares", () => {
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
    ).toEqual(["Slightly more than 100%", "More than 100%. Work of"]);
    expect(column("total_self_time_percent")).toMatchObject({
      label: "Share of all time",
      help: "Total self time divided by all recorded time over 8 cores, idle time included.",
    });
    expect(ROOFLINE.points.filter(({ doubtful }) => doubtful).map(({ name }) => name)).toEqual(["w.1", "w.1"]);
  });

  it("has points but no roofs on a CPU", () => {
    const cpu = readRoofline(payload(half(true), { device_type: "CPU", peak_flop_rate: "0", peak_hbm_bw: "0", backend: "CPU" }));
    expect([cpu.roofs, cpu.peak, cpu.points[1]?.efficiency]).toEqual([[], null, null]);
    expect(summaryOf(cpu, true).lines[0]).toBe("No peak lines: the program ran on the CPU, whose peak rates are unknown.");
  });

  it("reports malformed responses", () => {
    expect(() => readRoofline({})).toThrow(/not a list/);
    expect(() => readRoofline([{ cols: [], rows: [] }])).toThrow(/no column/);
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
    const [hbm] = ROOFLINE.roofs;
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
  const roofline = readRoofline(payload([...half(true), ["Total", 5, "aten::mm", full, 100, 0.1, 900, 10, 0, 0, 9, 9, "HBM", 0.5, true]]));
  const column = roofline.table.columns.find(({ id }) => id === "operation");
  expect([column?.values.at(-1), column?.shorten?.(full), column?.shorten?.("f.1")]).toEqual([full, short, "f.1"]);
  const spec = rooflineChart(roofline.points, roofline, choice, () => roofline.table);
  const last = roofline.points.length - 1;
  expect(spec.tip?.(last)?.title).toBe(`${short} (aten::mm)`);
});
