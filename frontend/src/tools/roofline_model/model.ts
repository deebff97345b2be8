// The points of the roofline (programs, steps, ops), and their summary. Pure.
import type { Tone } from "../../base/steps/steps";
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import { beyond, overCores, rateDoubt, shareDoubt } from "../../page/op_request";
import type { OpNotes, RoofMemory, RooflineModel } from "../../base/documents";
import { formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import { partsOfOp, shortNamesWithin } from "../../base/kernel_name";
import { shortening, withDoubts, withSources } from "../../base/table/transform";
import type { TableData } from "../../base/table/table_data";

export interface Point {
  /** Row of the table. */
  row: number;
  step: string;
  program: boolean;
  category: string;
  name: string;
  /** The name with its kernel shortened. */
  label: string;
  bound: string;
  /** FLOP per byte of the bottleneck memory, or of all memory if there is none. */
  intensity: number;
  /** GFLOP/s. */
  rate: number;
  timeUs: number;
  /** Self time divided by the program's time. */
  share: number;
  efficiency: number | null;
  transfers: boolean;
  /** Its rates exceed what the device can do; it is not drawn. */
  doubtful: boolean;
}

export interface Roofline {
  table: TableData;
  points: readonly Point[];
  document: RooflineModel;
  /** Whether the table differs without infeed and outfeed. */
  hasTransfers: boolean;
}

const WHAT = "the roofline table";
/** Efficiency from which a program uses its device well. */
const GOOD = 0.6;
const GIGA_PER_GIBI = 2 ** 30 / 1e9;

/** GFLOP/s that a memory allows at an intensity. */
export function allowed(roof: RoofMemory, peak: number, intensity: number): number {
  return Math.min(peak, roof.peak_gib_per_s * GIGA_PER_GIBI * intensity);
}

/** The rows as points, with short names and sources in cells and marks at figures that cannot be true. */
export function rooflineOf(document: RooflineModel): Roofline {
  const { rows, notes } = document;
  const known = document.peak_gflops_per_s !== null;
  const categories = textsOf(rows, "category", WHAT);
  const names = shortNamesWithin(textsOf(rows, "operation", WHAT).map((name, row) => partsOfOp(name, categories[row] ?? "")));
  const label = (name: string): string => names.get(name) ?? name;
  const points = readPoints(rows, known, notes, label);
  return { document, table: shortening(withSources(marked(rows, notes)), "operation", label), points, hasTransfers: differ(points) };
}

/** Marks rates and shares of peaks that exceed what the device can do. */
function marked(table: TableData, { limits }: OpNotes): TableData {
  const [flops, hbm, memory] = [
    rateDoubt(limits.gflops_per_s, "GFLOP/s", limits.what),
    rateDoubt(limits.hbm_gib_per_s, "GiB/s", limits.what),
    rateDoubt(limits.memory_gib_per_s, "GiB/s", limits.what),
  ];
  return withDoubts(table, {
    measured_flop_rate: flops,
    model_flop_rate: flops,
    hbm_bw: hbm,
    measured_memory_bw: memory,
    cmem_read_bw: memory,
    cmem_write_bw: memory,
    vmem_read_bw: memory,
    vmem_write_bw: memory,
    roofline_efficiency: shareDoubt,
    compute_efficiency: shareDoubt,
    max_mem_bw_utilization: shareDoubt,
  });
}

function readPoints(table: TableData, known: boolean, { limits }: OpNotes, label: (name: string) => string): Point[] {
  const number = (id: string): number[] => numbersOf(table, id, WHAT);
  const text = (id: string): string[] => textsOf(table, id, WHAT);
  const [step, category, name, bound] = [text("step"), text("category"), text("operation"), text("bound_by")];
  const [rank, rate, time, own] = [number("rank"), number("measured_flop_rate"), number("total_time"), number("total_self_time_percent")];
  const [overall, binding, efficiency] = [
    number("operational_intensity"),
    number("bottleneck_operational_intensity"),
    number("roofline_efficiency"),
  ];
  const transfers = columnOf(table, "include_infeed_outfeed");
  return step.map((one, row): Point => ({
    row,
    step: one,
    program: category[row] === "Program" && rank[row] === 0,
    category: category[row] ?? "",
    name: name[row] ?? "",
    label: label(name[row] ?? ""),
    bound: bound[row] || "Unknown",
    intensity: binding[row] || overall[row] || 0,
    rate: rate[row] ?? 0,
    timeUs: time[row] ?? 0,
    share: own[row] ?? 0,
    efficiency: known ? (efficiency[row] ?? 0) : null,
    transfers: transfers?.[row] !== false,
    doubtful: (known && beyond(efficiency[row] ?? 0, 1)) || beyond(rate[row] ?? 0, limits.gflops_per_s),
  }));
}

/** Whether the two halves of the table, with and without infeed and outfeed, differ. */
function differ(points: readonly Point[]): boolean {
  const half = (transfers: boolean): string =>
    points
      .filter((point) => point.transfers === transfers)
      .map(({ step, name, timeUs, rate }) => `${step} ${name} ${timeUs} ${rate}`)
      .join("\n");
  return half(true) !== half(false);
}

export interface Choice {
  view: "ops" | "program";
  transfers: boolean;
  step: string;
  category: string;
  bound: string;
  text: string;
}

/** The points of a view that match its filters; points of the program are not filtered by category, bound or text. */
export function choose(points: readonly Point[], { view, transfers, step, category, bound, text }: Choice): Point[] {
  const wanted = text.trim().toLowerCase();
  return points.filter((point) => {
    if (point.transfers !== transfers) return false;
    if (view === "program") return point.program && (step === "" || point.step === step || (step === "steps" && isStep(point)));
    if (point.program) return false;
    return (
      (category === "" || point.category === category) &&
      (bound === "" || point.bound === bound) &&
      point.name.toLowerCase().includes(wanted)
    );
  });
}

export const isStep = ({ step }: Point): boolean => /^\d+$/.test(step);

/** Whether a point can be drawn on logarithmic axes, and is on the scale of the device. */
export const drawable = ({ intensity, rate, doubtful }: Point): boolean => intensity > 0 && rate > 0 && !doubtful;

export interface Summary {
  tone: Tone;
  headline: string;
  lines: string[];
}

/** The summary, from the program's row. */
export function summaryOf({ points, document }: Roofline, transfers: boolean): Summary {
  const { peak_gflops_per_s: peak, memories, notes } = document;
  const total = points.find((point) => point.program && point.step === "Total" && point.transfers === transfers);
  const ops = points.filter((point) => !point.program && point.transfers === transfers);
  if (!total) return { tone: "none", headline: "No program row", lines: [] };
  const rate = formatQuantity(total.rate, "GFLOP/s");
  if (peak === null || total.efficiency === null) {
    return {
      tone: "none",
      headline: `The program runs at ${rate}`,
      lines: [
        notes.on_cpu
          ? "No peak lines: the program ran on the CPU, whose peak rates are unknown."
          : "No peak lines: the peak rates of this device are unknown.",
      ],
    };
  }
  const hbm = memories.find(({ id }) => id === "hbm");
  const lines: string[] = [];
  if (hbm && total.intensity > 0) {
    const side = total.intensity < hbm.ridge_flops_per_byte ? "below" : "above";
    const roof = total.intensity < hbm.ridge_flops_per_byte ? "HBM" : "compute";
    lines.push(
      `Operational intensity: ${formatQuantity(total.intensity, "FLOP/B")}, ${side} the HBM ridge point of ` +
        `${formatQuantity(hbm.ridge_flops_per_byte, "FLOP/B")}; the roof above it is ${roof}.`,
    );
  }
  const byBound = new Map<string, number>();
  for (const op of ops) byBound.set(op.bound, (byBound.get(op.bound) ?? 0) + op.share);
  const shares = [...byBound]
    .sort((a, b) => b[1] - a[1])
    .filter(([, share]) => share >= 0.005)
    .slice(0, 4)
    .map(([bound, share]) => `${formatPercent(share * 100)} ${bound === "Unknown" ? "without a known one" : bound}`);
  const rest = 1 - ops.reduce((all, { share }) => all + share, 0);
  const idle = rest > 0.05 ? `; ${formatPercent(rest * 100)} idle` : "";
  if (shares.length)
    lines.push(
      `Of the observed time (${formatTime(total.timeUs * 1e6)}${overCores(notes.cores)}), by the nearest limit, reached or not: ${shares.join(", ")}${idle}.`,
    );
  const far = ops
    .filter((op) => op.efficiency !== null && !op.doubtful && op.share > 0.01)
    .sort((a, b) => b.share * (1 - Math.min(1, b.efficiency ?? 0)) - a.share * (1 - Math.min(1, a.efficiency ?? 0)))[0];
  if (far)
    lines.push(
      `Largest potential gain: ${far.label}, with ${formatPercent(far.share * 100)} of the observed time at ` +
        `${formatPercent((far.efficiency ?? 0) * 100)} of its roofline limit.`,
    );
  return {
    tone: total.efficiency >= GOOD ? "good" : "none",
    headline: `The program runs at ${rate}, ${formatPercent(total.efficiency * 100)} of its roofline`,
    lines,
  };
}

/** Notes on points that the chart omits or that lie above the peak. */
export function remarks(points: readonly Point[]): string | null {
  const above = points.filter(({ doubtful }) => doubtful).length;
  const missing = points.filter((point) => !drawable(point) && !point.doubtful).length;
  const summary = [
    missing > 0 ? `${plural(missing, "row")} without FLOPs or bytes ${missing === 1 ? "is" : "are"} only in the table.` : "",
    above > 0
      ? `${plural(above, "row")} beyond what the device can do ${above === 1 ? "is" : "are"} not drawn: work of these ops is done outside their recorded time.`
      : "",
  ];
  return summary.filter(Boolean).join(" ") || null;
}
