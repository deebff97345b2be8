// Decodes the overview: XProf's seven tables and the additions of `extended`.
import { asDict, asList, asNumber, asTable, asText, numbersOf, propertyNumber, textsOf, badAnswer } from "../../api/payload/fields";
import { relabelled, withUnits } from "../../base/table/transform";
import type { Dict } from "../../api/payload/fields";
import { readMessages, readSteps } from "../../api/payload/step_table";
import type { Message } from "../../api/payload/step_table";
import { readStepReading } from "../../api/payload/step_reading";
import { breakdownOf } from "../../base/steps/decomposition";
import type { StepReading } from "../../base/steps/reading";
import type { Statistics, StepBreakdown } from "../../base/steps/steps";
import type { TableData } from "../../base/table/table_data";

export interface LatencyRow {
  label: string;
  hostMs: number;
  deviceMs: number;
  communicationMs: number;
  totalMs: number;
}

export interface Inferred {
  host: string;
  evidence: {
    source: string;
    event: string;
    line: string;
    plane: string;
    occurrences: number;
    periodMs: number;
    variation: number;
    coverage: number;
  };
  table: TableData;
  statistics: Statistics;
}

export interface Session {
  requests: number;
  averageMs: number;
  hostMs: number;
  deviceMs: number;
  communicationMs: number;
  /** Number of requests between two edges. */
  histogram: { edgesMs: readonly number[]; counts: readonly number[] };
}

interface Extras extends StepReading {
  inferred: Inferred | null;
  efficiency: { peak: number | null; flopRate: number | null; bandwidth: number | null; goodput: number | null; over: string };
  /** Percent of the device's compute time. */
  precision: { narrow: number; wide: number } | null;
  session: Session | null;
  /** Peak FLOP rate of a core in GFLOP/s; null if unknown. */
  peakGflops: number | null;
  cpuOps: boolean;
  /** Names of the frameworks that wrote the profile. */
  frameworks: string[];
  functions: { name: string; calls: number; selfMs: number; share: number }[];
}

/** A line of XProf's recommendation. */
export interface Tip {
  heading: string;
  html: string;
}

export interface Overview {
  ops: TableData;
  general: Readonly<Record<string, string>>;
  /** The decomposition of `extended`, else XProf's steps. */
  steps: StepBreakdown;
  /** TPU, GPU or CPU_ONLY. */
  hardware: string;
  environment: Readonly<Record<string, string>>;
  jobs: TableData;
  /** XProf's verdicts as sentences, and its tips. */
  statements: string[];
  tips: Tip[];
  /** Links of XProf's tips to documents, as HTML. */
  documents: string[];
  latency: LatencyRow[];
  messages: Message[];
  extras: Extras | null;
}

const TABLES = 7;
const LABELS = { selfTimePercent: "Time", cumulativeTimePercent: "Cumulative time", flopRate: "FLOP rate (normalised)" };

function readLatency(value: unknown): LatencyRow[] {
  const table = asTable(value, "the latency table");
  if (table.rowCount === 0) return [];
  const [labels, host, device, communication, total] = [
    textsOf(table, "percentile", "the latency table"),
    ...["hostTimeMs", "deviceTimeMs", "communicationTimeMs", "totalTimeMs"].map((id) => numbersOf(table, id, "the latency table")),
  ] as [string[], number[], number[], number[], number[]];
  return labels.map((label, i) => ({
    label,
    hostMs: host[i] ?? 0,
    deviceMs: device[i] ?? 0,
    communicationMs: communication[i] ?? 0,
    totalMs: total[i] ?? 0,
  }));
}

const optional = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

function readInferred(value: unknown): Inferred | null {
  if (value === null || value === undefined) return null;
  const what = "the inferred steps";
  const dict = asDict(value, what);
  const evidence = asDict(dict["evidence"], what);
  const times = asDict(dict["statistics"], what);
  const number = (from: Dict, key: string): number => asNumber(from[key], `${key} of ${what}`);
  const text = (key: string): string => asText(evidence[key], `${key} of ${what}`);
  return {
    host: asText(dict["host"], `host of ${what}`),
    evidence: {
      source: text("source"),
      event: text("event"),
      line: text("line"),
      plane: text("plane"),
      occurrences: number(evidence, "occurrences"),
      periodMs: number(evidence, "period_ms"),
      variation: number(evidence, "variation"),
      coverage: number(evidence, "coverage"),
    },
    table: asTable(dict["table"], what),
    statistics: {
      average: number(times, "average"),
      deviation: number(times, "count") > 1 ? number(times, "deviation") : null,
      minimum: number(times, "minimum"),
      maximum: number(times, "maximum"),
    },
  };
}

function readHistogram(value: unknown): Session["histogram"] {
  const what = "the histogram of the session";
  const dict = asDict(value ?? {}, what);
  const list = (key: string): number[] => asList(dict[key] ?? [], what).map((one) => asNumber(one, what));
  return { edgesMs: list("edges_ms"), counts: list("counts") };
}

function readSession(value: unknown): Session | null {
  if (value === null || value === undefined) return null;
  const dict = asDict(value, "the session");
  const number = (key: string): number => asNumber(dict[key], `${key} of the session`);
  return {
    requests: number("requests"),
    averageMs: number("average_ms"),
    hostMs: number("host_ms"),
    deviceMs: number("device_ms"),
    communicationMs: number("communication_ms"),
    histogram: readHistogram(dict["histogram"]),
  };
}

function readExtras(value: unknown): Extras | null {
  if (value === null || value === undefined) return null;
  const dict = asDict(value, "the extended data");
  const efficiency = asDict(dict["efficiency"] ?? {}, "efficiency");
  const precision = dict["precision"] ? asDict(dict["precision"], "the precision") : null;
  const dicts = (key: string): Dict[] => asList(dict[key] ?? [], key).map((one) => asDict(one, key));
  return {
    ...readStepReading(dict),
    inferred: readInferred(dict["inferred_steps"]),
    efficiency: {
      peak: optional(efficiency["peak_flops_percent"]),
      flopRate: optional(efficiency["flop_rate_percent"]),
      bandwidth: optional(efficiency["memory_bw_percent"]),
      goodput: optional(efficiency["goodput_percent"]),
      over: typeof efficiency["over"] === "string" ? efficiency["over"] : "profile",
    },
    precision: precision && {
      narrow: asNumber(precision["narrow_percent"], "the precision"),
      wide: asNumber(precision["wide_percent"], "the precision"),
    },
    session: readSession(dict["session"]),
    peakGflops: optional(dict["peak_gflops"]),
    cpuOps: dict["cpu_ops"] === true,
    frameworks: asList(dict["frameworks"] ?? [], "the frameworks").map(String),
    functions: dicts("functions").map((one) => ({
      name: asText(one["name"], "a function"),
      calls: optional(one["calls"]) ?? 0,
      selfMs: optional(one["self_ms"]) ?? 0,
      share: optional(one["expensive_share"]) ?? 0,
    })),
  };
}

/** The table of ops with the HLO category where the type of the framework op is unknown. */
function withCategories(ops: TableData, categories: unknown): TableData {
  const hloCategories = asList(categories ?? [], "the categories of ops").map(String);
  if (hloCategories.length !== ops.rowCount) return ops;
  const columns = ops.columns.map((column) =>
    column.id === "category"
      ? { ...column, values: column.values.map((kind, row) => (kind === "Unknown" ? (hloCategories[row] ?? kind) : kind)) }
      : column,
  );
  return { ...ops, columns };
}

/** The statements of the table of tips, else those of the steps of a TPU. */
const STATEMENTS = [
  ["statement", "input_conclusion"],
  ["output_statement", "output_conclusion"],
  ["device_collectives_statement", ""],
  ["kernel_launch_statement", ""],
  ["all_other_statement", ""],
  ["precision_statement", ""],
] as const;

function tipsOf(tips: TableData): (Tip & { kind: string })[] {
  if (tips.rowCount === 0) return [];
  const [kinds, links, headings] = ["tip_type", "link", "description"].map((id) => textsOf(tips, id, "the table of tips")) as [
    string[],
    string[],
    string[],
  ];
  return links.map((html, row) => ({ kind: kinds[row] ?? "", html, heading: headings[row] ?? "" }));
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readOverview(value: unknown): Overview {
  const parts = asList(value, "the overview");
  if (parts.length < TABLES) throw badAnswer(`the overview has ${parts.length} tables in place of ${TABLES}`);
  const general = asTable(parts[0], "the table of ops");
  const environment = asTable(parts[2], "the run environment");
  const table = asTable(parts[3], "the table of tips");
  const xprof = readSteps(parts[1]);
  const extras = readExtras(parts[TABLES]);
  const tips = tipsOf(table);
  return {
    ops: withCategories(
      relabelled(withUnits(general, { selfTimePercent: "fraction", cumulativeTimePercent: "fraction" }), LABELS),
      asDict(parts[TABLES] ?? {}, "the extended data")["op_categories"],
    ),
    general: general.properties,
    steps: extras ? breakdownOf(extras.decomposition) : xprof,
    hardware: xprof.hardware,
    environment: environment.properties,
    jobs: environment,
    statements: STATEMENTS.flatMap(([own, ofSteps]) => table.properties[own] || xprof.properties[ofSteps] || []),
    tips,
    documents: tips.filter(({ kind }) => kind === "doc").map(({ html }) => html),
    latency: readLatency(parts[4]),
    messages: readMessages(parts[6]),
    extras,
  };
}

/** Whether the host ran programs on devices of which nothing was recorded. */
export function lacksDevices(overview: Overview): boolean {
  return overview.environment["device_type"] === "not recorded";
}

/** Busy share of the devices in percent; null if not measured. */
export function dutyCycle(overview: Overview): number | null {
  const devices = Number(overview.environment["device_core_count"] ?? 0);
  const percent = propertyNumber(overview.general, "device_duty_cycle_percent");
  return devices > 0 ? percent : null;
}
