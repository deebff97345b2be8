// The chart of a result: bars or a line over two of its columns.
import type { ChartSpec } from "../../base/chart/chart_spec";
import { formatCount, formatTogether } from "../../base/format";
import type { TableColumn, TableData } from "../../base/table/table_data";

export type ChartKind = "bars" | "line";

/** What the chart shows; columns by id. */
export interface ChartChoice {
  kind: ChartKind;
  x: string;
  y: string;
}

export const MOST_BARS = 50;
export const MOST_POINTS = 2000;

const SEPARATOR = "~";

/** The columns that a chart may measure. */
export const measures = ({ columns }: TableData): TableColumn[] => columns.filter(({ kind }) => kind === "number");

/** Times of day and counts of rows are rarely what a chart is about. */
const POSITIONS = /^(begin|end)_ps$|^(step|depth|source_line|rank|id)$/;

/** A chart to begin with; null for a table without rows or numbers. */
export function proposed(table: TableData): ChartChoice | null {
  const numbers = measures(table);
  const y = numbers.find(({ id }) => !POSITIONS.test(id)) ?? numbers[0];
  if (!y || table.rowCount === 0) return null;
  const texts = table.columns
    .filter(({ kind }) => kind === "string")
    .map((column) => ({ column, distinct: new Set(column.values.slice(0, MOST_BARS)).size }))
    .filter(({ distinct }) => distinct > 1)
    .sort((a, b) => b.distinct - a.distinct);
  const order = numbers.find(({ id }) => id !== y.id && POSITIONS.test(id));
  const x = texts[0]?.column ?? order ?? table.columns.find(({ id }) => id !== y.id) ?? y;
  return { kind: x.kind === "number" ? "line" : "bars", x: x.id, y: y.id };
}

/** The choice as a key of the address. */
export const writeChoice = ({ kind, x, y }: ChartChoice): string => [kind, x, y].map(encodeURIComponent).join(SEPARATOR);

/** The choice of the address if the table has its columns, else the proposed one. */
export function readChoice(text: string | null, table: TableData): ChartChoice | null {
  const start = proposed(table);
  const [kind, x, y] = (text ?? "").split(SEPARATOR).map(decoded);
  const known = table.columns.some(({ id }) => id === x) && measures(table).some(({ id }) => id === y);
  return known && x !== undefined && y !== undefined && (kind === "bars" || kind === "line") ? { kind, x, y } : start;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export interface ResultChart {
  spec: ChartSpec;
  /** What is not drawn; "" if everything is. */
  note: string;
}

/** The chart of the first rows: bars in the order of the rows, a line in ascending order of numbers in x. */
export function chartOf(table: TableData, { kind, x, y }: ChartChoice): ResultChart | null {
  const [across, up] = [x, y].map((id) => table.columns.find((column) => column.id === id));
  if (!across || !up) return null;
  const most = kind === "bars" ? MOST_BARS : MOST_POINTS;
  const rows = Array.from({ length: Math.min(table.rowCount, most) }, (_, row) => row);
  if (kind === "line" && across.kind === "number") rows.sort((a, b) => Number(across.values[a]) - Number(across.values[b]));
  const format = across.kind === "number" ? formatTogether(across.values, across.unit) : null;
  const labels = rows.map((row) => {
    const value = across.values[row] ?? null;
    return format && typeof value === "number" ? format(value) : value === null ? "-" : String(value);
  });
  const values = rows.map((row) => {
    const value = up.values[row];
    return typeof value === "number" ? value : null;
  });
  const xAxis = { name: across.label, unit: null, labels };
  const yAxis = { name: up.label, unit: up.unit };
  const note = table.rowCount > most ? `The chart shows the first ${formatCount(most)} of ${formatCount(table.rowCount)} rows.` : "";
  if (kind === "bars") return { spec: { kind, x: xAxis, y: yAxis, colour: 0, values }, note };
  return { spec: { kind: "band", x: xAxis, y: yAxis, line: { name: up.label, colour: 0, values } }, note };
}
