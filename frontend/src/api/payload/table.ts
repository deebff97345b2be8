// DataTable JSON of the server -> columns for the table widget.
import type { Cell, ColumnKind, TableColumn, TableData } from "../../base/table/table_data";
import type { DataTable } from "../types";

function kindOf(type: string): ColumnKind {
  return type === "number" || type === "boolean" ? type : "string";
}

function cell(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return JSON.stringify(value);
}

/** True for `{cols: [...], rows: [...]}`. */
export function isDataTable(value: unknown): value is DataTable {
  return (
    typeof value === "object" &&
    value !== null &&
    Array.isArray((value as Partial<DataTable>).cols) &&
    Array.isArray((value as Partial<DataTable>).rows)
  );
}

/** One table or an array of them; null for other payloads. */
export function tablesOf(payload: unknown): DataTable[] | null {
  if (isDataTable(payload)) return [payload];
  if (Array.isArray(payload) && payload.length > 0 && payload.every(isDataTable)) return payload;
  return null;
}

/** Column ids are made unique, because state and CSV refer to columns by id. */
export function readTable(table: DataTable): TableData {
  const seen = new Set<string>();
  const columns = table.cols.map((col, c): TableColumn => {
    let id = col.id || `c${c}`;
    while (seen.has(id)) id = `${id}_${c}`;
    seen.add(id);
    return {
      id,
      label: col.label || col.id || `Column ${c + 1}`,
      kind: kindOf(col.type),
      unit: col.unit || null,
      help: col.help || null,
      values: table.rows.map((row) => cell(row.c[c]?.v)),
    };
  });
  return { columns, rowCount: table.rows.length, properties: table.p ?? {} };
}
