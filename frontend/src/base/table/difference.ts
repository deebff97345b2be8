// Two tables of the same kind as one: the rows of a run beside those of a base, with base and difference of chosen numbers.
import { columnsOf, makeTable, textColumn } from "./columns";
import type { Cell, TableColumn, TableData } from "./table_data";

/** Which row of the base corresponds to which row of the run. */
export interface Pairs {
  /** Per row of the run, its row in the base; null: it has none. */
  counterpart: readonly (number | null)[];
  /** Rows of the base without a counterpart. */
  rest: readonly number[];
}

/** Keys of all rows of both tables; rows with equal keys correspond, "" corresponds to nothing. */
export interface Keys {
  run: readonly string[];
  base: readonly string[];
  /** Only where the key is that of one row on each side; otherwise rows with equal keys correspond in their order. */
  unique?: boolean;
}

interface Compared {
  /** Numbers that add up (times, counts, sizes): what only one side has differs by all of it. */
  sums: readonly string[];
  /** Other numbers (rates, means, shares), which differ only where both sides have them. */
  rates?: readonly string[];
  /** Numbers that add up and do not grow with the length of a recording. */
  counts?: readonly string[];
  /** The steps of both recordings, by which sums are divided; null or absent: sums are of whole recordings. */
  perStep?: Steps | null;
}

/** Numbers of steps. */
export interface Steps {
  run: number;
  base: number;
}

/** The rows to show; all without it. */
interface Chosen {
  run: readonly number[];
  rest: readonly number[];
}

/** Id of the column that says which rows only one side has. */
export const SIDE = "side";
export const ONLY_RUN = "only in the run";
export const ONLY_BASE = "only in the base";

/** Ids of the added columns. */
export const baseOf = (id: string): string => `base_${id}`;
export const differenceOf = (id: string): string => `difference_${id}`;

/** The values of columns of each row, as a key. */
export function keysOf(table: TableData, ids: readonly string[]): string[] {
  const columns = ids.map((id) => table.columns.find((column) => column.id === id)?.values ?? []);
  return Array.from({ length: table.rowCount }, (_, row) => columns.map((values) => String(values[row] ?? "")).join("\0"));
}

/** Pairs rows by the first keys, then those that are left by the next. */
export function pairRows(levels: readonly Keys[]): Pairs {
  const counterpart = new Array<number | null>(levels[0]?.run.length ?? 0).fill(null);
  const taken = new Set<number>();
  for (const { run, base, unique } of levels) {
    const theirs = rowsByKey(base, (row) => !taken.has(row));
    for (const [key, rows] of rowsByKey(run, (row) => counterpart[row] === null)) {
      const candidates = theirs.get(key) ?? [];
      if (unique && (rows.length !== 1 || candidates.length !== 1)) continue;
      rows.slice(0, candidates.length).forEach((row, i) => {
        counterpart[row] = candidates[i] ?? null;
        taken.add(candidates[i] ?? -1);
      });
    }
  }
  const rest = Array.from({ length: levels[0]?.base.length ?? 0 }, (_, row) => row).filter((row) => !taken.has(row));
  return { counterpart, rest };
}

function rowsByKey(keys: readonly string[], free: (row: number) => boolean): Map<string, number[]> {
  const index = new Map<string, number[]>();
  keys.forEach((key, row) => {
    if (key.replace(/\0/g, "") === "" || !free(row)) return;
    const rows = index.get(key);
    if (rows) rows.push(row);
    else index.set(key, [row]);
  });
  return index;
}

/** The run's table with base and difference beside the compared columns, and the rows that only the base has at the end. */
export function joinTables(run: TableData, base: TableData, pairs: Pairs, compared: Compared, chosen?: Chosen): TableData {
  const mine = chosen?.run ?? Array.from({ length: run.rowCount }, (_, row) => row);
  const rest = chosen?.rest ?? pairs.rest;
  const theirs = [...mine.map((row) => pairs.counterpart[row] ?? null), ...rest];
  const rows = [...mine, ...rest.map(() => null)];
  const ofBase = new Map(base.columns.map((column) => [column.id, column]));
  const columns = run.columns.flatMap((column): TableColumn[] => {
    const other = ofBase.get(column.id)?.values ?? [];
    const steps = compared.sums.includes(column.id) ? (compared.perStep ?? null) : null;
    const values = rows.map((row) => (row === null ? null : divided(column.values[row] ?? null, steps?.run)));
    const old = theirs.map((row) => (row === null ? null : divided(other[row] ?? null, steps?.base)));
    const sums = compared.sums.includes(column.id) || (compared.counts?.includes(column.id) ?? false);
    const { doubts, ...plain } = steps === null ? column : perStepColumn(column);
    const runColumn = { ...plain, ...(doubts ? { doubts: rows.map((row) => (row === null ? null : (doubts[row] ?? null))) } : {}) };
    if (!sums && !compared.rates?.includes(column.id))
      return [{ ...runColumn, values: values.map((value, i) => (rows[i] === null ? (old[i] ?? null) : value)) }];
    return [
      { ...runColumn, values },
      {
        ...plain,
        id: baseOf(column.id),
        label: `${plain.label}, base`,
        help: [`${plain.label} in the base.`, column.help].filter(Boolean).join("\n"),
        values: old,
        like: values,
      },
      {
        ...plain,
        id: differenceOf(column.id),
        label: `Δ ${plain.label}`,
        help: differenceHelp(column.unit, sums),
        values: values.map((value, i) => difference(value, old[i] ?? null, sums)),
        signed: true,
        like: values,
      },
    ];
  });
  const side = rows.map((row, i) => (row === null ? ONLY_BASE : theirs[i] === null ? ONLY_RUN : null));
  return {
    ...run,
    rowCount: rows.length,
    columns: [...columns, textColumn(SIDE, "Only in", "Which side has the row, if only one has it.", side)],
  };
}

const divided = (value: Cell, steps: number | undefined): Cell => (typeof value === "number" && steps ? value / steps : value);

const perStepColumn = (column: TableColumn): TableColumn => ({
  ...column,
  label: `${column.label}/step`,
  help: [column.help, "Divided by the steps of the recording."].filter(Boolean).join("\n"),
});

const differenceHelp = (unit: string | null, sums: boolean): string =>
  `Run minus base${unit === "percent" || unit === "%" || unit === "fraction" ? ", in percentage points" : ""}. ` +
  `${sums ? "A row that only one side has differs by all of it." : "Missing where only one side has the row."}`;

function difference(value: Cell, base: Cell, sums: boolean): number | null {
  const [a, b] = [typeof value === "number" ? value : null, typeof base === "number" ? base : null];
  if (a !== null && b !== null) return a - b;
  if (!sums || (a === null && b === null)) return null;
  return (a ?? 0) - (b ?? 0);
}

/** Joins by the values of columns. */
export function joinBy(run: TableData, base: TableData, keys: readonly string[], compared: Compared): TableData {
  return joinTables(run, base, pairRows([{ run: keysOf(run, keys), base: keysOf(base, keys) }]), compared);
}

/** Amounts of one unit by name, in a run and in a base: a row per name, with the difference where both have it. */
export function amountsTable(
  what: string,
  unit: string,
  run: readonly (readonly [string, number | null])[],
  base: readonly (readonly [string, number | null])[],
): TableData {
  const of = (amounts: typeof run): TableData => {
    const { text, number } = columnsOf(amounts);
    return makeTable([text("name", what, null, ([name]) => name), number("run", "Run", unit, null, ([, value]) => value)]);
  };
  const joined = joinBy(of(run), of(base), ["name"], { sums: [], rates: ["run"] });
  const labels: Readonly<Record<string, string>> = { [baseOf("run")]: "Base", [differenceOf("run")]: "Difference" };
  return {
    ...joined,
    columns: joined.columns.filter(({ id }) => id !== SIDE).map((column) => ({ ...column, label: labels[column.id] ?? column.label })),
  };
}

/** The columns that a join added to a table, but those of the named ones, for hiding at first. */
export function addedColumns(table: TableData, shown: readonly string[]): string[] {
  const kept = new Set(shown.flatMap((id) => [baseOf(id), differenceOf(id)]));
  return table.columns.map(({ id }) => id).filter((id) => /^(base|difference)_/.test(id) && !kept.has(id));
}

/** An instruction's name without its number, which changes when a program is compiled again: `fusion.77` -> `fusion`. */
export function withoutNumber(name: string): string {
  return name.replace(/^%/, "").replace(/(?:\.(?:\d+|clone|remat\d*))+$/, "");
}

/** A program's name without its id: `jit_f(7)` -> `jit_f`. */
export function withoutId(program: string): string {
  return program.replace(/\(\d+\)$/, "");
}
