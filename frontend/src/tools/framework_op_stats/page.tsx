// Framework op stats: self time of TensorFlow, JAX and PyTorch ops on devices and hosts as pies, rates and tables.
import { useMemo, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import { arranged } from "../../page/op_columns";
import type { PageModule, PageProps } from "../../page/page";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { Pending } from "../../page/failure/pending";
import { usePerStep } from "../../page/compare/per_step";
import { fileNameOf, hostCount, storeAt } from "../../page/page_state";
import { sourceOfOp } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { cutMiddle, formatPercent, plural } from "../../base/format";
import { hiding } from "../../base/table/transform";
import { Card } from "../../widgets/content/card";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Chart } from "../../widgets/chart/chart";
import { swatchStyle } from "../../widgets/chart/style";
import { useTheme } from "../../widgets/chart/use_theme";
import { FitTable } from "../../widgets/table/fit_table";
import { FlameGraph } from "../../widgets/flame/flame";
import { Panel } from "../../widgets/status/panel";
import { ShareBar } from "../../widgets/chart/share_bar";
import { useLoad } from "../../widgets/status/use_load";
import { IDLE, frameworkOpsOf } from "./ops";
import { framesOf } from "./frames";
import type { FrameworkOps } from "./ops";
import { GROUPS, OTHER, columnsOf, groupOf, hasShapes, piesOf, ratesOf, summary, typeTable, withBaseOps, withBaseTypes } from "./model";
import type { Group, Pie } from "./model";
import "./page.css";

/** Names beside pies: beginnings are often the same. */
const LONGEST_NAME = 24;
/** The server lists at most this many ops per side. */
const MAX_ROWS = 500;
/** Query keys of this page, beside those of tables. */
const OWN_KEYS = ["idle", "group", "frame", "frames", "flip"];

function OpsPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const group = groupOf(useKey(state, "group"));
  const params = { run, tag: tool.id, host: host ?? undefined, group: group === "name" ? undefined : group };
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
  const { base, found } = useComparedBase(page, {
    read: frameworkOpsOf,
    params: { run: page.run, tag: page.tool.id, host: page.host ?? undefined, group: group === "name" ? undefined : group },
  });
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
  const store = useMemo(() => hiding(storeAt(state, "t1"), hidden), [state, hidden]);
  // The table reads its state only when created, so that a filter set by a chart needs a new one.
  const [round, setRound] = useState(0);
  const { title, sentences, barLabel, parts } = useMemo(() => summary(data, idle), [data, idle]);
  const filter = (place: string, column: string, name: string): void => {
    const escaped = name.replace(/[\\,;~]/g, "\\$&");
    state.set({ "t1.filter": [place ? `host_or_device~${place}` : "", `${column}~= ${escaped}`].filter(Boolean).join(";") }, "replace");
    setRound(round + 1);
    document.getElementById("op-table")?.scrollIntoView({ block: "start" });
  };
  const full = (["Device", "Host"] as const).some((place) => data.withoutIdle.ops.filter((op) => op.place === place).length >= MAX_ROWS);
  return (
    <div class="tool-page">
      <div class="tool-page-body ops-page">
        <SummaryBox title={title}>
          {sentences.length ? <p>{sentences.join(" ")}</p> : null}
          {data.document.notes.graphs ? <p>{data.document.notes.graphs}</p> : null}
          {parts.length ? (
            <div>
              <span class="dim">{barLabel}</span>
              <ShareBar parts={parts} label={barLabel} />
            </div>
          ) : null}
          <p class="dim">Task: {data.document.task}.</p>
        </SummaryBox>
        <BaseLine page={page} answer={base} per={per} />
        <div class="ops-switches">
          <Switch
            label="Include IDLE time in statistics"
            options={{ no: "No", yes: "Yes" }}
            value={idle ? "yes" : "no"}
            onChange={(value) => state.set({ idle: value === "yes" ? value : null }, "replace")}
          />
          {hasShapes(shown.table) ? (
            <Switch
              label="Rows"
              options={GROUPS}
              value={group}
              onChange={(value) => state.set({ group: value === "name" ? null : value }, "replace")}
            />
          ) : data.document.inputs_note ? (
            <p class="dim">{data.document.inputs_note}</p>
          ) : null}
        </div>
        <div class="pies">
          {pies.map((pie) => (
            <PieCard
              key={pie.title}
              pie={pie}
              file={file}
              onPick={(name) => filter(pie.place, pie.key === "type" ? "type" : "operation", name)}
            />
          ))}
        </div>
        {rates ? (
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
        {group === "name" ? (
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
        <div id="op-table">
          <Card title="Ops" class="op-table" help={idle ? "Idle time is listed as an op." : "Idle time is excluded."}>
            {full ? <p class="dim">At most {MAX_ROWS} ops per side are listed, those with the longest self time.</p> : null}
            <FitTable
              most={460}
              key={`${round}${group}${idle ? "i" : ""}${other === null ? "" : `${base.run ?? ""}${per.steps === null ? "" : " per step"}`}`}
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
          </Card>
        </div>
        <div class="columns even">
          {(["Device", "Host"] as const)
            .filter((place) => shown.ops.some((op) => op.place === place))
            .map((place) => (
              <Card key={place} title={`Op types on the ${place.toLowerCase()}`} class="type-table">
                <FitTable
                  most={300}
                  data={
                    other === null
                      ? typeTable(shown.ops, place)
                      : withBaseTypes(typeTable(shown.ops, place), typeTable(other.ops, place), per.steps)
                  }
                  fileName={`${file}_types_${place.toLowerCase()}`}
                />
              </Card>
            ))}
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

function PieCard({ pie, file, onPick }: { pie: Pie; file: string; onPick: (name: string) => void }) {
  const theme = useTheme();
  const { slices } = pie.spec;
  const total = slices.reduce((all, { value }) => all + value, 0);
  const pick = (name: string): void => {
    if (name !== OTHER) onPick(name);
  };
  return (
    <Card title={pie.title} class="pie-card">
      <div class="pie">
        <Chart
          spec={pie.spec}
          title={pie.title}
          fileName={`${file}_pie`}
          height={132}
          bare
          onPick={(place) => pick(slices[place]?.name ?? OTHER)}
          pickHint="Click: show in the table."
        />
        <ol class="pie-list">
          {slices.map(({ name, value, colour }) => (
            <li key={name}>
              <button type="button" disabled={name === OTHER || name === IDLE} data-tip={name} onClick={() => pick(name)}>
                <i class="swatch" style={swatchStyle(colour, theme)} />
                <span>{cutMiddle(name, LONGEST_NAME)}</span>
                <b class="number">{formatPercent((100 * value) / total)}</b>
              </button>
            </li>
          ))}
        </ol>
      </div>
    </Card>
  );
}

const page: PageModule = { ids: ["framework_op_stats", "tensorflow_stats"], Page: OpsPage, compares: true, findings: [] };
export default page;
