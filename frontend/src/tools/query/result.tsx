// The result of a query: rows, notes, files, chart, and the way from a row to the timeline.
import { useMemo, useState } from "preact/hooks";
import type { QueryApi, QueryFile } from "../../api/query";
import { formatCount, formatTime, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { storeAt, toolPatch } from "../../page/page_state";
import type { UrlState } from "../../page/page";
import { useKey } from "../../page/use_key";
import { Chart } from "../../widgets/chart/chart";
import { download } from "../../widgets/content/download";
import { Link } from "../../widgets/content/link";
import { Callouts } from "../../widgets/status/callouts";
import { Panel } from "../../widgets/status/panel";
import { Table } from "../../widgets/table/table";
import { chartOf, measures, readChoice, writeChoice } from "./chart";
import type { ChartChoice, ChartKind } from "./chart";
import { failureOf } from "./use_query";
import type { Progress } from "./use_query";
import { hasTime, timelineOf } from "./model";

const TRACE = "trace_viewer@";
/** Keys of the page, cleared on the way to another. */
export const OWN_KEYS = ["sql", "runs", "ran", "chart"];
const FILE_TYPES: Readonly<Record<QueryFile, string>> = { csv: "text/csv", parquet: "application/vnd.apache.parquet" };
const BAR_PX = 22;
const CHART_PX = 300;
const PS_PER_S = 1e12;

type Done = Extract<Progress, { phase: "done" }>;

interface Props {
  done: Done;
  api: QueryApi;
  state: UrlState;
  fileName: string;
}

export function QueryResult({ done: { asked, status, table }, api, state, fileName }: Props) {
  const [problem, setProblem] = useState("");
  const store = useMemo(() => storeAt(state, "t1"), [state]);
  const key = useKey(state, "chart");
  const choice = useMemo(() => readChoice(key, table), [key, table]);
  const charted = key !== null && choice !== null;
  const onlyRun = typeof asked.runs !== "string" && asked.runs.length === 1 ? (asked.runs[0] ?? null) : null;
  const rows = status.rows ?? table.rowCount;
  const save = (format: QueryFile): void => {
    setProblem("");
    api.file(status.query, format).then(
      (data) => download(`${fileName}.${format}`, new Blob([data], { type: FILE_TYPES[format] })),
      (error: unknown) => setProblem(failureOf(error).message),
    );
  };
  const messages = [
    ...(problem ? [{ severity: "error" as const, text: problem }] : []),
    ...status.notes.map((text) => ({ severity: "warning" as const, text })),
    ...(rows > table.rowCount
      ? [
          {
            severity: "info" as const,
            text: `The table shows the first ${formatCount(table.rowCount)} of ${plural(rows, "row")}; CSV and Parquet have all.`,
          },
        ]
      : []),
  ];
  return (
    <div class="query-result">
      <div class="query-summary" role="status">
        <b>{`${plural(rows, "row")} in ${formatTime(status.seconds * PS_PER_S)}`}</b>
        {hasTime(table) && rows > 0 ? <span class="dim">Enter or double-click a row: timeline</span> : null}
        <span class="query-space" />
        {choice === null ? null : (
          <button
            type="button"
            class="button"
            aria-pressed={charted}
            onClick={() => state.set({ chart: charted ? null : writeChoice(choice) }, "replace")}
          >
            Chart
          </button>
        )}
        <button type="button" class="button" data-tip="All rows as comma-separated text" onClick={() => save("csv")}>
          CSV
        </button>
        <button type="button" class="button" data-tip="All rows as a Parquet file" onClick={() => save("parquet")}>
          Parquet
        </button>
      </div>
      <Callouts messages={messages} />
      {charted ? (
        <ResultChart table={table} choice={choice} fileName={fileName} onChoice={(chart) => state.set({ chart }, "replace")} />
      ) : null}
      {rows === 0 ? (
        <Panel
          tone="empty"
          title="No rows"
          why="The query ran, and nothing matches it."
          todo={["Choose other runs, or a wider condition."]}
        />
      ) : (
        <div class="query-table">
          <Table
            data={table}
            title="Result"
            fileName={fileName}
            store={store}
            rowTools={(row) => <TimelineLink table={table} row={row} onlyRun={onlyRun} />}
          />
        </div>
      )}
    </div>
  );
}

function TimelineLink({ table, row, onlyRun }: { table: TableData; row: number; onlyRun: string | null }) {
  const view = timelineOf(table, row, onlyRun);
  if (view === null) return null;
  return (
    <Link class="button" to={toolPatch(TRACE, view.host, OWN_KEYS, { run: view.run, ...view.keys })}>
      Show in the timeline
    </Link>
  );
}

interface ChartProps {
  table: TableData;
  choice: ChartChoice;
  fileName: string;
  onChoice: (key: string) => void;
}

function ResultChart({ table, choice, fileName, onChoice }: ChartProps) {
  const chart = useMemo(() => chartOf(table, choice), [table, choice.kind, choice.x, choice.y]);
  if (chart === null) return null;
  const set = (patch: Partial<ChartChoice>): void => onChoice(writeChoice({ ...choice, ...patch }));
  const select = (label: string, value: string, options: readonly (readonly [string, string])[], onChange: (value: string) => void) => (
    <label>
      {label}
      <select class="field" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  const height = choice.kind === "bars" ? 60 + BAR_PX * Math.min(50, table.rowCount) : CHART_PX;
  const named = (columns: TableData["columns"]) => columns.map(({ id, label }) => [id, label] as const);
  return (
    <div class="query-chart">
      <div class="query-tools" role="toolbar" aria-label="Chart">
        {select(
          "Kind",
          choice.kind,
          [
            ["bars", "Bars"],
            ["line", "Line"],
          ],
          (kind) => set({ kind: kind as ChartKind }),
        )}
        {select("Of", choice.y, named(measures(table)), (y) => set({ y }))}
        {select("By", choice.x, named(table.columns), (x) => set({ x }))}
        {chart.note ? <span class="dim">{chart.note}</span> : null}
      </div>
      <Chart key={writeChoice(choice)} spec={chart.spec} title="" fileName={`${fileName}_chart`} height={height} />
    </div>
  );
}
