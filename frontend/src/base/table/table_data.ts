// A table in memory: one array per column.

export type Cell = string | number | boolean | null;
export type ColumnKind = "number" | "string" | "boolean";

export interface TableColumn {
  id: string;
  label: string;
  kind: ColumnKind;
  /** Unit of the numbers; null for texts and counts. */
  unit: string | null;
  /** One sentence: what it is, how it is computed, where it comes from. */
  help: string | null;
  /** One value per row; null is missing. */
  values: readonly Cell[];
  /** A difference: positive numbers have a sign. */
  signed?: boolean;
  /** Values whose unit the column is shown in: those that it is compared with. */
  like?: readonly Cell[];
  /** A shorter form of a text, for cells; the panel, copies and CSV have the text itself. */
  shorten?: (text: string) => string;
  /** Why values are missing. */
  missing?: string;
  /** One per row: why the value cannot be true; null where nothing contradicts it. */
  doubts?: readonly (string | null)[];
}

export interface TableData {
  columns: readonly TableColumn[];
  rowCount: number;
  properties: Readonly<Record<string, string>>;
}

/** The rows of a table as objects with a member per column; their type is the caller's word. */
export function rowsOf<Row extends object>({ columns, rowCount }: TableData): Row[] {
  return Array.from({ length: rowCount }, (_, row) => Object.fromEntries(columns.map(({ id, values }) => [id, values[row]])) as Row);
}

/** Natural order (`fusion.2` before `fusion.10`), otherwise by code unit, independent of the locale. */
export function compareNatural(a: string, b: string): number {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(j);
    if (isDigit(x) && isDigit(y)) {
      const [m, n] = [endOfDigits(a, i), endOfDigits(b, j)];
      const [p, q] = [skipZeros(a, i, m), skipZeros(b, j, n)];
      if (m - p !== n - q) return m - p - (n - q);
      for (let k = 0; k < m - p; k++) {
        const step = a.charCodeAt(p + k) - b.charCodeAt(q + k);
        if (step !== 0) return step;
      }
      i = m;
      j = n;
    } else if (x !== y) {
      return x - y;
    } else {
      i++;
      j++;
    }
  }
  return a.length - i - (b.length - j);
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

function endOfDigits(text: string, at: number): number {
  while (at < text.length && isDigit(text.charCodeAt(at))) at++;
  return at;
}

function skipZeros(text: string, at: number, end: number): number {
  while (at < end - 1 && text.charCodeAt(at) === 48) at++;
  return at;
}

/**
 * The rank of every row in the ascending order of a column, the same for equal values; NaN for missing values.
 * Sorting then only compares numbers.
 */
export function ranks(column: TableColumn): Float64Array {
  const { values, kind } = column;
  if (kind === "number") return Float64Array.from(values, (v) => (typeof v === "number" ? v : Number.NaN));
  if (kind === "boolean") return Float64Array.from(values, (v) => (v === null ? Number.NaN : Number(v)));
  const texts = values.map((v) => (v === null ? null : String(v)));
  const sorted = [...new Set(texts)].filter((t): t is string => t !== null).sort(compareNatural);
  const place = new Map(sorted.map((text, i) => [text, i]));
  return Float64Array.from(texts, (t) => (t === null ? Number.NaN : (place.get(t) ?? Number.NaN)));
}
