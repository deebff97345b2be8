// Framework op stats: self time of TensorFlow, JAX and PyTorch ops on devices and hosts as pies, rates and tables.
import { useMemo, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import type { Params } from "../../api/client";
import { arranged } from "../../page/op_columns";
import { opRequest } from "../../page/op_request";
import type { PageModule, PageProps } from "../../page/page";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { Pending } from "../../page/failure/pending";
import { usePerStep } from "../../page/compare/per_step";
import { fileNameOf, hostCount, storeAt } from "../../page/page_state";
import { sourceOfOp } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { cutMiddle, plural } from "../../base/format";
import type { Slice } from "../../base/chart/chart_spec";
import { hiding } from "../../base/table/transform";
import { Card } from "../../widgets/content/card";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Chart } from "../../widgets/chart/chart";
import { PieList } from "../../widgets/chart/pie_list";
import { FitTable } from "../../widgets/table/fit_table";
import { FlameGraph } from "../../widgets/flame/flame";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { IDLE, frameworkOpsOf } from "./ops";
import { framesOf } from "./frames";
import type { FrameworkOps } from "./ops";
import {
  GROUPS,
  OTHER,
  chartsOf,
  telling,
  columnsOf,
  groupOf,
  hasShapes,
  piesOf,
  ratesOf,
  summary,
  typeTable,
  withBaseOps,
  withBaseTypes,
} from "./model";
import type { Group, Pie } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

/** Names beside a pie: beginnings are often the same. */
const LONGEST_NAME = 60;
/** Height of the table. */
const MOST_PX = 300;
/** The server lists at most this many ops per side. */
const MAX_ROWS = 500;
/** Query keys of this page, beside those of tables. */
const OWN_KEYS = ["chart", "types", "idle", "group", "frame", "frames", "flip"];

const requestOf = (page: PageProps, group: Group): Params => opRequest(page, { group: group === "name" ? undefined : group });

function OpsPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const group = groupOf(useKey(state, "group"));
  const params = requestOf(page, group);
  const answer = useLoad(JSON.stringify(params), async (signal) =>
    frameworkOpsOf(await documentOf(client, "framework_op_stats", params, { signal })),
  );
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Adding up the ops of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (answer.data.withoutIdle.ops.length === 0) {
    return (
      <Panel
        tone="empty"
        title="No framework op was recorded"
        why="The profile contains no TensorFlow, JAX or PyTorch ops, neither on devices nor on hosts."
        todo={["Choose another host or session on the left.", "Profile while the program is running, for longer."]}
      />
    );
  }
  return <Content page={page} data={answer.data} state={state} group={group} file={fileNameOf("framework_ops", run, host)} />;
}

interface ContentProps {
  page: PageProps;
  data: FrameworkOps;
  state: PageProps["state"];
  group: Group;
  file: string;
}

function Content({ page, data, state, group, file }: ContentProps) {
  const idle = useKey(state, "idle") === "yes";
  const shown = idle ? data.withIdle : data.withoutIdle;
  const { base, found } = useComparedBase(page, { read: frameworkOpsOf, params: requestOf(page, group) });
  const per = usePerStep(page, found);
  const other = base.data === null ? null : idle ? base.data.withIdle : base.data.withoutIdle;
  const { table, hidden } = useMemo(
    () =>
      arranged(other === null ? shown.table : withBaseOps(shown.table, other.table, per.steps), columnsOf(group), [
        "total_self_time",
        "occurrences",
      ]),
    [shown, other, per.steps, group],
  );
  const pies = useMemo(() => piesOf(shown.ops, idle).filter(({ key }) => group === "name" || key === "type"), [shown, idle, group]);
  const frames = useMemo(() => framesOf(shown.ops, other?.ops ?? null, other === null ? null : per.steps), [shown, other, per.steps]);
  const rates = useMemo(() => ratesOf(shown.ops), [shown]);
  const charts = useMemo(() => chartsOf(pies, rates !== null, group), [pies, rates, group]);
  const wanted = useKey(state, "chart");
  // A frame of the flame graph in the address is one of its links.
  const framed = useKey(state, "frame") !== null ? "scopes" : null;
  const chart = charts.find(({ id }) => id === (wanted ?? framed)) ?? telling(charts);
  const types = useKey(state, "types") === "yes";
  const typed = useMemo(
    () => (other === null ? typeTable(shown.ops) : withBaseTypes(typeTable(shown.ops), typeTable(other.ops), per.steps)),
    [shown, other, per.steps],
  );
  const rowChoices: Readonly<Record<string, string>> = { ...(hasShapes(shown.table) ? GROUPS : { name: GROUPS.op }), type: "Op type" };
  const typeStore = useMemo(() => storeAt(state, "t2"), [state]);
  const joinedWith = other === null ? "" : `${base.run ?? ""}${per.steps === null ? "" : " per step"}`;
  const store = useMemo(() => hiding(storeAt(state, "t1"), hidden), [state, hidden]);
  // The table reads its state only when created, so that a filter set by a chart needs a new one.
  const [round, setRound] = useState(0);
  const { title, sentences } = useMemo(() => summary(data, idle), [data, idle]);
  const filter = (place: string, column: string, name: string): void => {
    const escaped = name.replace(/[\\,;~]/g, "\\$&");
    state.set(
      { types: null, "t1.filter": [place ? `host_or_device~${place}` : "", `${column}~= ${escaped}`].filter(Boolean).join(";") },
      "replace",
    );
    setRound(round + 1);
    document.getElementById("op-table")?.scrollIntoView({ block: "start" });
  };
  const full = (["Device", "Host"] as const).some((place) => data.withoutIdle.ops.filter((op) => op.place === place).length >= MAX_ROWS);
  return (
    <div class="tool-page">
      <div class="tool-page-body ops-page">
        <SummaryBox title={title}>
          {sentences.length ? (
            <p>
              <RichText text={sentences.join(" ")} />
            </p>
          ) : null}
          {data.document.notes.graphs ? <p>{data.document.notes.graphs}</p> : null}
        </SummaryBox>
        <BaseLine page={page} answer={base} per={per} />
        <div class="ops-switches">
          <Switch
            label="Chart"
            options={Object.fromEntries(charts.map(({ id, label }) => [id, label]))}
            value={chart?.id ?? ""}
            onChange={(value) => state.set({ chart: value === telling(charts)?.id ? null : value }, "replace")}
          />
          <Switch
            label="Include IDLE time in statistics"
            options={{ no: "No", yes: "Yes" }}
            value={idle ? "yes" : "no"}
            onChange={(value) => state.set({ idle: value === "yes" ? value : null }, "replace")}
          />
        </div>
        {chart?.id === "rates" && rates !== null ? (
          <Card
            title="FLOP rate of device ops"
            help={
              "FLOPs per second of each op with at least 0.1% of the time, highest first.\n" +
              "FLOPs of the HLO divided by total time.\n" +
              "Source: HLO cost estimate, trace."
            }
          >
            <Chart
              spec={rates}
              title=""
              fileName={`${file}_rates`}
              height={54 + 22 * rates.values.length}
              onPick={(place) => filter("Device", "operation", rates.x.labels[place] ?? "")}
              pickHint="Click: show in the table."
            />
          </Card>
        ) : null}
        {chart?.id === "scopes" ? (
          <Card
            title="Flame graph by name scope"
            class="ops-flame"
            help={"Self time of the ops, by the scopes in their names, on the device and on the host.\nSource: trace."}
          >
            <FlameGraph
              root={frames}
              unit="ps"
              what={other !== null && per.steps !== null ? "Self time per step" : "Self time"}
              fileName={`${file}_scopes`}
              state={{ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }}
            />
          </Card>
        ) : null}
        {chart?.pie ? <OpPie pie={chart.pie} file={file} onPick={filter} /> : null}
        <div id="op-table">
          <Card
            title={types ? "Op types" : "Ops"}
            class="op-table"
            help={`${idle ? "Idle time is listed as an op." : "Idle time is excluded."}\nTask: ${data.document.task}.`}
            tools={
              <Switch
                label="Rows"
                options={rowChoices}
                value={types ? "type" : group}
                onChange={(value) =>
                  state.set(value === "type" ? { types: "yes" } : { types: null, group: value === "name" ? null : value }, "replace")
                }
              />
            }
          >
            {!hasShapes(shown.table) && data.document.inputs_note ? <p class="dim">{data.document.inputs_note}</p> : null}
            {full ? <p class="dim">At most {MAX_ROWS} ops per side are listed, those with the longest self time.</p> : null}
            {types ? (
              <FitTable key={`types${round}${joinedWith}`} most={MOST_PX} data={typed} fileName={`${file}_types`} store={typeStore} />
            ) : (
              <FitTable
                most={MOST_PX}
                key={`${round}${group}${idle ? "i" : ""}${joinedWith}`}
                data={table}
                fileName={file}
                store={store}
                rowTools={(row) => {
                  const [name, type] = ["operation", "type"].map((id) => table.columns.find((column) => column.id === id)?.values[row]);
                  return typeof name !== "string" || name === "" || type === IDLE ? null : (
                    <button type="button" class="button ghost" onClick={() => state.set(sourceOfOp(page.host, OWN_KEYS, name), "push")}>
                      Source
                    </button>
                  );
                }}
              />
            )}
          </Card>
        </div>
      </div>
    </div>
  );
}

interface SwitchProps<T extends string> {
  label: string;
  options: Readonly<Record<T, string>>;
  value: T;
  onChange: (value: T) => void;
}

function Switch<T extends string>({ label, options, value, onChange }: SwitchProps<T>) {
  const id = `switch-${label.replace(/\W/g, "")}`;
  return (
    <div class="idle-switch">
      <span id={id}>{label}</span>
      <span class="segmented" role="radiogroup" aria-labelledby={id}>
        {(Object.keys(options) as T[]).map((one) => (
          <button key={one} type="button" role="radio" aria-checked={value === one} onClick={() => onChange(one)}>
            {options[one]}
          </button>
        ))}
      </span>
    </div>
  );
}

interface OpPieProps {
  pie: Pie;
  file: string;
  onPick: (place: string, column: string, name: string) => void;
}

function OpPie({ pie: { title, place, key, spec }, file, onPick }: OpPieProps) {
  const slices = spec.slices.map((slice) => ({ ...slice, name: cutMiddle(slice.name, LONGEST_NAME), full: slice.name }));
  const named = ({ full = "" }: Slice): boolean => full !== OTHER && full !== IDLE;
  return (
    <div class="card">
      <PieList
        title={title}
        fileName={`${file}_pie`}
        spec={{ ...spec, slices }}
        onPick={(at) => onPick(place, key === "type" ? "type" : "operation", slices[at]?.full ?? "")}
        canPick={(at) => slices[at] !== undefined && named(slices[at])}
        pickHint="Click: show in the table."
      />
    </div>
  );
}

const page: PageModule = { ids: ["framework_op_stats", "tensorflow_stats"], Page: OpsPage, compares: true, findings: [] };
export default page;
