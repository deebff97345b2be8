// The page Query without its elements: chosen runs, units of columns, places of errors, windows of rows.
import type { QueryAbout, QueryExample, QueryFailure, QueryRuns } from "../../api/query";
import type { TableColumn, TableData } from "../../base/table/table_data";

/** Rows that the page shows; files have all of them. */
export const MOST_ROWS = 10_000;
/** Longer statements are not kept in the address, which servers limit. */
export const MOST_IN_ADDRESS = 6000;

/** The table with the names of SQL as labels: those that a statement uses. */
export function namedAsInSql(table: TableData): TableData {
  return { ...table, columns: table.columns.map((column) => ({ ...column, label: column.id })) };
}

/** The key `runs` of the address: absent for the shown run, this for it and its base, else a pattern. */
export const WITH_BASE = "=base";
export const ALL_RUNS = "*";

/** The runs that a query reads. */
export function runsOf(choice: string | null, run: string, base: string | null): QueryRuns {
  if (choice === null) return [run];
  if (choice === WITH_BASE) return base === null || base === run ? [run] : [run, base];
  return choice;
}

/** The choice of runs and of the base with which an example answers its question; a choice of several runs stays. */
export function choiceFor(
  over: QueryExample["over"],
  choice: string | null,
  base: { run: string | null; proposed: string | null },
): { runs: string | null; base: string | null } {
  if (choice !== null || over === "run") return { runs: choice, base: base.run };
  if (over === "all") return { runs: ALL_RUNS, base: base.run };
  const pair = base.run ?? base.proposed;
  return { runs: pair === null ? null : WITH_BASE, base: pair };
}

export interface Place {
  /** From 1. */
  line: number;
  column: number;
}

/** The place of an error in the statement; null if it is not known. */
export function placeOf({ details }: QueryFailure): Place | null {
  const { line, column } = details;
  return typeof line === "number" && typeof column === "number" && line > 0 && column > 0 ? { line, column } : null;
}

/** The position of a place in a text. */
export function offsetOf(text: string, { line, column }: Place): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(text.length, before + Math.min(column - 1, lines[line - 1]?.length ?? 0));
}

const EXCERPT = 70;

/** The line of a place with a mark below it, cut around the mark where it is long; "" without a place. */
export function excerptOf(text: string, place: Place | null): string {
  if (place === null) return "";
  const line = text.split("\n")[place.line - 1];
  if (line === undefined) return "";
  const at = Math.min(place.column - 1, line.length);
  const from = Math.max(0, at - EXCERPT);
  const prefix = `${place.line} | `;
  return `${prefix}${line.slice(from, at + EXCERPT)}\n${" ".repeat(prefix.length + at - from)}^`;
}

/** A name as SQL writes it: quoted unless it is a plain one. */
export const quoted = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replace(/"/g, '""')}"`);

/** Keys of the address that show a moment or a span of the timeline. */
export interface TimelineView {
  run: string;
  host: string | null;
  keys: Readonly<Record<string, string>>;
}

/** Room before and after a span, as a part of it. */
const ROOM = 0.5;

const valueOf = (table: TableData, id: string, row: number): TableColumn["values"][number] =>
  table.columns.find((column) => column.id === id)?.values[row] ?? null;

/** Whether rows have a time, so that the timeline can show them. */
export const hasTime = (table: TableData): boolean => table.columns.some(({ id, kind }) => id === "begin_ps" && kind === "number");

/** Where the timeline shows a row: `begin_ps`, `duration_ps`, `run` and `host` by name; null if it has no time, or one of several runs. */
export function timelineOf(table: TableData, row: number, onlyRun: string | null): TimelineView | null {
  const [begin, duration] = [valueOf(table, "begin_ps", row), valueOf(table, "duration_ps", row)];
  const run = valueOf(table, "run", row) ?? onlyRun;
  const host = valueOf(table, "host", row);
  if (typeof begin !== "number" || typeof run !== "string") return null;
  const where = { run, host: typeof host === "string" ? host : null };
  if (typeof duration !== "number" || duration <= 0) {
    const name = valueOf(table, "name", row);
    return { ...where, keys: { marker: `${Math.round(begin)},${typeof name === "string" ? name : "row of the query"}` } };
  }
  const end = begin + duration;
  const window = [begin - ROOM * duration, end + ROOM * duration];
  return { ...where, keys: { window: window.map(Math.round).join(","), mark: `${Math.round(begin)},${Math.round(end)}` } };
}

/** The tables whose name, sentence or columns have all words; all columns of a table whose name matches. */
export function searched(tables: QueryAbout["tables"], text: string): QueryAbout["tables"] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tables;
  const matches = (...texts: string[]): boolean => words.every((word) => texts.some((one) => one.toLowerCase().includes(word)));
  return tables.flatMap((table) => {
    if (matches(table.name)) return [table];
    const columns = table.columns.filter(({ id, sentence, unit }) => matches(table.name, id, sentence, unit));
    return columns.length > 0 ? [{ ...table, columns }] : [];
  });
}
