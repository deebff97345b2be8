// The panel of one row: all columns in full, with help, exact values and copy buttons.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { MISSING, formatExact } from "../../base/format";
import type { TableColumn } from "../../base/table/table_data";
import { CopyButton } from "../content/copy_button";
import { InEditor } from "../content/in_editor";
import { Info } from "../content/info";
import { plainText, toTabs } from "./model/csv";
import { cellText, shownText } from "./model/table_model";

const LONG = 60;

interface Props {
  columns: readonly TableColumn[];
  row: number;
  onClose: () => void;
  onStep: (by: number) => void;
  /** Beside the buttons. */
  tools?: ComponentChildren;
}

export function TableDetail({ columns, row, onClose, onStep, tools }: Props) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), []);
  const title = columns.find((c) => c.kind === "string" && c.values[row]) ?? columns[0];
  return (
    <aside
      ref={box}
      class="table-detail"
      aria-label="Row details"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        else if (event.key === "ArrowDown" && event.target === box.current) onStep(1);
        else if (event.key === "ArrowUp" && event.target === box.current) onStep(-1);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <header class="table-detail-head">
        <h3>{title ? shownText(title, title.values[row]) : ""}</h3>
        <div class="table-detail-tools">
          {tools}
          <button type="button" class="button ghost icon" aria-label="Previous row" data-tip="Previous row" onClick={() => onStep(-1)}>
            ↑
          </button>
          <button type="button" class="button ghost icon" aria-label="Next row" data-tip="Next row" onClick={() => onStep(1)}>
            ↓
          </button>
          <CopyButton text={() => toTabs(columns, row)} label="Copy row" class="ghost" />
          <button type="button" class="button ghost icon" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </div>
      </header>
      <dl>
        {columns.map((column) => (
          <Entry key={column.id} column={column} row={row} />
        ))}
      </dl>
    </aside>
  );
}

function Entry({ column, row }: { column: TableColumn; row: number }) {
  const value = column.values[row];
  const text = cellText(column, value);
  const exact = formatExact(value, column.unit);
  const long = text.length > LONG;
  return (
    <>
      <dt>
        {column.label} {column.help ? <Info label={column.label} text={column.help} /> : null}
      </dt>
      <dd class={column.kind}>
        {long ? <pre>{text}</pre> : <span data-tip={text === MISSING ? column.missing : undefined}>{text}</span>}
        {typeof value === "number" && exact.replace(/,/g, "") !== text.replace(/,/g, "") ? <span class="dim number"> {exact}</span> : null}
        {long ? <CopyButton text={() => plainText(value)} /> : null}
        {column.kind === "string" ? <InEditor place={text} /> : null}
      </dd>
    </>
  );
}
