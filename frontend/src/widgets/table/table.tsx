// A table with any number of rows: sorting, filters, columns, keyboard, copying, CSV, and a panel for one row.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, plural } from "../../base/format";
import { isTyping, keyName, moveIndex } from "../../base/keys";
import type { TableData } from "../../base/table/table_data";
import { copyText } from "../content/copy";
import { plainText, toTabs } from "./model/csv";
import { TableDetail } from "./detail";
import { TableHeader } from "./header";
import { makeTableModel } from "./model/table_model";
import type { TableModel } from "./model/table_model";
import { TableRow } from "./row";
import type { TableStore } from "./model/saved";
import { TableToolbar } from "./toolbar";
import { useRows } from "./use_rows";
import "./table.css";

const HEAD_PX = 50;
/** Elements of rows that scroll out of view are reused; this is more than any window shows at once. */
const POOL = 256;

interface Props {
  data: TableData;
  /** Without one the table has the name of the card around it. */
  title?: string;
  fileName?: string;
  store?: TableStore | undefined;
  /** Called with the index of an opened row; without it a panel shows the row. */
  onOpen?: ((row: number) => void) | undefined;
  /** A new object scrolls its row into view and opens it. */
  show?: { row: number } | null;
  /** Further buttons in the panel of a row. */
  rowTools?: (row: number) => ComponentChildren;
}

interface Place {
  at: number;
  col: number;
}

let tables = 0;

export function Table({ data, title = "", fileName = "table", store, onOpen, show = null, rowTools }: Props) {
  const model = useMemo(() => makeTableModel(data, store), [data]);
  const [, draw] = useState(0);
  useEffect(() => model.subscribe(() => draw((n) => n + 1)), [model]);
  const name = useMemo(() => `table${++tables}`, []);
  const section = useRef<HTMLElement>(null);
  const [around, setAround] = useState("");
  useLayoutEffect(() => {
    if (title === "") setAround(section.current?.parentElement?.closest("[aria-label]")?.getAttribute("aria-label") ?? "");
  }, [title]);
  const label = title || around || "Table";
  const marked = useMemo(model.marked, [model]);
  const [opened, open] = useState<number | null>(onOpen ? null : marked);
  const setOpened = (row: number | null): void => {
    model.unmark();
    open(row);
  };
  const grid = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (show) (onOpen ?? setOpened)(show.row);
  }, [show]);
  const target = useMemo(() => show ?? (marked === null ? null : { row: marked }), [show, marked]);

  useEffect(() => {
    if (marked !== null) grid.current?.scrollIntoView?.({ block: "nearest" });
  }, [marked]);

  const close = (): void => {
    setOpened(null);
    grid.current?.focus();
  };
  const step = (by: number): void => {
    const rows = model.rows();
    const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(opened ?? -1) + by))];
    if (next !== undefined) setOpened(next);
  };
  return (
    <section ref={section} class="table" role="group" aria-label={label}>
      <TableToolbar model={model} title={title} label={label} fileName={fileName} />
      <div class="table-split">
        <TableGrid
          model={model}
          name={name}
          label={label}
          grid={grid}
          opened={opened}
          marked={marked}
          show={target}
          onOpen={onOpen ?? setOpened}
        />
        {opened !== null ? (
          <TableDetail columns={data.columns} row={opened} onClose={close} onStep={step} tools={rowTools?.(opened)} />
        ) : null}
      </div>
    </section>
  );
}

interface GridProps {
  model: TableModel;
  name: string;
  label: string;
  grid: { current: HTMLDivElement | null };
  opened: number | null;
  marked: number | null;
  show: { row: number } | null;
  onOpen: (row: number) => void;
}

function TableGrid({ model, name, label, grid, opened, marked, show, onOpen }: GridProps) {
  const rows = model.rows();
  const columns = model.visible();
  const sizes = columns.map((c) => model.width(c.id));
  const widths = useMemo(() => sizes, [sizes.join()]);
  const full = widths.reduce((sum, w) => sum + w, 0);
  const [place, setPlace] = useState<Place>({ at: 0, col: 0 });
  const [focused, setFocused] = useState(false);
  const rowIndex = Math.min(place.at, rows.length - 1);
  const col = Math.min(place.col, columns.length - 1);
  const visible = useRows(grid, rows.length, HEAD_PX);
  useLayoutEffect(() => model.fit(grid.current?.clientWidth ?? 0));

  const go = (next: Place): void => {
    setPlace(next);
    visible.show(next.at);
    showColumn(grid.current, widths, next.col);
  };
  useEffect(() => {
    const there = show ? rows.indexOf(show.row) : -1;
    if (there >= 0) go({ at: there, col });
  }, [show]);
  const onKey = (event: KeyboardEvent): void => {
    if (isTyping(event.target) || event.target !== grid.current) return;
    const key = keyName(event);
    const row = rows[rowIndex];
    const column = columns[col];
    const down = moveIndex(key, rowIndex, rows.length, visible.perPage);
    const side = moveColumn(key, col, columns.length);
    if (down !== null) go({ at: down, col });
    else if (side !== null) go({ at: rowIndex, col: side });
    else if (key === "Enter" && row !== undefined) onOpen(row);
    else if (key === "c" && row !== undefined) void copyText(toTabs(columns, row));
    else if (key === "Ctrl+c" && row !== undefined && column && !window.getSelection()?.toString())
      void copyText(plainText(column.values[row]));
    else return;
    event.preventDefault();
  };
  const onPress = (event: MouseEvent, open: boolean): void => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-col]") : null;
    const line = cell?.closest<HTMLElement>("[data-at]");
    if (!cell || !line) return;
    const next = { at: Number(line.dataset["at"]), col: Number(cell.dataset["col"]) };
    setPlace(next);
    const row = rows[next.at];
    if (row !== undefined && (open || opened !== null)) onOpen(row);
  };

  return (
    <div
      ref={grid}
      class={focused ? "table-scroll focused" : "table-scroll"}
      style={{ "--table-width": full }}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 2}
      aria-colcount={columns.length}
      aria-activedescendant={focused && rows.length ? `${name}-${rowIndex}-${col}` : undefined}
      onKeyDown={onKey}
      onFocus={(event) => setFocused(event.target === grid.current)}
      onBlur={() => setFocused(false)}
      onClick={(event) => onPress(event, false)}
      onDblClick={(event) => onPress(event, true)}
    >
      <div class="table-top" role="rowgroup" style={{ width: `${full}px` }}>
        <TableHeader model={model} columns={columns} />
      </div>
      <div class="table-body" role="rowgroup" style={{ width: `${full}px`, height: `${visible.total}px` }}>
        {rows.slice(visible.first, visible.end).map((row, i) => (
          <TableRow
            key={(visible.first + i) % POOL}
            id={`${name}-${visible.first + i}`}
            columns={columns}
            widths={widths}
            row={row}
            at={visible.first + i}
            active={visible.first + i === rowIndex ? col : -1}
            opened={row === opened || (opened === null && row === marked)}
          />
        ))}
      </div>
      {visible.printed !== null && visible.printed < rows.length ? (
        <p class="dim">{`${formatCount(visible.printed)} of ${plural(rows.length, "row")}`}</p>
      ) : null}
      {rows.length === 0 ? (
        <p class="table-none">{model.data.rowCount === 0 ? "This table has no rows." : "No row matches the filters."}</p>
      ) : null}
    </div>
  );
}

function moveColumn(key: string, col: number, count: number): number | null {
  switch (key) {
    case "ArrowRight":
      return Math.min(count - 1, col + 1);
    case "ArrowLeft":
      return Math.max(0, col - 1);
    case "Ctrl+ArrowRight":
      return count - 1;
    case "Ctrl+ArrowLeft":
      return 0;
    default:
      return null;
  }
}

/** Scrolls sideways just far enough to show a column beside the sticky first one. */
function showColumn(grid: HTMLElement | null, widths: readonly number[], col: number): void {
  if (!grid || col === 0) return;
  const sticky = widths[0] ?? 0;
  const left = widths.slice(0, col).reduce((sum, w) => sum + w, 0);
  const right = left + (widths[col] ?? 0);
  if (left - sticky < grid.scrollLeft) grid.scrollLeft = left - sticky;
  else if (right > grid.scrollLeft + grid.clientWidth) grid.scrollLeft = right - grid.clientWidth;
}
