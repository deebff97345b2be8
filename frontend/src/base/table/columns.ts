// Columns and tables that pages compute themselves.
import type { TableColumn, TableData } from "./table_data";

/** Texts; empty ones count as missing. */
export function textColumn(id: string, label: string, help: string | null, values: readonly (string | null | undefined)[]): TableColumn {
  return { id, label, kind: "string", unit: null, help, values: values.map((value) => value || null) };
}

/** Numbers in one unit; null for counts. */
export function numberColumn(
  id: string,
  label: string,
  unit: string | null,
  help: string | null,
  values: readonly (number | null)[],
): TableColumn {
  return { id, label, kind: "number", unit, help, values };
}

export function flagColumn(id: string, label: string, help: string | null, values: readonly boolean[]): TableColumn {
  return { id, label, kind: "boolean", unit: null, help, values };
}

/** A table of columns of one length. */
export function makeTable(columns: readonly TableColumn[], properties: Readonly<Record<string, string>> = {}): TableData {
  return { columns: [...columns], rowCount: columns[0]?.values.length ?? 0, properties };
}

/** Makers of columns that read their values from one list of rows. */
export function columnsOf<Row>(rows: readonly Row[]) {
  return {
    text: (id: string, label: string, help: string | null, valueOf: (row: Row, index: number) => string | null | undefined) =>
      textColumn(id, label, help, rows.map(valueOf)),
    number: (id: string, label: string, unit: string | null, help: string | null, valueOf: (row: Row, index: number) => number | null) =>
      numberColumn(id, label, unit, help, rows.map(valueOf)),
  };
}
