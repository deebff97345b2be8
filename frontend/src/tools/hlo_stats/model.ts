// HLO ops of a profile: filters, charts and summary. Pure.
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import type { ComparedRuns } from "../../base/documents";
import { joinTables } from "../../base/table/difference";
import type { Steps } from "../../base/table/difference";
import { pairOps } from "../../page/compare/paired_ops";
import type { OpColumns } from "../../page/compare/paired_ops";
import { overCores, rateDoubt } from "../../page/op_request";
import type { HloStats, OpNotes } from "../../base/documents";
import type { BarsChart, ChartSpec } from "../../base/chart/chart_spec";
import { formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import { sumBy, topSlices } from "../../base/chart/slices";
import { pickRows, rowsWhere, withDoubts, withSources } from "../../base/table/transform";
import type { TableData } from "../../base/table/table_data";

export interface Ops {
  table: TableData;
  program: readonly string[];
  category: readonly string[];
  name: readonly string[];
  expression: readonly string[];
  framework: readonly string[];
  core: readonly string[];
  bound: readonly string[];
  /** File and line; "" if unknown. */
  source: readonly string[];
  selfUs: readonly number[];
  notes: OpNotes;
  /** All ops of the profile, whatever the filters: their number and self time, and its part of the observed time. */
  all: { count: number; busyUs: number; busyShare: number };
}

const WHAT = "the table of HLO ops";
/** What shares are parts of: time in which ops ran. */
const baseOf = ({ on_cpu }: OpNotes): string => (on_cpu ? "op time" : "busy time");

/** The ops by column, with short sources in cells and marks at rates that cannot be true. */
export function opsOf({ ops: table, notes }: HloStats): Ops {
  const text = (id: string): string[] => textsOf(table, id, WHAT);
  const [rank, selfUs] = [numbersOf(table, "rank", WHAT), numbersOf(table, "total_self_time", WHAT)];
  // Ops that SparseCores ran for another op have rank 0; their time is part of that op's.
  const busyUs = selfUs.reduce((all, time, row) => all + ((rank[row] ?? 0) > 0 ? time : 0), 0);
  const ofAll = numbersOf(table, "total_self_time_percent", WHAT);
  return {
    table: withSources(marked(table, notes)),
    program: text("program_id"),
    category: text("category"),
    name: text("hlo_op_name"),
    expression: text("hlo_op_expression"),
    framework: text("tf_op_name"),
    core: text("core_type"),
    bound: text("bound_by"),
    source: text("source_info").map((line) => line.replace(/ \(of .*\)$/, "")),
    selfUs,
    notes,
    all: { count: table.rowCount, busyUs, busyShare: ofAll.reduce((a, b) => a + b, 0) / 100 },
  };
}

/** Marks rates that exceed what the device can do. */
function marked(table: TableData, { limits }: OpNotes): TableData {
  const flops = rateDoubt(limits.gflops_per_s, "GFLOP/s", limits.what);
  const memory = rateDoubt(limits.memory_gib_per_s, "GiB/s", limits.what);
  return withDoubts(table, {
    model_flop_rate: flops,
    normalized_flop_rate: flops,
    measured_memory_bw: memory,
    cmem_read_bw: memory,
    cmem_write_bw: memory,
    hbm_bw: rateDoubt(limits.hbm_gib_per_s, "GiB/s", limits.what),
  });
}

/** Model FLOP rates; 0 where unknown or beyond what the device can do. */
function rates({ table }: Ops): number[] {
  const doubts = table.columns.find(({ id }) => id === "model_flop_rate")?.doubts;
  return numbersOf(table, "model_flop_rate", WHAT).map((rate, row) => (doubts?.[row] ? 0 : rate));
}

export interface Choice {
  program: string;
  category: string;
  core: string;
  bound: string;
  /** Substring of name, expression or framework op, case-insensitive. */
  text: string;
}

/** Rows of the ops that pass all filters. */
function rowsOf(ops: Ops, { program, category, core, bound, text }: Choice): number[] {
  const wanted = text.trim().toLowerCase();
  const has = (value: string | undefined): boolean => (value ?? "").toLowerCase().includes(wanted);
  return rowsWhere(
    ops.table,
    (row) =>
      (program === "" || ops.program[row] === program) &&
      (category === "" || ops.category[row] === category) &&
      (core === "" || ops.core[row] === core) &&
      (bound === "" || ops.bound[row] === bound) &&
      (wanted === "" || has(ops.name[row]) || has(ops.expression[row]) || has(ops.framework[row])),
  );
}

/** Ops that pass all filters. */
export function chooseOps(ops: Ops, choice: Choice): Ops {
  if (!Object.values(choice).some((value: string) => value.trim() !== "")) return ops;
  const rows = rowsOf(ops, choice);
  const take = <T>(values: readonly T[]): T[] => rows.map((row) => values[row] as T);
  return {
    ...ops,
    table: pickRows(ops.table, rows),
    program: take(ops.program),
    category: take(ops.category),
    name: take(ops.name),
    expression: take(ops.expression),
    framework: take(ops.framework),
    core: take(ops.core),
    bound: take(ops.bound),
    source: take(ops.source),
    selfUs: take(ops.selfUs),
  };
}

const CHARTS = ["category", "op", "source", "bound", "replica", "remat", "remat_category", "outside", "rate"] as const;
export type ChartId = (typeof CHARTS)[number];

export const CHART_WORDS: Record<ChartId, string> = {
  category: "Time by category",
  op: "Time by op",
  source: "Time by source line",
  bound: "Time by bottleneck",
  replica: "Communication by replica groups",
  remat: "Time in rematerialization",
  remat_category: "Rematerialization by category",
  outside: "Time in outside compilation",
  rate: "Model FLOP rate by op",
};

const MAX_BARS = 12;
const COMMUNICATION = /^(all-|collective|reduce-scatter|ragged-all|send|recv)/;

/** The replica groups of an expression, as in `replica_groups={{0,1},{2,3}}`; null if it has none. */
export function replicaGroups(expression: string): string | null {
  const nested = /replica_groups=(\{\{.*?\}\}|\[[^\]]*\][^,\s]*|\{\})/.exec(expression)?.[1];
  return nested ?? null;
}

/** The charts for which there is data. */
export function chartsOf(ops: Ops): ChartId[] {
  const yes = (id: string): boolean => columnOf(ops.table, id)?.includes("Yes") ?? false;
  return CHARTS.filter((id) => {
    if (id === "source") return ops.source.some((line) => line !== "");
    if (id === "bound") return ops.bound.some((bound) => bound !== "" && bound !== "Unknown");
    if (id === "replica")
      return ops.category.some((category, row) => COMMUNICATION.test(category) && replicaGroups(ops.expression[row] ?? "") !== null);
    if (id === "remat" || id === "remat_category") return yes("hlo_rematerialization");
    if (id === "outside") return yes("outside_compilation");
    if (id === "rate") return rates(ops).some((rate) => rate > 0);
    return true;
  });
}

function pie(names: readonly string[], values: readonly number[]): ChartSpec {
  return { kind: "pie", name: "Self time", unit: "us", slices: topSlices(sumBy(names, values)) };
}

export function chartOf(ops: Ops, id: ChartId): ChartSpec {
  const flags = (column: string): string[] => textsOf(ops.table, column, WHAT);
  switch (id) {
    case "category":
      return pie(ops.category, ops.selfUs);
    case "op":
      return pie(ops.name, ops.selfUs);
    case "source":
      return pie(
        ops.source.map((line) => line || "No source line"),
        ops.selfUs,
      );
    case "bound":
      return pie(
        ops.bound.map((bound) => (bound && bound !== "Unknown" ? bound : "Not measured")),
        ops.selfUs,
      );
    case "remat":
      return pie(
        flags("hlo_rematerialization").map((yes) => (yes === "Yes" ? "Rematerialization" : "Other work")),
        ops.selfUs,
      );
    case "outside":
      return pie(
        flags("outside_compilation").map((yes) => (yes === "Yes" ? "Outside compilation" : "Inside")),
        ops.selfUs,
      );
    case "remat_category": {
      const yes = flags("hlo_rematerialization");
      return pie(
        ops.category,
        ops.selfUs.map((time, row) => (yes[row] === "Yes" ? time : 0)),
      );
    }
    case "replica": {
      const groups = ops.expression.map((text, row) => (COMMUNICATION.test(ops.category[row] ?? "") ? replicaGroups(text) : null));
      return pie(
        groups.map((group, row) => `${ops.category[row] ?? ""} ${group ?? ""}`),
        ops.selfUs.map((time, row) => (groups[row] === null ? 0 : time)),
      );
    }
    case "rate": {
      const known = rates(ops);
      const rows = known
        .map((_, row) => row)
        .filter((row) => (known[row] ?? 0) > 0)
        .slice(0, MAX_BARS);
      const bars: BarsChart = {
        kind: "bars",
        x: { name: "Op, by self time", unit: null, labels: rows.map((row) => ops.name[row] ?? "") },
        y: { name: "Model FLOP rate", unit: "GFLOP/s" },
        colour: 0,
        values: rows.map((row) => known[row] ?? 0),
      };
      return bars;
    }
  }
}

export interface Summary {
  headline: string;
  lines: string[];
}

/** The summary above the table; percentages are parts of the time of all ops, whatever the filters. */
export function summaryOf(ops: Ops): Summary {
  const { notes, all } = ops;
  const base = baseOf(notes);
  const [category] = sumBy(ops.category, ops.selfUs);
  const first = ops.selfUs.reduce((best, time, row) => (time > (ops.selfUs[best] ?? -1) ? row : best), 0);
  const percent = (part: number): string => formatPercent(all.busyUs > 0 ? (100 * part) / all.busyUs : 0);
  if (!category) return { headline: "No op matches the filters", lines: [] };
  const bounds = sumBy(
    ops.bound.map((bound) => (bound && bound !== "Unknown" ? bound : "")),
    ops.selfUs,
  ).filter(({ name }) => name !== "");
  const flops = rates(ops)[first] ?? 0;
  const matching = ops.selfUs.reduce((a, b) => a + b, 0);
  const recorded = notes.on_cpu || all.busyShare <= 0 ? "" : `, ${formatPercent(all.busyShare * 100)} of the observed time`;
  const what =
    ops.name.length < all.count
      ? `${ops.name.length} of ${plural(all.count, "op")} match: ${percent(matching)} of the ${base}.`
      : `${plural(all.count, "op")} with ${formatTime(all.busyUs * 1e6)} of self time${overCores(notes.cores)}${recorded}.`;
  const lines = [
    `${what} Longest: ${ops.name[first] ?? ""} with ${percent(ops.selfUs[first] ?? 0)} of the ${base}` +
      `${flops > 0 ? ` at ${formatQuantity(flops, "GFLOP/s")}` : ""}.`,
  ];
  if (bounds.length)
    lines.push(
      `Nearest limit of the ops, reached or not: ${bounds.map(({ name, value }) => `${name} for ${percent(value)}`).join(", ")} of the ${base}.`,
    );
  if (notes.on_cpu) lines.push("No limits: the ops ran on the CPU, whose peak rates are unknown.");
  return { headline: `${category.name} takes ${percent(category.value)} of the ${base}`, lines };
}

const IDENTIFYING: OpColumns = {
  name: "hlo_op_name",
  program: "program_id",
  kind: ["category", "core_type"],
  origin: ["tf_op_name", "source_info"],
};
const COMPARED = {
  sums: ["total_self_time", "total_time", "occurrences"],
  rates: ["busy_share", "avg_time", "avg_self_time", "model_flop_rate", "hbm_bw"],
};

/** The table of the ops that pass the filters with those of a base. Programs have other ids there, so that only names and kinds filter what it has alone. */
export function withBaseOps(ops: Ops, base: Ops, choice: Choice, found: ComparedRuns | null, perStep: Steps | null = null): TableData {
  const pairs = pairOps(ops.table, base.table, IDENTIFYING, found);
  const passing = new Set(rowsOf(base, { ...choice, program: "" }));
  return joinTables(
    ops.table,
    base.table,
    pairs,
    { ...COMPARED, perStep },
    { run: rowsOf(ops, choice), rest: pairs.rest.filter((row) => passing.has(row)) },
  );
}
