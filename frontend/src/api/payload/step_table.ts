// The step breakdown table, which has one form for CPUs and GPUs and another for TPUs.
import { CATEGORIES, categoryOfColumn } from "../../base/steps/step_category";
import { statisticsOf } from "../../base/steps/steps";
import type { Statistics, StepBreakdown, StepPart } from "../../base/steps/steps";
import type { TableColumn, TableData } from "../../base/table/table_data";
import { asTable, columnOf, numbersOf, propertyNumber, textsOf } from "./fields";

const WHAT = "the table of steps";

/** The server's label without its unit. */
function nameOf(column: TableColumn): string {
  return column.label.replace(/\s*\(in ms\)$/, "");
}

function partOf(column: TableColumn): StepPart[] {
  const category = categoryOfColumn(column.id);
  if (category === null) return [];
  const ms = column.values.map((value) => (typeof value === "number" ? value : 0));
  return [{ id: column.id, category, name: nameOf(column), help: CATEGORIES[category].help, ms }];
}

/**
 * The server's statistics (rounded, over the slowest host), with the precision of the rows where both agree.
 */
export function refined(properties: Readonly<Record<string, string>>, name: string, rows: readonly number[]): Statistics | null {
  const exact = statisticsOf(rows);
  if (exact === null) return null;
  const pick = (suffix: string, own: number): number => {
    const text = properties[`${name}_${suffix}`];
    const sent = propertyNumber(properties, `${name}_${suffix}`);
    if (sent === null || text === undefined) return own;
    const digits = /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
    return Math.abs(sent - own) <= 0.5000001 * 10 ** -digits ? own : sent;
  };
  return {
    average: pick("average", exact.average),
    deviation: exact.deviation === null ? null : pick("standard_deviation", exact.deviation),
    minimum: pick("minimum", exact.minimum),
    maximum: pick("maximum", exact.maximum),
  };
}

/** Step time of a TPU step: the sum of its parts without the host transfer, which is part of idle time. */
function tpuTotals(parts: readonly StepPart[], rows: number): number[] {
  const counted = parts.filter((part) => part.category !== "host_transfer");
  return Array.from({ length: rows }, (_, row) => counted.reduce((all, part) => all + (part.ms[row] ?? 0), 0));
}

function waitingOf(table: TableData): StepBreakdown["waiting"] {
  if (columnOf(table, "infeedPercentAverage") === null) return null;
  const maximum = numbersOf(table, "infeedPercentMax", WHAT);
  return {
    average: numbersOf(table, "infeedPercentAverage", WHAT),
    minimum: numbersOf(table, "infeedPercentMin", WHAT),
    maximum,
    overall: refined(table.properties, "infeed_percent", maximum),
  };
}

/** Reads either form of XProf's table; throws `bad_answer` when it is neither. */
export function readSteps(value: unknown): StepBreakdown {
  const table = asTable(value, WHAT);
  const labels = textsOf(table, "stepnum", WHAT);
  const parts = table.columns.flatMap(partOf);
  const totals = columnOf(table, "stepTimeMs") === null ? tpuTotals(parts, labels.length) : numbersOf(table, "stepTimeMs", WHAT);
  return {
    hardware: table.properties["hardware_type"] ?? "",
    labels,
    parts,
    totalMs: totals,
    time: refined(table.properties, "steptime_ms", totals),
    waiting: waitingOf(table),
    properties: table.properties,
  };
}

export interface Message {
  severity: "error" | "warning" | "info";
  text: string;
}

const RANK = { error: 0, warning: 1, info: 2 } as const;

/** Messages that the shell shows above every page, from a header of the answer. */
const SHOWN_BY_SHELL = /^(Host .+ is|\d+ of \d+ hosts are) left out: /;

/** The messages of the diagnostics table: errors first, each once, without those about missing hosts, which the shell shows. */
export function readMessages(value: unknown): Message[] {
  const table = asTable(value, "the table of messages");
  if (table.columns.length === 0) return [];
  const severities = textsOf(table, "severity", "the table of messages");
  const messages = textsOf(table, "message", "the table of messages").map((text, row): Message => {
    const severity = (severities[row] ?? "").toLowerCase();
    return { severity: severity === "error" ? "error" : severity === "warning" ? "warning" : "info", text: text.trim() };
  });
  const seen = new Set<string>();
  return messages
    .filter(({ severity, text }) => text !== "" && !SHOWN_BY_SHELL.test(text) && !seen.has(severity + text) && seen.add(severity + text))
    .sort((a, b) => RANK[a.severity] - RANK[b.severity]);
}
