// One row of cells, rendered again only when it changes, so that scrolling stays smooth.
import { Component } from "preact";
import { formatDoubtful, formatExact } from "../../base/format";
import type { Cell, TableColumn } from "../../base/table/table_data";
import { fitted } from "./model/char_width";
import { cellText, shownText } from "./model/table_model";
import { ROW_PX } from "./use_rows";

const PADDING_PX = 16;
const NO_VALUE = "No value in the profile.";

interface Props {
  id: string;
  columns: readonly TableColumn[];
  widths: readonly number[];
  /** Index into the values. */
  row: number;
  /** Position in the displayed order. */
  at: number;
  /** Active column, or -1 when another row is active. */
  active: number;
  opened: boolean;
}

export class TableRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const now = this.props;
    return (
      next.row !== now.row ||
      next.at !== now.at ||
      next.active !== now.active ||
      next.opened !== now.opened ||
      next.columns !== now.columns ||
      next.widths !== now.widths
    );
  }

  override render() {
    return rowOf(this.props);
  }
}

function rowOf({ id, columns, widths, row, at, active, opened }: Props) {
  const state = `${active >= 0 ? " active" : ""}${opened ? " opened" : ""}${at % 2 ? " odd" : ""}`;
  return (
    <div
      class={`table-row table-tr${state}`}
      role="row"
      data-at={at}
      aria-rowindex={at + 3}
      aria-selected={opened}
      style={{ top: `${at * ROW_PX}px` }}
    >
      {columns.map((column, c) => (
        <TableCell key={column.id} id={`${id}-${c}`} column={column} width={widths[c] ?? 0} row={row} index={c} active={c === active} />
      ))}
    </div>
  );
}

interface CellProps {
  id: string;
  column: TableColumn;
  width: number;
  row: number;
  index: number;
  active: boolean;
}

function TableCell({ id, column, width, row, index, active }: CellProps) {
  const value = column.values[row];
  const text = cellText(column, value);
  const missing = value === null || value === undefined || value === "";
  const shown = column.kind === "string" ? fitted(shownText(column, value), width - PADDING_PX) : text;
  const exact = missing ? (column.missing ?? NO_VALUE) : shown !== formatExact(value, null) ? formatExact(value, column.unit) : undefined;
  const doubt = column.doubts?.[row] ?? null;
  const share = typeof value === "number" && doubt === null && !column.signed ? shareOf(value, column.unit) : null;
  const tip = doubt === null ? exact : `${doubt}\n${formatExact(value, column.unit)}`;
  return (
    <div
      id={active ? id : undefined}
      class={
        `table-cell ${column.kind}${index === 0 ? " first" : ""}${active ? " active" : ""}${missing ? " missing" : ""}` +
        `${doubt === null ? "" : " doubtful"}`
      }
      role="gridcell"
      aria-colindex={index + 1}
      data-col={index}
      data-tip={tip !== undefined && tip.length > 1500 ? `${tip.slice(0, 1500)}…` : tip}
      style={{ width: `${width}px` }}
    >
      {share !== null ? <span class="table-share" aria-hidden="true" style={{ width: `${share}%` }} /> : null}
      <span class="table-text">{doubt === null ? shown : (doubtful(value, column.unit) ?? `⚠ ${shown}`)}</span>
    </div>
  );
}

/** Length of the bar behind a percentage, 0 to 100; null for other units. */
function shareOf(value: number, unit: string | null): number | null {
  const percent = percentOf(value, unit);
  return percent === null ? null : Math.max(0, Math.min(100, percent));
}

/** A percentage that cannot be true; null for other units. */
function doubtful(value: Cell | undefined, unit: string | null): string | null {
  const percent = typeof value === "number" ? percentOf(value, unit) : null;
  return percent === null ? null : formatDoubtful(percent);
}

const percentOf = (value: number, unit: string | null): number | null =>
  unit === "percent" || unit === "%" ? value : unit === "fraction" ? value * 100 : null;
