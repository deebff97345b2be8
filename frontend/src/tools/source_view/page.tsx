// Source: time, work and memory of the files, functions and lines of the program.
import { useEffect, useMemo, useState } from "preact/hooks";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { usePerStep } from "../../page/compare/per_step";
import { Pending } from "../../page/failure/pending";
import type { PageModule, PageProps } from "../../page/page";
import { fileNameOf, hostCount } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { download } from "../../widgets/content/download";
import { SummaryBox } from "../../widgets/content/summary_box";
import { FlameGraph } from "../../widgets/flame/flame";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { toCsv } from "../../widgets/table/model/csv";
import "../../widgets/content/card.css";
import { Card } from "./card";
import { documentOf } from "../../api/client";
import type { Source } from "../../base/documents";
import { framesOf } from "./frames";
import { Grid, LABELS, UNITS } from "./grid";
import { summaryOf, treeTable } from "./model";
import { GROUPINGS, MEASURES, firstOpen, hasLines, nodeOfLine, parentOfOp, pathTo, sourceTree, visibleRows } from "./tree";
import type { Grouping, Measure, Node } from "./tree";
import { PythonView } from "./python_view";
import "./page.css";

function SourcePage(page: PageProps) {
  const { state } = page;
  if (useKey(state, "group_by") === PYTHON)
    return <PythonView page={page} onBack={() => state.set({ group_by: null, frame: null, frames: null }, "push")} />;
  return <Lines {...page} />;
}

/** The grouping that shows the calls of Python on hosts in place of the ops. */
const PYTHON = "python";

function Lines(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const program = useKey(state, "module_name");
  const params = { run, tag: tool.id, host: host ?? undefined, module_name: program ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "source_view", params, { signal }));
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Adding up the source lines of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (answer.data.ops.rowCount === 0)
    return (
      <Panel
        tone="empty"
        title="No op to attribute"
        why="The profile has neither ops of a TPU or GPU, nor of XLA's CPU backend, nor of TensorFlow."
        todo={["Capture while the program runs on the device: warm it up first, then capture several steps."]}
      />
    );
  return <Content page={page} source={answer.data} params={params} />;
}

interface ContentProps {
  page: PageProps;
  source: Source;
  params: Readonly<Record<string, string | undefined>>;
}

function Content({ page, source, params }: ContentProps) {
  const { state, run, host, client } = page;
  const [group, order, search, line, op, chosen] = [
    useKey(state, "group_by"),
    useKey(state, "order"),
    useKey(state, "q") ?? "",
    useKey(state, "line"),
    useKey(state, "op"),
    useKey(state, "node"),
  ];
  const by: Grouping = GROUPINGS.find((one) => one === group) ?? (hasLines(source) ? "line" : "scope");
  const byDifference = order === "difference";
  const { base, found } = useComparedBase<Source>(page, { params });
  const per = usePerStep(page, found);
  const root = useMemo(() => sourceTree(source, by, base.data, base.data === null ? null : per.steps), [source, by, base.data, per.steps]);
  const measures = MEASURES.filter((one) => root.sums[one] > 0 || (root.base?.[one] ?? 0) > 0);
  const measure: Measure = measures.find((one) => one === order) ?? measures[0] ?? "time";
  const linked = useMemo(() => (line !== null ? nodeOfLine(root, line) : op !== null ? parentOfOp(root, op) : null), [root, line, op]);
  const selected = chosen ?? linked?.id ?? null;
  const path = useMemo(() => (selected === null ? [] : pathTo(root, selected)), [root, selected]);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => firstOpen(root, measure));
  useEffect(() => setOpen(firstOpen(root, measure)), [by]);
  useEffect(() => setOpen((before) => new Set([...before, ...path.slice(0, -1).map(({ id }) => id)])), [path]);
  const rows = useMemo(
    () => visibleRows(root, { measure, byDifference: byDifference && base.data !== null, open, search }),
    [root, measure, byDifference, base.data, open, search],
  );
  const node: Node | null = path.at(-1) ?? null;
  // Beside the details, which have all of them, there is room for one or two.
  const shownMeasures =
    node === null ? measures : base.data === null ? measures.filter((one, i) => one === measure || i < 2).slice(0, 3) : [measure];
  const select = (id: string | null): void => state.set({ node: id, line: null, op: null }, "replace");
  const asFlame = useKey(state, "view") === "flame";
  const frames = useMemo(
    () => (asFlame ? framesOf(source, by, measure, base.data, base.data === null ? null : per.steps) : null),
    [asFlame, source, by, measure, base.data, per.steps],
  );
  const summary = useMemo(() => summaryOf(source), [source]);
  return (
    <div class="src">
      <div class="src-page-head">
        <SummaryBox title={summary.headline}>
          {summary.lines.map((one) => (
            <p key={one}>{one}</p>
          ))}
        </SummaryBox>
        <BaseLine page={page} answer={base} per={per} />
        {(line ?? op) !== null && linked === null ? (
          <p class="dim" role="status">
            No op and no buffer at the peak is from {line ?? op}. It may be of another host or program.
          </p>
        ) : null}
        <Controls
          page={page}
          source={source}
          by={by}
          asFlame={asFlame}
          measures={measures}
          measure={byDifference && base.data !== null ? "difference" : measure}
          withBase={base.data !== null}
          search={search}
          count={rows.length}
          onCsv={() => {
            const table = treeTable(root, measures, base.data !== null);
            download(`${fileNameOf("source", run, host)}.csv`, toCsv(table.columns, Array(table.rowCount).keys()));
          }}
        />
      </div>
      <div class="src-split">
        {frames !== null ? (
          <FlameGraph
            root={frames}
            unit={UNITS[measure]}
            what={`${LABELS[measure]}${base.data !== null && per.steps !== null && measure !== "peak" ? " per step" : ""}`}
            fileName={fileNameOf("source", measure, run, host)}
            state={{ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }}
            placeLink={(place) => ({
              view: null,
              frame: null,
              frames: null,
              flip: null,
              group_by: null,
              node: null,
              op: null,
              line: place,
            })}
          />
        ) : null}
        {frames === null ? (
          <Grid
            root={root}
            rows={rows}
            measures={shownMeasures}
            measure={measure}
            withBase={base.data !== null}
            perStep={base.data !== null && per.steps !== null}
            open={open}
            selected={selected}
            onOpen={(id, wanted) => {
              const next = new Set(open);
              if (wanted) next.add(id);
              else next.delete(id);
              setOpen(next);
            }}
            onSelect={select}
          />
        ) : null}
        {node === null || frames !== null ? null : (
          <Card
            node={node}
            root={root}
            source={source}
            host={host}
            client={client}
            measure={measure}
            perStep={base.data !== null && per.steps !== null}
            onClose={() => select(null)}
            onLine={(file, number) => state.set({ line: `${file}:${String(number)}`, node: null, group_by: null }, "replace")}
          />
        )}
      </div>
    </div>
  );
}

interface ControlsProps {
  page: PageProps;
  source: Source;
  by: Grouping;
  asFlame: boolean;
  measures: readonly Measure[];
  measure: Measure | "difference";
  withBase: boolean;
  search: string;
  count: number;
  onCsv: () => void;
}

const ORDERS: Readonly<Record<Measure, string>> = {
  time: "By self time",
  peak: "By memory at the peak",
  flops: "By model FLOPs",
  bytes: "By bytes accessed",
};
const GROUP_LABELS = { line: "Lines", scope: "Name scopes" } as const;

function Controls({ page: { state }, source, by, asFlame, measures, measure, withBase, search, count, onCsv }: ControlsProps) {
  const set = (patch: Record<string, string | null>): void => state.set(patch, "replace");
  const programs = source.memory?.programs ?? [];
  return (
    <>
      <div class="src-controls" role="toolbar" aria-label="Tree options">
        {hasLines(source) ? (
          <span class="segmented" role="group" aria-label="Group by">
            {GROUPINGS.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={by === one}
                onClick={() => set({ group_by: one === "line" ? null : one, node: null, line: null })}
              >
                {GROUP_LABELS[one]}
              </button>
            ))}
          </span>
        ) : null}
        <select
          class="field"
          aria-label="Order by"
          value={measure}
          onChange={(event) => set({ order: event.currentTarget.value === measures[0] ? null : event.currentTarget.value })}
        >
          {measures.map((one) => (
            <option key={one} value={one}>
              {ORDERS[one]}
            </option>
          ))}
          {withBase ? <option value="difference">By difference</option> : null}
        </select>
        <button
          type="button"
          class="button ghost"
          data-tip="Time of the host threads by Python call stack"
          onClick={() => state.set({ group_by: PYTHON, node: null, line: null, op: null, view: null, frame: null, frames: null }, "push")}
        >
          Python on hosts
        </button>
        <span class="segmented" role="group" aria-label="Show as">
          {[false, true].map((flame) => (
            <button
              key={String(flame)}
              type="button"
              aria-pressed={asFlame === flame}
              onClick={() => set({ view: flame ? "flame" : null, frame: null })}
            >
              {flame ? "Flame graph" : "Tree"}
            </button>
          ))}
        </span>
      </div>
      <div class="src-controls" role="toolbar" aria-label="What is shown">
        {programs.length > 1 ? (
          <label data-tip="The program whose memory at the peak is shown.">
            Memory of{" "}
            <select class="field" value={source.memory?.program} onChange={(event) => set({ module_name: event.currentTarget.value })}>
              {programs.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        {asFlame ? null : (
          <>
            <input
              class="field"
              type="search"
              placeholder="file, function, op or scope"
              aria-label="Search"
              value={search}
              onInput={(event) => set({ q: event.currentTarget.value || null })}
            />
            {search === "" ? null : <span class="dim">{plural(count, "row")}</span>}
            <span class="src-space" />
            <button type="button" class="button ghost" data-tip="The whole tree with exact values" onClick={onCsv}>
              CSV
            </button>
          </>
        )}
      </div>
    </>
  );
}

const page: PageModule = { ids: ["source_view"], Page: SourcePage, compares: true };
export default page;
