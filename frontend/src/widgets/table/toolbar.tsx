// The toolbar of a table: number of rows, clear filters, choose columns, save as CSV.
import { useMemo, useState } from "preact/hooks";
import { formatCount, plural } from "../../base/format";
import { Popover } from "../overlay/popover";
import { Info } from "../content/info";
import { download } from "../content/download";
import { toCsv } from "./model/csv";
import type { TableColumn } from "../../base/table/table_data";
import type { TableModel } from "./model/table_model";

const SEARCH_FROM = 13;
/** Reasons for doubts that are told beside the number of rows; each cell has its own. */
const MOST_REASONS = 3;

interface Props {
  model: TableModel;
  title: string;
  label: string;
  /** File name of the CSV, without extension. */
  fileName: string;
}

/** The values that are shown though they cannot be true, and why. */
function doubtsOf(columns: readonly TableColumn[], rows: readonly number[]): { count: number; reasons: string[] } {
  const found = columns.flatMap(({ doubts }) => (doubts ? rows.flatMap((row) => doubts[row] ?? []) : []));
  return { count: found.length, reasons: [...new Set(found)].slice(0, MOST_REASONS) };
}

export function TableToolbar({ model, title, label, fileName }: Props) {
  const rows = model.rows();
  const all = model.data.rowCount;
  const filters = model.filterCount();
  const count = rows.length === all ? plural(all, "row") : `${formatCount(rows.length)} of ${plural(all, "row")}`;
  const visible = model.visible();
  const doubts = useMemo(() => doubtsOf(visible, rows), [visible, rows]);
  const hidden = model.data.columns.length - visible.length;
  return (
    <div class="table-tools" role="toolbar" aria-label={`${label}: table tools`}>
      {title ? <h2>{title}</h2> : null}
      <span class="dim number" aria-live="polite">
        {count}
      </span>
      {doubts.count > 0 ? (
        <span class="dim">
          ⚠ {plural(doubts.count, "doubtful value")} <Info label="Doubtful values" text={doubts.reasons.join("\n")} />
        </span>
      ) : null}
      {filters ? (
        <button type="button" class="button ghost" onClick={model.clearFilters}>
          Clear {plural(filters, "filter")}
        </button>
      ) : null}
      <span class="table-tools-space" />
      <Popover label={hidden ? `Columns (${hidden} hidden)` : "Columns"} buttonClass="button ghost" boxClass="right" popup="dialog">
        {() => <ColumnChooser model={model} />}
      </Popover>
      <Popover label="CSV" title="Save as CSV with exact values" buttonClass="button ghost" boxClass="right" popup="menu">
        {(close) => (
          <div role="menu" class="table-menu">
            <button
              type="button"
              role="menuitem"
              class="button ghost"
              onClick={() => {
                close();
                download(`${fileName}.csv`, toCsv(model.visible(), model.rows()));
              }}
            >
              Visible rows and columns ({plural(rows.length, "row")}, {plural(model.visible().length, "column")})
            </button>
            <button
              type="button"
              role="menuitem"
              class="button ghost"
              onClick={() => {
                close();
                download(`${fileName}.csv`, toCsv(model.data.columns, Array(all).keys()));
              }}
            >
              Everything ({plural(all, "row")}, {plural(model.data.columns.length, "column")})
            </button>
          </div>
        )}
      </Popover>
    </div>
  );
}

function ColumnChooser({ model }: { model: TableModel }) {
  const [query, setQuery] = useState("");
  const columns = model.data.columns;
  const shown = columns.filter((c) => c.label.toLowerCase().includes(query.toLowerCase()));
  const ids = shown.map((c) => c.id);
  // The first column identifies the row and cannot be hidden.
  const first = columns[0]?.id;
  return (
    <>
      {columns.length >= SEARCH_FROM ? (
        <input
          class="field wide"
          type="search"
          placeholder="Search columns"
          aria-label="Search columns"
          value={query}
          onInput={(e) => setQuery(e.currentTarget.value)}
        />
      ) : null}
      <div class="table-chooser-tools">
        <button type="button" class="button ghost" onClick={() => model.setVisible(ids, true)}>
          All
        </button>
        <button
          type="button"
          class="button ghost"
          onClick={() =>
            model.setVisible(
              ids.filter((id) => id !== first),
              false,
            )
          }
        >
          None
        </button>
      </div>
      <div role="group" aria-label="Columns">
        {shown.map((column) => (
          <label key={column.id} class="check">
            <input
              type="checkbox"
              checked={model.isVisible(column.id)}
              disabled={column.id === first}
              onChange={(e) => model.setVisible([column.id], e.currentTarget.checked)}
            />
            <span>{column.label}</span>
          </label>
        ))}
      </div>
    </>
  );
}
