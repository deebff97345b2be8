// Functions that decode fields of a payload: each returns the typed value or throws an error that names the field.
import { ApiError } from "../error";
import { isDataTable, readTable } from "./table";
import type { Cell, TableData } from "../../base/table/table_data";

export type Dict = Readonly<Record<string, unknown>>;

/** The response is malformed, most likely because server and page have different versions. */
export function badAnswer(what: string): ApiError {
  return new ApiError(200, "bad_answer", `The server's response is not in the form that this page expects: ${what}.`);
}

export function asDict(value: unknown, what: string): Dict {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw badAnswer(`${what} is not an object`);
  return value as Dict;
}

export function asList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw badAnswer(`${what} is not a list`);
  return value;
}

export function asTable(value: unknown, what: string): TableData {
  if (!isDataTable(value)) throw badAnswer(`${what} is not a table`);
  return readTable(value);
}

export function asText(value: unknown, what: string): string {
  if (typeof value !== "string") throw badAnswer(`${what} is not a text`);
  return value;
}

/** A finite number, also of a 64-bit integer that is sent as text. */
export function asNumber(value: unknown, what: string): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) throw badAnswer(`${what} is not a number`);
  return number;
}

/** The values of a column; null when the table has no such column. */
export function columnOf(table: TableData, id: string): readonly Cell[] | null {
  return table.columns.find((column) => column.id === id)?.values ?? null;
}

export function numbersOf(table: TableData, id: string, what: string): number[] {
  const values = columnOf(table, id);
  if (values === null) throw badAnswer(`${what} has no column ${id}`);
  return values.map((value) => (typeof value === "number" ? value : 0));
}

export function textsOf(table: TableData, id: string, what: string): string[] {
  const values = columnOf(table, id);
  if (values === null) throw badAnswer(`${what} has no column ${id}`);
  return values.map((value) => (value === null ? "" : String(value)));
}
