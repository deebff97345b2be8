// One run of a pipeline: its graph with details of the selected iterator, and its executions over time.
import { useEffect, useMemo, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import type { PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, storeAt, toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { formatCount, formatTime, plural } from "../../base/format";
import { Callouts } from "../../widgets/status/callouts";
import { Card } from "../../widgets/content/card";
import { FitTable } from "../../widgets/table/fit_table";
import { useLoad } from "../../widgets/status/use_load";
import { Graph } from "./graph/graph";
import { IteratorDetails } from "./graph/iterator_details";
import { Legend } from "./graph/legend";
import { iteratorsTable } from "./model";
import { RunPickers, chooseRank } from "./pickers";
import { ExecutionsChart } from "./executions/chart";
import { wholeWindow } from "./executions/rows";
import type { Window } from "./executions/rows";
import { drawnNodes } from "./graph/tree";
import type { DataPipelineRun as Run } from "../../base/documents";
import type { Analysis, Pipeline } from "./model";

const TRACE = "trace_viewer@";
/** Query keys of this page. */
const OWN_KEYS = ["pipeline_host", "pipeline", "rank", "iterator", "range"];
/** Number of threads of a run that are pinned in the trace viewer. */
const MAX_PINNED = 6;

interface Props {
  page: PageProps;
  analysis: Analysis;
  pipeline: Pipeline;
  onShow: (pipeline: Pipeline) => void;
}

export function RunView({ page, analysis, pipeline, onShow }: Props) {
  const { run, tool, host, client, state } = page;
  const rank = chooseRank(useKey(state, "rank"), pipeline.runs);
  const onHost = tool.host_names.includes(pipeline.requestHost) ? pipeline.requestHost : host;
  const params = { run, host: onHost ?? undefined, pipeline: pipeline.name, rank };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "tf_data_run", params, { signal }));
  // The previous run stays visible until the next one is loaded, so that stepping does not flicker.
  const last = useLast(answer.data, `${pipeline.host}\n${pipeline.name}`);
  // The pickers are always rendered at the same position, so that they keep the focus.
  return (
    <>
      <RunPickers
        analysis={analysis}
        pipeline={pipeline}
        rank={rank}
        durationPs={last?.rank === rank ? last.duration_ps : null}
        onShow={onShow}
        onRank={(next) => state.set({ rank: next === 0 ? null : String(next), iterator: null, range: null }, "replace")}
      />
      {answer.error !== null || last === null ? (
        <Pending answer={answer} page={{ run, tool, host: onHost }} what={`Reading run ${rank} of ${pipeline.name}`} />
      ) : (
        <Shown key={`${last.host} ${last.pipeline}`} page={page} pipeline={pipeline} data={last} traceHost={onHost} />
      )}
    </>
  );
}

function useLast(data: Run | null, key: string): Run | null {
  const [held, setHeld] = useState<{ key: string; data: Run } | null>(null);
  useEffect(() => {
    if (data) setHeld({ key, data });
  }, [data]);
  return data ?? (held?.key === key ? held.data : null);
}

/** Parses "from,to" in picoseconds; null if outside the run. */
function readRange(text: string | null, [begin, end]: Window): Window | null {
  const [from, to] = (text ?? "").split(",").map(Number);
  return from !== undefined && to !== undefined && Number.isFinite(from) && to > from && from < end && to > begin ? [from, to] : null;
}

interface ShownProps {
  page: PageProps;
  pipeline: Pipeline;
  data: Run;
  traceHost: string | null;
}

function Shown({ page, pipeline, data, traceHost }: ShownProps) {
  const { run, state } = page;
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [asTable, setAsTable] = useState(false);
  const iterator = useKey(state, "iterator");
  const range = useKey(state, "range");
  const zoom = useMemo(() => readRange(range, wholeWindow(data)), [range, data]);
  const drawn = useMemo(() => drawnNodes(data.iterators, opened), [data, opened]);
  const selected = iterator === null ? -1 : drawn.findIndex(({ id }) => id === iterator);
  const store = useMemo(() => storeAt(state, "t2"), [state]);
  const table = useMemo(() => iteratorsTable(data), [data]);
  const file = fileNameOf("tf_data", run, pipeline.host, pipeline.name, `rank_${data.rank}`);
  const select = (at: number): void => state.set({ iterator: drawn[at]?.id ?? null }, "replace");
  const worst = drawn.findIndex(({ role }) => role === 2);
  const openTrace = ([begin, end]: Window): void => {
    const threads = [...new Set(data.threads.map(({ pid, tid }) => `${pid}.${tid}`))].slice(0, MAX_PINNED);
    state.set(
      toolPatch(TRACE, traceHost, OWN_KEYS, {
        window: `${Math.round(begin)},${Math.round(end)}`,
        ...(threads.length ? { pinned: threads.join(",") } : {}),
      }),
      "push",
    );
  };
  const grouped = drawn.reduce((all, node) => all + node.grouped, 0);
  const label =
    `Graph of ${pipeline.name} of ${pipeline.host}, run ${data.rank}: ${plural(data.iterators.length, "iterator")}. ` +
    "Arrow keys move between iterators, B selects the bottleneck.";
  return (
    <>
      <Callouts messages={data.problems.map((text) => ({ severity: "warning" as const, text }))} />
      <Card
        title="Input pipeline graph"
        class="tfd-graph-card"
        help={
          "Iterators of one run: consumers above, producers below; elements flow upwards.\n" +
          "The critical path consists of the iterators that the consumer waited for.\n" +
          "Source: trace."
        }
        tools={
          <button type="button" class="button ghost" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            {asTable ? "Graph" : "Table"}
          </button>
        }
      >
        {asTable ? (
          <FitTable most={480} data={table} title="" fileName={`${file}_iterators`} store={store} />
        ) : (
          <div class="tfd-split">
            <div class="tfd-picture">
              <Graph
                run={data}
                drawn={drawn}
                selected={selected}
                label={label}
                fileName={file}
                onSelect={select}
                onExpand={(id) => setOpened(new Set([...opened, id]))}
              />
              <Legend grouped={grouped} opened={opened.size > 0} onGroup={() => setOpened(new Set())} />
            </div>
            <IteratorDetails run={data} node={drawn[selected >= 0 ? selected : worst] ?? drawn[0] ?? null} chosen={selected >= 0} />
          </div>
        )}
      </Card>
      <Card
        title="Executions of the iterators"
        class="tfd-executions-card"
        help={
          "Executions of the iterators of this run; overlapping ones are on separate lanes. The shaded range is the run " +
          "itself, from request to result; earlier executions produced elements ahead.\n" +
          "Source: trace."
        }
        tools={
          <>
            {zoom ? (
              <button type="button" class="button ghost" onClick={() => state.set({ range: null }, "replace")}>
                Show the whole run
              </button>
            ) : (
              <span class="dim tfd-hint">Drag or Ctrl + wheel to zoom.</span>
            )}
            <button type="button" class="button" onClick={() => openTrace(zoom ?? wholeWindow(data))}>
              Open in the trace viewer
            </button>
          </>
        }
      >
        <p class="dim number">
          Run {formatCount(data.rank)} took {formatTime(data.duration_ps)}; {plural(data.executions, "execution")} on{" "}
          {plural(data.threads.length, "thread")}.{data.truncated ? " Only the longest executions are shown." : ""}
        </p>
        <ExecutionsChart
          run={data}
          drawn={drawn}
          selected={selected}
          onSelect={select}
          zoom={zoom}
          onZoom={(next) => state.set({ range: next ? next.map(Math.round).join(",") : null }, "replace")}
          onOpenTrace={openTrace}
        />
      </Card>
    </>
  );
}
