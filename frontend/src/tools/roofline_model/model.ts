// Decodes the roofline to points (programs, steps, ops), roofs and peaks, and summarises them. Pure.
import type { Tone } from "../../base/steps/steps";
import { asList, asTable, badAnswer, columnOf, numbersOf, propertyNumber, textsOf } from "../../api/payload/fields";
import { beyond, overCores, rateDoubt, readNotes, shareDoubt } from "../../page/op_request";
import type { OpNotes } from "../../page/op_request";
import { formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import { partsOfOp, shortNamesWithin } from "../../base/kernel_name";
import { plainSources, relabelled, shortening, withDoubts, withUnits, withoutUnitLabels, withoutZeros } from "../../base/table/transform";
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

export interface Roof {
  id: string;
  name: string;
  /** GiB/s. */
  bandwidth: number;
  /** FLOP per byte above which compute is the limit. */
  ridge: number;
}

export interface Roofline {
  table: TableData;
  points: readonly Point[];
  roofs: readonly Roof[];
  /** GFLOP/s; null if unknown. */
  peak: number | null;
  device: string;
  properties: Readonly<Record<string, string>>;
  notes: OpNotes;
  messages: readonly { severity: "error" | "warning" | "info"; text: string }[];
  /** Whether the table differs without infeed and outfeed. */
  hasTransfers: boolean;
}

const WHAT = "the roofline table";
/** Efficiency from which a program uses its device well. */
const GOOD = 0.6;
const MEMORIES = [
  ["hbm", "HBM"],
  ["cmem_read", "CMEM read"],
  ["cmem_write", "CMEM write"],
  ["vmem_read", "VMEM read"],
  ["vmem_write", "VMEM write"],
] as const;
const FRACTIONS = [
  "total_self_time_percent",
  "cumulative_total_self_time_percent",
  "dma_stall_percent",
  "total_time_in_percentage",
  "roofline_efficiency",
  "compute_efficiency",
  "max_mem_bw_utilization",
];
const GIGA_PER_GIBI = 2 ** 30 / 1e9;

/** GFLOP/s that a memory allows at an intensity. */
export function allowed(roof: Roof, peak: number, intensity: number): number {
  return Math.min(peak, roof.bandwidth * GIGA_PER_GIBI * intensity);
}

export function readRoofline(payload: unknown): Roofline {
  const answer = asList(payload, "the roofline response");
  if (answer.length < 1) throw badAnswer("the roofline response contains no table");
  const raw = asTable(answer[0], WHAT);
  const { properties } = raw;
  const peak = positive(properties, "peak_flop_rate");
  const gpu = columnOf(raw, "vmem_read_bw") === null;
  const roofs = MEMORIES.flatMap(([id, name]): Roof[] => {
    const bandwidth = positive(properties, `peak_${id}_bw`);
    if (bandwidth === null || peak === null) return [];
    return [{ id, name: gpu && id === "vmem_write" ? "Shared memory / L1" : name, bandwidth, ridge: peak / (bandwidth * GIGA_PER_GIBI) }];
  });
  const notes = readNotes(properties);
  const categories = textsOf(raw, "category", WHAT);
  const names = shortNamesWithin(textsOf(raw, "operation", WHAT).map((name, row) => partsOfOp(name, categories[row] ?? "")));
  const label = (name: string): string => names.get(name) ?? name;
  const points = readPoints(raw, peak !== null, notes, label);
  return {
    table: shortening(dressed(raw, peak !== null, roofs, notes), "operation", label),
    points,
    roofs,
    peak,
    device: properties["device_type"] ?? "",
    properties,
    notes,
    messages: answer[1] === undefined ? [] : readMessages(asTable(answer[1], "the diagnostics")),
    hasTransfers: differ(points),
  };
}

function positive(properties: Readonly<Record<string, string>>, name: string): number | null {
  const value = propertyNumber(properties, name);
  return value !== null && value > 0 ? value : null;
}

/** Adds units; values that depend on an unknown peak or an absent memory become null instead of 0. */
function dressed(raw: TableData, known: boolean, roofs: readonly Roof[], notes: OpNotes): TableData {
  const fractions = Object.fromEntries(FRACTIONS.map((id) => [id, "fraction"]));
  const intensities = Object.fromEntries(
    raw.columns.filter(({ id }) => id.endsWith("operational_intensity")).map(({ id }) => [id, "FLOP/B"]),
  );
  const absent = MEMORIES.filter(([id]) => !roofs.some((roof) => roof.id === id)).flatMap(([id]) => [
    `${id}_bw`,
    `${id}_operational_intensity`,
  ]);
  const unknown = known
    ? ["optimal_flop_rate", "bottleneck_operational_intensity"]
    : ["roofline_efficiency", "compute_efficiency", "max_mem_bw_utilization", "optimal_flop_rate", "bottleneck_operational_intensity"];
  const plain = plainSources(withoutUnitLabels(withoutZeros(withUnits(raw, { ...fractions, ...intensities }), [...absent, ...unknown])));
  return marked(based(plain, notes), notes);
}

/** Names what the shares of time are parts of. */
function based(table: TableData, { cores }: OpNotes): TableData {
  const all = `all recorded time${overCores(cores)}, idle time included.`;
  const help: Record<string, string> = {
    total_self_time_percent: `Total self time divided by ${all}`,
    cumulative_total_self_time_percent: `Self time of this op and those above it divided by ${all}`,
    total_time_in_percentage: `Total time divided by ${all}`,
  };
  const labels = {
    total_self_time_percent: "Share of all time",
    cumulative_total_self_time_percent: "Cumulative share of all time",
    total_time_in_percentage: "Total time share of all time",
  };
  return {
    ...table,
    columns: relabelled(table, labels).columns.map((column) =>
      help[column.id] === undefined ? column : { ...column, help: help[column.id] ?? null },
    ),
  };
}

/** Marks rates and shares of peaks that exceed what the device can do. */
function marked(table: TableData, { limits }: OpNotes): TableData {
  const [flops, hbm, memory] = [
    rateDoubt(limits.flops, "GFLOP/s", limits.what),
    rateDoubt(limits.hbm, "GiB/s", limits.what),
    rateDoubt(limits.memory, "GiB/s", limits.what),
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
    doubtful: (known && beyond(efficiency[row] ?? 0, 1)) || beyond(rate[row] ?? 0, limits.flops),
  }));
}

function readMessages(table: TableData): Roofline["messages"] {
  const severities = textsOf(table, "severity", "the diagnostics");
  return textsOf(table, "message", "the diagnostics").map((text, i) => {
    const severity = (severities[i] ?? "").toLowerCase();
    return { severity: severity === "error" || severity === "warning" ? severity : "info", text };
  });
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
export function summaryOf({ points, peak, roofs, notes }: Roofline, transfers: boolean): Summary {
  const total = points.find((point) => point.program && point.step === "Total" && point.transfers === transfers);
  const ops = points.filter((point) => !point.program && point.transfers === transfers);
  if (!total) return { tone: "none", headline: "No program row", lines: [] };
  const rate = formatQuantity(total.rate, "GFLOP/s");
  if (peak === null || total.efficiency === null) {
    return {
      tone: "none",
      headline: `The program runs at ${rate}`,
      lines: [
        notes.onCpu
          ? "No peak lines: the program ran on the CPU, whose peak rates are unknown."
          : "No peak lines: the peak rates of this device are unknown.",
      ],
    };
  }
  const hbm = roofs.find(({ id }) => id === "hbm");
  const lines: string[] = [];
  if (hbm && total.intensity > 0) {
    const side = total.intensity < hbm.ridge ? "below" : "above";
    const roof = total.intensity < hbm.ridge ? "HBM" : "compute";
    lines.push(
      `Operational intensity: ${formatQuantity(total.intensity, "FLOP/B")}, ${side} the HBM ridge point of ` +
        `${formatQuantity(hbm.ridge, "FLOP/B")}; the roof above it is ${roof}.`,
    );
  }
  const byBound = new Map<string, number>();
  for (const op of ops) byBound.set(op.bound, (byBound.get(op.bound) ?? 0) + op.share);
  const shares = [...byBound]
    .sort((a, b) => b[1] - a[1])
    .filter(([, share]) => share >= 0.005)
    .slice(0, 4)
    .map(
      ([bound, share]) =>
        `${formatPercent(share * 100)} ${bound === "Unknown" ? "without a known limit" : `closest to the limit of ${bound}`}`,
    );
  const rest = 1 - ops.reduce((all, { share }) => all + share, 0);
  const idle = rest > 0.05 ? `; ${formatPercent(rest * 100)} idle` : "";
  if (shares.length)
    lines.push(`Of all recorded time (${formatTime(total.timeUs * 1e6)}${overCores(notes.cores)}): ${shares.join(", ")}${idle}.`);
  const far = ops
    .filter((op) => op.efficiency !== null && !op.doubtful && op.share > 0.01)
    .sort((a, b) => b.share * (1 - Math.min(1, b.efficiency ?? 0)) - a.share * (1 - Math.min(1, a.efficiency ?? 0)))[0];
  if (far)
    lines.push(
      `Largest potential gain: ${far.label}, with ${formatPercent(far.share * 100)} of all recorded time at ` +
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
