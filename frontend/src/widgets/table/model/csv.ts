// Values as CSV and as tab-separated text, which spreadsheets open: texts that they would compute have an apostrophe before them.
import type { Cell, TableColumn } from "../../../base/table/table_data";

function quoted(text: string): string {
  return `"${text.replace(/"/g, '""')}"`;
}

const FORMULA = /^[\x00-\x20\ufeff]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[+-]?\d{1,30}(?:\.\d{0,30})?$/;

/** A text that a spreadsheet shows as it is. */
function inert(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/** A cell for a spreadsheet. Only texts can be formulas, so numbers stay as they are. */
function sheetText(value: Cell | undefined): string {
  return typeof value === "string" ? inert(value) : plainText(value);
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
  const lines = [columns.map((c) => quoted(inert(headerText(c)))).join(",")];
  for (const row of rows) lines.push(columns.map((c) => quoted(sheetText(c.values[row]))).join(","));
  return `${lines.join("\n")}\n`;
}

/** One row for the clipboard: values separated by tabs, as spreadsheets expect. */
export function toTabs(columns: readonly TableColumn[], row: number): string {
  return columns.map((c) => sheetText(c.values[row]).replace(/[\t\n\r]+/g, " ")).join("\t");
}
