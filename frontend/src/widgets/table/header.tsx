// Column headers: sorting, help, width, and the filter field below.
import { useRef } from "preact/hooks";
import { formatCount } from "../../base/format";
import type { TableColumn } from "../../base/table/table_data";
import { Info } from "../content/info";
import { filterHelp } from "./model/filter";
import { columnHelp, filterHint } from "./model/table_model";
import type { TableModel } from "./model/table_model";

const RESIZE_STEP = 16;

export function TableHeader({ model, columns }: { model: TableModel; columns: readonly TableColumn[] }) {
  const sorting = model.sorting();
  return (
    <>
      <div class="table-row table-head" role="row" aria-rowindex={1}>
        {columns.map((column, c) => {
          const sortIndex = sorting.findIndex((s) => s.id === column.id);
          return (
            <HeadCell
              key={column.id}
              model={model}
              column={column}
              index={c}
              order={sortIndex}
              desc={sorting[sortIndex]?.desc ?? false}
              several={sorting.length > 1}
            />
          );
        })}
      </div>
      <div class="table-row table-filters" role="row" aria-rowindex={2} aria-label="Filters">
        {columns.map((column, c) => (
          <FilterCell key={column.id} model={model} column={column} index={c} />
        ))}
      </div>
    </>
  );
}

interface HeadProps {
  model: TableModel;
  column: TableColumn;
  index: number;
  /** Position among the sorted columns; -1 for others. */
  order: number;
  desc: boolean;
  several: boolean;
}

function HeadCell({ model, column, index, order, desc, several }: HeadProps) {
  const sorted = order >= 0;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const right = event.key === "ArrowRight";
    if (event.altKey) model.setWidth(column.id, model.width(column.id) + (right ? RESIZE_STEP : -RESIZE_STEP));
    else focusHead(event.currentTarget, right);
  };
  return (
    <div
      class={`table-cell table-th ${column.kind}${index === 0 ? " first" : ""}`}
      role="columnheader"
      aria-colindex={index + 1}
      aria-sort={!sorted ? "none" : desc ? "descending" : "ascending"}
      style={{ width: `${model.width(column.id)}px` }}
    >
      <button
        type="button"
        class="table-sort"
        tabIndex={index === 0 ? 0 : -1}
        data-tip={columnHelp(column)}
        onClick={(event) => model.toggleSort(column.id, event.shiftKey)}
        onKeyDown={onKey}
      >
        <span class="table-label">{column.label}</span>
        <span class="table-arrow" aria-hidden="true">
          {sorted ? (desc ? "▼" : "▲") : ""}
          {sorted && several ? <sub>{order + 1}</sub> : null}
        </span>
      </button>
      {column.help ? <Info label={column.label} text={column.help} focusable={false} /> : null}
      <Resizer model={model} column={column} />
    </div>
  );
}

/** The headers are one tab stop; arrow keys move between them. */
function focusHead(from: EventTarget | null, right: boolean): void {
  const cell = from instanceof Element ? from.closest(".table-th") : null;
  const next = right ? cell?.nextElementSibling : cell?.previousElementSibling;
  next?.querySelector<HTMLElement>(".table-sort")?.focus();
}

function Resizer({ model, column }: { model: TableModel; column: TableColumn }) {
  const start = useRef<{ x: number; width: number } | null>(null);
  return (
    <span
      class="table-resize"
      role="presentation"
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: model.width(column.id) };
      }}
      onPointerMove={(event) => {
        if (start.current) model.setWidth(column.id, start.current.width + event.clientX - start.current.x);
      }}
      onPointerUp={() => {
        start.current = null;
      }}
      onPointerCancel={() => {
        start.current = null;
      }}
    />
  );
}

function FilterCell({ model, column, index }: { model: TableModel; column: TableColumn; index: number }) {
  const matches = model.matches(column.id);
  const bad = matches === -1;
  const note = matches === null ? "" : bad ? "?" : formatCount(matches);
  return (
    <div
      class={`table-cell table-filter${index === 0 ? " first" : ""}${bad ? " bad" : ""}`}
      role="gridcell"
      aria-colindex={index + 1}
      style={{ width: `${model.width(column.id)}px` }}
    >
      <input
        type="text"
        value={model.filter(column.id)}
        placeholder={filterHint(column)}
        aria-label={`Filter ${column.label}`}
        aria-invalid={bad}
        data-tip={bad ? `Invalid filter. ${filterHelp(column)}` : filterHelp(column)}
        onInput={(event) => model.setFilter(column.id, event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && model.filter(column.id) !== "") {
            event.stopPropagation();
            model.setFilter(column.id, "");
          }
        }}
      />
      {note ? (
        <span class="table-matches number" aria-label={bad ? "invalid filter" : `${note} rows match`}>
          {note}
        </span>
      ) : null}
    </div>
  );
}
