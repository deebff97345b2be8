// Tables made from tables: other rows, columns, units and labels.
import type { TableColumn, TableData } from "./table_data";

/** The given rows, in the given order. */
export function pickRows(table: TableData, rows: readonly number[]): TableData {
  return {
    ...table,
    rowCount: rows.length,
    columns: table.columns.map((column) => ({
      ...column,
      values: rows.map((row) => column.values[row] ?? null),
      ...(column.doubts ? { doubts: rows.map((row) => column.doubts?.[row] ?? null) } : {}),
    })),
  };
}

/** Marks values of some columns: `doubt(value)` says why one cannot be true. */
export function withDoubts(table: TableData, doubts: Readonly<Record<string, ((value: number) => string | null) | null>>): TableData {
  const columns = table.columns.map((column) => {
    const doubt = doubts[column.id];
    if (!doubt) return column;
    const marks = column.values.map((value) => (typeof value === "number" ? doubt(value) : null));
    return marks.some((mark) => mark !== null) ? { ...column, doubts: marks } : column;
  });
  return { ...table, columns };
}

/** Indexes of the rows that pass a test. */
export function rowsWhere(table: TableData, test: (row: number) => boolean): number[] {
  return Array.from({ length: table.rowCount }, (_, row) => row).filter(test);
}

/** The given columns first, then all others in their order. */
export function firstColumns(table: TableData, ids: readonly string[]): TableData {
  const named = ids
    .map((id) => table.columns.find((column) => column.id === id))
    .filter((column): column is TableColumn => column !== undefined);
  return { ...table, columns: [...named, ...table.columns.filter((column) => !named.includes(column))] };
}

/** Ids of the columns that have the same value in every row, and so tell no row from another; none for a single row. */
export function constantColumns(table: TableData): string[] {
  if (table.rowCount < 2) return [];
  return table.columns.filter(({ values }) => values.every((value) => value === values[0])).map(({ id }) => id);
}

interface Store {
  get(key: string): string | null;
  set(patch: Readonly<Record<string, string | null>>): void;
}

const NOTHING = "none";

/** A table's store in which the given columns are hidden by default. */
export function hiding(store: Store, ids: readonly string[]): Store {
  const start = ids.join(",");
  return {
    get: (key) => (key === "hide" ? (store.get(key) ?? start) : store.get(key)),
    set(patch) {
      if (!("hide" in patch)) return store.set(patch);
      const hide = patch["hide"] ?? NOTHING;
      const usual = hide.split(",").sort().join() === [...ids].sort().join();
      store.set({ ...patch, hide: usual ? null : hide });
    },
  };
}

/** Columns without any value; the first says what a row is. */
export const emptyColumns = ({ columns }: TableData): string[] =>
  columns.flatMap(({ id, values }, i) => (i > 0 && Array.from(values).every((value) => value === null || value === "") ? [id] : []));

/** The table with texts of a column shortened where they are shown; tooltips, filters and CSV have them in full. */
export const shortening = (table: TableData, id: string, shorten: (text: string) => string): TableData => ({
  ...table,
  columns: table.columns.map((column) => (column.id === id ? { ...column, shorten } : column)),
});

/** A source without the folders of its file: `a/b/train.py:54` -> `train.py:54`; that of another op is marked. */
export const shortSource = (source: string): string => source.replace(/ \(of [^()]*\)$/, " (near)").replace(/^.*[\\/]/, "");

/** The table with short sources in cells, and a reason where an op has none. */
export const withSources = (table: TableData, id = "source_info"): TableData => ({
  ...table,
  columns: table.columns.map((column) =>
    column.id === id ? { ...column, shorten: shortSource, missing: "The compiler kept no source of this op." } : column,
  ),
});

/** Without the given columns. */
export function withoutColumns(table: TableData, ids: readonly string[]): TableData {
  return { ...table, columns: table.columns.filter((column) => !ids.includes(column.id)) };
}

/** Other labels for some columns. */
export function relabelled(table: TableData, labels: Readonly<Record<string, string>>): TableData {
  return { ...table, columns: table.columns.map((column) => ({ ...column, label: labels[column.id] ?? column.label })) };
}
