// Column filters: compiles the typed text to a test of a row.
import { unitFactor } from "../../../base/format";
import type { TableColumn } from "../../../base/table/table_data";

export type RowTest = (row: number) => boolean;

interface Filter {
  /** Null for an invalid text; the table then shows all rows and marks the field. */
  test: RowTest | null;
}

const FILTER_HELP: Readonly<Record<TableColumn["kind"], string>> = {
  string:
    "Text to find (case-insensitive). = text finds exactly this (= a | b: either), !text excludes it, /a.*b/ is a regular expression, - finds empty cells.",
  number: "A range: > 5, <= 1.5 ms, 10..20, = 3. - finds empty cells.",
  boolean: "true or false. - finds empty cells.",
};

/** Compiles the text of a filter field for its column. */
export function compileFilter(column: TableColumn, text: string): Filter {
  const wanted = text.trim();
  const { values } = column;
  if (wanted === "") return { test: () => true };
  if (wanted === "-") return { test: (row) => values[row] === null || values[row] === "" };
  if (column.kind === "number") return { test: numberTest(column, wanted) };
  if (column.kind === "boolean") {
    const truth = "true".startsWith(wanted.toLowerCase()) || wanted === "1" || "yes".startsWith(wanted.toLowerCase());
    return { test: (row) => values[row] === truth };
  }
  return { test: textTest(column, wanted) };
}

function textTest({ values }: TableColumn, wanted: string): RowTest | null {
  const expression = /^\/(.+)\/?$/.exec(wanted)?.[1]?.replace(/\/$/, "");
  if (expression !== undefined) {
    try {
      const regex = new RegExp(expression, "i");
      return (row) => regex.test(String(values[row] ?? ""));
    } catch {
      return null;
    }
  }
  const exact = /^=\s*(.+)$/s.exec(wanted)?.[1];
  if (exact !== undefined) {
    const either = new Set(exact.split(" | "));
    return (row) => either.has(String(values[row] ?? ""));
  }
  const not = wanted.startsWith("!") && wanted.length > 1;
  const needle = (not ? wanted.slice(1) : wanted).toLowerCase();
  return (row) =>
    String(values[row] ?? "")
      .toLowerCase()
      .includes(needle) !== not;
}

const NUMBER = String.raw`([-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([a-z%][a-z%/]*)?`;
const COMPARE = new RegExp(`^(>=|<=|>|<|=)?\\s*${NUMBER}$`, "i");
const RANGE = new RegExp(`^(?:${NUMBER})?\\s*\\.\\.\\s*(?:${NUMBER})?$`, "i");

function numberTest(column: TableColumn, wanted: string): RowTest | null {
  const { values } = column;
  const within =
    (ok: (value: number) => boolean): RowTest =>
    (row) => {
      const value = values[row];
      return typeof value === "number" && ok(value);
    };
  const compare = COMPARE.exec(wanted);
  if (compare) {
    const bound = toColumnUnit(compare[2], compare[3], column.unit);
    if (bound === null) return null;
    switch (compare[1] ?? "=") {
      case ">":
        return within((v) => v > bound);
      case ">=":
        return within((v) => v >= bound);
      case "<":
        return within((v) => v < bound);
      case "<=":
        return within((v) => v <= bound);
      default:
        return within((v) => Math.abs(v - bound) <= Math.abs(bound) * 1e-9);
    }
  }
  const range = RANGE.exec(wanted);
  if (!range || (range[1] === undefined && range[3] === undefined)) return null;
  const low = range[1] === undefined ? -Infinity : toColumnUnit(range[1], range[2] ?? range[4], column.unit);
  const high = range[3] === undefined ? Infinity : toColumnUnit(range[3], range[4], column.unit);
  if (low === null || high === null) return null;
  return within((v) => v >= low && v <= high);
}

function toColumnUnit(number: string | undefined, unit: string | undefined, columnUnit: string | null): number | null {
  const value = Number((number ?? "").replace(/,/g, ""));
  if (number === undefined || !Number.isFinite(value)) return null;
  if (columnUnit === "fraction") return unit === undefined || unit === "%" ? value / 100 : null;
  if (unit === undefined) return value;
  const factor = unitFactor(unit, columnUnit);
  return factor === null ? null : value * factor;
}

/** What a field accepts, with the unit of numbers that are typed without one. */
export function filterHelp({ kind, unit }: Pick<TableColumn, "kind" | "unit">): string {
  if (kind !== "number" || unit === null) return FILTER_HELP[kind];
  return `${FILTER_HELP.number}\nNumbers without a unit are in ${unit === "fraction" ? "percent" : unit}.`;
}

/** The number of rows that pass one filter alone. */
export function countMatches(test: RowTest, rows: number): number {
  let count = 0;
  for (let row = 0; row < rows; row++) if (test(row)) count++;
  return count;
}
