// Exact values as CSV and as tab-separated text.
import type { Cell, TableColumn } from "../../../base/table/table_data";

function quoted(text: string): string {
  return `"${text.replace(/"/g, '""')}"`;
}

export function plainText(value: Cell | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

/** The label with its unit, unless it contains the unit. */
export function headerText({ label, unit }: Pick<TableColumn, "label" | "unit">): string {
  return unit && !label.toLowerCase().includes(unit.toLowerCase()) ? `${label} (${unit})` : label;
}

/** Header and the given rows: every cell quoted, lines end with \n, missing values are empty. */
export function toCsv(columns: readonly TableColumn[], rows: Iterable<number>): string {
  const lines = [columns.map((c) => quoted(headerText(c))).join(",")];
  for (const row of rows) lines.push(columns.map((c) => quoted(plainText(c.values[row]))).join(","));
  return `${lines.join("\n")}\n`;
}

/** One row for the clipboard: values separated by tabs, as spreadsheets expect. */
export function toTabs(columns: readonly TableColumn[], row: number): string {
  return columns.map((c) => plainText(c.values[row]).replace(/[\t\n\r]+/g, " ")).join("\t");
}
