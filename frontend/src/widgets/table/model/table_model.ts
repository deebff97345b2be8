// The state of one table (sorting, filters, visible columns, widths), built on TanStack's core.
import {
  columnFilteringFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  constructTable,
  createFilteredRowModel,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
} from "@tanstack/table-core";
import { storeReactivityBindings } from "@tanstack/table-core/store-reactivity-bindings";
import { formatColumns, formatTogether } from "../../../base/format";
import type { NumberFormat } from "../../../base/format";
import { ranks } from "../../../base/table/table_data";
import type { Cell, TableColumn, TableData } from "../../../base/table/table_data";
import { WIDEST, charWidth } from "./char_width";
import { headerText } from "./csv";
import { compileFilter, countMatches } from "./filter";
import type { RowTest } from "./filter";
import { readFilters, readHidden, readSort, writeFilters, writeHidden, writeSort } from "./saved";
import type { FilterText, SortKey, TableStore } from "./saved";

const MIN_WIDTH = 48;
const MAX_START_WIDTH = 360;
/** Of the window's width: in narrow windows long texts leave room for other columns. */
const MAX_START_SHARE = 0.25;
const MAX_LABEL_WIDTH = 240;
const BOLD = 1.2; // width of bold labels
const SAMPLE = 200;

export interface TableModel {
  data: TableData;
  /** Columns that are shown, in order. */
  visible: () => TableColumn[];
  /** Rows that are shown, in order, as indexes into the columns. */
  rows: () => number[];
  width(id: string): number;
  setWidth(id: string, px: number): void;
  /** Widens columns whose label or texts are cut as far as the table, of `px`, has room; what the user set stays. */
  fit(px: number): void;
  sorting: () => SortKey[];
  /** Cycles a column through its directions; `add` keeps the other columns. */
  toggleSort(id: string, add: boolean): void;
  filter(id: string): string;
  setFilter(id: string, text: string): void;
  clearFilters: () => void;
  filterCount: () => number;
  /** The row that the address marks, by exact texts; null without one. */
  marked: () => number | null;
  unmark: () => void;
  /** Rows that pass this column's filter alone; null without a filter, -1 for an invalid one. */
  matches(id: string): number | null;
  isVisible(id: string): boolean;
  setVisible(ids: readonly string[], visible: boolean): void;
  subscribe(listener: () => void): () => void;
}

const formats = new WeakMap<TableColumn, NumberFormat>();

/** Values that cannot be true do not choose the unit. */
const plausible = ({ values, doubts }: TableColumn): readonly Cell[] =>
  doubts ? values.filter((_, row) => (doubts[row] ?? null) === null) : values;

/** The numbers that choose the unit of a column. */
const choosing = (column: TableColumn): readonly Cell[] => column.like ?? plausible(column);

/** How a column's numbers are written: all in one unit, that of the columns of its table that it compares with. */
function formatOf(column: TableColumn): NumberFormat {
  let format = formats.get(column);
  if (!format) formats.set(column, (format = formatTogether(choosing(column), column.unit)));
  return format;
}

function chooseUnits(columns: readonly TableColumn[]): void {
  const numbers = columns.filter(({ kind }) => kind === "number");
  const found = formatColumns(numbers.map((column) => ({ values: choosing(column), unit: column.unit })));
  numbers.forEach((column, i) => {
    const format = found[i];
    if (format) formats.set(column, format);
  });
}

/** The text of a cell, for reading. */
export function cellText(column: TableColumn, value: Cell | undefined): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "number")
    return isIdentifier(column) ? String(value) : `${column.signed && value > 0 ? "+" : ""}${formatOf(column)(value)}`;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value;
}

/** What the empty field of a filter shows: for numbers an example in the unit of the cells. */
export function filterHint(column: TableColumn): string {
  if (column.kind !== "number") return "filter";
  const unit = isIdentifier(column) ? "" : /[^\d.,]+$/.exec(formatOf(column)(5))?.[0];
  return `> 5${unit ?? ""}`;
}

/** The text in a cell, where there is less room. */
export function shownText(column: TableColumn, value: Cell | undefined): string {
  return typeof value === "string" && value !== "" && column.shorten ? column.shorten(value) : cellText(column, value);
}

/** Whether a number is an identifier, shown without separators. */
function isIdentifier({ id, unit }: TableColumn): boolean {
  return unit === null && /(^|_)(id|pid|tid)$/i.test(id);
}

interface Wanted {
  label: number;
  texts: number;
}

const wantedWidths = new WeakMap<TableColumn, Wanted>();

/** The widths in which the label and the texts of a column (a sample of them for numbers) are whole. */
function wantedOf(column: TableColumn): Wanted {
  const known = wantedWidths.get(column);
  if (known) return known;
  const label = column.label.length * charWidth() * BOLD + 28 + (column.help ? 18 : 0);
  // Numbers must be formatted to know their length, so a sample has to suffice.
  const step = column.kind === "string" ? 1 : Math.max(1, Math.floor(column.values.length / SAMPLE));
  let longest = 0;
  for (let row = 0; row < column.values.length; row += step) {
    longest = Math.max(longest, shownText(column, column.values[row]).length);
  }
  // With room for the widest texts none is cut.
  const wanted = { label, texts: longest * charWidth() * (column.kind === "string" ? WIDEST : 1) + 22 };
  wantedWidths.set(column, wanted);
  return wanted;
}

/** The initial width. */
export function startWidth(column: TableColumn): number {
  const { label, texts } = wantedOf(column);
  const most = Math.min(MAX_START_WIDTH, Math.max(MAX_LABEL_WIDTH, window.innerWidth * MAX_START_SHARE));
  return Math.round(Math.min(most, Math.max(64, Math.min(label, MAX_LABEL_WIDTH), texts)));
}

/** Widths of columns in `px`: free room goes to the labels that are cut, then to the texts, from the left. */
function fittingWidths(columns: readonly TableColumn[], given: ReadonlyMap<string, number>, px: number): Map<string, number> {
  const widths = new Map(columns.map((column) => [column.id, given.get(column.id) ?? startWidth(column)]));
  let free = px - [...widths.values()].reduce((sum, width) => sum + width, 0);
  for (const what of ["label", "texts"] as const)
    for (const column of columns) {
      const width = widths.get(column.id) ?? 0;
      const lacking = Math.floor(Math.min(free, wantedOf(column)[what] - width));
      if (given.has(column.id) || lacking <= 0) continue;
      widths.set(column.id, width + lacking);
      free -= lacking;
    }
  return widths;
}

/** What TanStack holds per row: the index into the columns. */
interface Line extends Record<string, unknown> {
  row: number;
}

const features = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  columnFilteringFeature,
  filteredRowModel: createFilteredRowModel(),
  columnVisibilityFeature,
  columnSizingFeature,
});

/** Missing values are last in both directions, because TanStack puts undefined last. */
function columnDef(column: TableColumn) {
  let places: Float64Array | null = null;
  const place = (row: number): number => (places ??= ranks(column))[row] ?? Number.NaN;
  const passes = (line: { original: Line }, _id: string, test: RowTest): boolean => test(line.original.row);
  return {
    id: column.id,
    header: column.label,
    size: startWidth(column),
    minSize: MIN_WIDTH,
    maxSize: 2000,
    accessorFn: ({ row }: Line) => {
      const rowPlace = place(row);
      return Number.isNaN(rowPlace) ? undefined : rowPlace;
    },
    sortUndefined: "last" as const,
    sortDescFirst: column.kind === "number",
    sortFn: (a: { original: Line }, b: { original: Line }) => place(a.original.row) - place(b.original.row),
    filterFn: Object.assign(passes, {
      resolveFilterValue: (text: unknown): RowTest => compileFilter(column, String(text)).test ?? (() => true),
      autoRemove: (text: unknown): boolean => text === "",
    }),
  };
}

/** Builds the model; a store provides the initial state and receives changes. */
export function makeTableModel(data: TableData, store?: TableStore): TableModel {
  chooseUnits(data.columns);
  const byId = new Map(data.columns.map((c) => [c.id, c]));
  const known = new Set(byId.keys());
  const saved = (key: string): string | null => store?.get(key) ?? null;
  const table = constructTable({
    features,
    data: Array.from({ length: data.rowCount }, (_, row): Line => ({ row })),
    columns: data.columns.map(columnDef),
    isMultiSortEvent: () => true,
    initialState: {
      sorting: readSort(saved("sort"), known),
      columnFilters: readFilters(saved("filter"), known),
      columnVisibility: Object.fromEntries(readHidden(saved("hide"), known).map((id) => [id, false])),
    },
  });
  const listeners = new Set<() => void>();
  const counts = new Map<string, number>();
  /** Widths that the user set. */
  const given = new Map<string, number>();
  table.store.subscribe(() => {
    for (const listener of [...listeners]) listener();
  });
  const filters = () => table.store.state.columnFilters.map(({ id, value }) => ({ id, value: String(value) }));
  const save = (): void => {
    store?.set({
      sort: writeSort(table.store.state.sorting),
      filter: writeFilters(filters()),
      hide: writeHidden(data.columns.filter((c) => !isVisible(c.id)).map((c) => c.id)),
    });
  };
  const isVisible = (id: string): boolean => table.store.state.columnVisibility[id] !== false;
  // The same array while nothing changes, so that rows are not rendered again.
  let shown: { from: unknown; rows: number[] } | null = null;
  let seen: { from: unknown; columns: TableColumn[] } | null = null;

  return {
    data,
    visible() {
      const { columnVisibility } = table.store.state;
      if (seen?.from !== columnVisibility) seen = { from: columnVisibility, columns: data.columns.filter((c) => isVisible(c.id)) };
      return seen.columns;
    },
    rows() {
      const model = table.getRowModel();
      if (shown?.from === model) return shown.rows;
      shown = { from: model, rows: model.rows.map((line) => line.original.row) };
      return shown.rows;
    },
    width: (id) => table.getColumn(id)?.getSize() ?? MIN_WIDTH,
    setWidth(id, px) {
      given.set(id, Math.max(MIN_WIDTH, Math.round(px)));
      table.setColumnSizing((old) => ({ ...old, ...Object.fromEntries(given) }));
    },
    fit(px) {
      const widths = fittingWidths(this.visible(), given, px);
      const changed = [...widths].filter(([id, width]) => width !== this.width(id));
      if (changed.length > 0) table.setColumnSizing((old) => ({ ...old, ...Object.fromEntries(changed) }));
    },
    sorting: () => table.store.state.sorting,
    toggleSort(id, add) {
      table.setSorting(nextSorting(table.store.state.sorting, id, add, byId.get(id)?.kind === "number"));
      save();
    },
    filter: (id) => filters().find((f) => f.id === id)?.value ?? "",
    setFilter(id, text) {
      const others = filters().filter((f) => f.id !== id);
      table.setColumnFilters(text === "" ? others : [...others, { id, value: text }]);
      save();
    },
    clearFilters() {
      table.setColumnFilters([]);
      save();
    },
    filterCount: () => filters().length,
    marked: () => markedRow(data, readFilters(saved("row"), known)),
    unmark: () => saved("row") !== null && store?.set({ row: null }),
    matches(id) {
      const [column, text] = [byId.get(id), filters().find((f) => f.id === id)?.value];
      if (!column || text === undefined) return null;
      const key = `${id}\n${text}`;
      const known = counts.get(key);
      if (known !== undefined) return known;
      const { test } = compileFilter(column, text);
      const count = test ? countMatches(test, data.rowCount) : -1;
      counts.set(key, count);
      return count;
    },
    isVisible,
    setVisible(ids, visible) {
      table.setColumnVisibility((old) => ({ ...old, ...Object.fromEntries(ids.map((id) => [id, visible])) }));
      save();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The first row that has exactly these texts. */
function markedRow({ columns, rowCount }: TableData, texts: readonly FilterText[]): number | null {
  if (texts.length === 0) return null;
  const wanted = texts.map(({ id, value }) => ({ values: columns.find((column) => column.id === id)?.values ?? [], value }));
  for (let row = 0; row < rowCount; row++) if (wanted.every(({ values, value }) => String(values[row] ?? "") === value)) return row;
  return null;
}

/** First click: numbers descending, texts ascending; second: reversed; third: the order of the server. */
export function nextSorting(sorting: readonly SortKey[], id: string, add: boolean, descFirst: boolean): SortKey[] {
  const now = sorting.find((s) => s.id === id);
  const next = now === undefined ? { id, desc: descFirst } : now.desc === descFirst ? { id, desc: !descFirst } : null;
  if (!add) return next ? [next] : [];
  if (!now) return next ? [...sorting, next] : [...sorting];
  return sorting.flatMap((s) => (s.id !== id ? [s] : next ? [next] : []));
}

/** The tooltip of a column header. */
export function columnHelp(column: TableColumn): string {
  return [headerText(column), column.help].filter(Boolean).join("\n");
}
