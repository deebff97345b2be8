// Inference profile: latency of the requests and batches of a model server, by part.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, storeAt, toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { documentOf } from "../../api/client";
import type { BatchingParameters, Percentiles, ServedModel } from "../../base/documents";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { Figures } from "../../widgets/content/figures";
import { FitTable } from "../../widgets/table/fit_table";
import { Panel } from "../../widgets/status/panel";
import { ShareBar } from "../../widgets/chart/share_bar";
import { useLoad } from "../../widgets/status/use_load";
import { averageParts, batchChart, parameterFigures, rateFigures, requestChart, sampleWindows, sortColumns, summary } from "./model";
import "./page.css";

const DEFAULT_ORDER = "Latency";
/** Query keys of this page. */
const OWN_KEYS = ["model", "request_column", "batch_column"];

function InferencePage(page: PageProps) {
  const { run, tool, host, client, state } = page;
  const wanted = useKey(state, "model");
  const request = useKey(state, "request_column");
  const batch = useKey(state, "batch_column");
  const params = { run, tag: tool.id, host: host ?? undefined, request_column: request, batch_column: batch };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "inference_profile", params, { signal }));
  if (answer.data === null) return <Pending answer={answer} page={page} what="Reading the requests" rows={16} />;
  const models = answer.data.models.filter(({ requests }) => requests.count > 0);
  const model = models.find(({ name }) => name === wanted) ?? models[0];
  if (!model) {
    return (
      <Panel
        tone="empty"
        title="No requests in this profile"
        why="Neither events of a model server (TensorFlow Serving, TFRT, Orbax) nor root events of requests were recorded on this host."
        todo={["Profile while requests are served.", "Choose another host or session on the left."]}
      />
    );
  }
  const file = fileNameOf("inference", run, host, model.name);
  return (
    <div class="tool-page">
      <div class="tool-page-body inference-page">
        <Summary model={model} models={models} state={state} several={tool.host_names.length > 1} />
        <Section
          title="Request level analysis"
          kind="requests"
          items={model.requests}
          chart={requestChart(model.requests)}
          order={request}
          orderKey="request_column"
          host={host}
          prefix="t1"
          file={`${file}_requests`}
          state={state}
        />
        {model.batches ? (
          <Section
            title="Batch level analysis"
            kind="batches"
            items={model.batches}
            parameters={model.parameters}
            chart={batchChart(model.batches)}
            order={batch}
            orderKey="batch_column"
            host={host}
            prefix="t2"
            file={`${file}_batches`}
            state={state}
          />
        ) : null}
      </div>
    </div>
  );
}

function Summary({
  model,
  models,
  state,
  several,
}: {
  model: ServedModel;
  models: readonly ServedModel[];
  state: PageProps["state"];
  several: boolean;
}) {
  const { title, sentence } = summary(model);
  const parts = averageParts(model);
  return (
    <SummaryBox title={title}>
      <div class="model-picker">
        <label for="model">Model</label>
        <select
          id="model"
          class="field"
          value={model.name}
          disabled={models.length < 2}
          onChange={(event) => state.set({ model: event.currentTarget.value }, "push")}
        >
          {models.map(({ name }) => (
            <option key={name} value={name}>
              {name === "ALL" ? "all requests" : name}
            </option>
          ))}
        </select>
      </div>
      <p>
        {sentence}
        {several ? " Requests that span hosts may be incomplete, because hosts are analysed separately." : ""}
      </p>
      {parts.length ? (
        <div>
          <span class="dim">The average request</span>
          <ShareBar parts={parts} label="The average request" />
        </div>
      ) : null}
    </SummaryBox>
  );
}

interface SectionProps {
  title: string;
  kind: "requests" | "batches";
  items: Percentiles;
  parameters?: BatchingParameters | null;
  chart: ReturnType<typeof requestChart>;
  order: string | null;
  orderKey: string;
  prefix: string;
  file: string;
  state: PageProps["state"];
  host: string | null;
}

function Section({ host, title, kind, items, parameters = null, chart, order, orderKey, prefix, file, state }: SectionProps) {
  const store = useMemo(() => storeAt(state, prefix), [state, prefix]);
  const columns = sortColumns(items.rows);
  const spec = useMemo(() => chart, [items]);
  const windows = useMemo(() => sampleWindows(items), [items]);
  const open = (place: number): void => {
    const window = windows[place];
    if (window) state.set(toolPatch("trace_viewer@", host, OWN_KEYS, { window: `${window.begin},${window.end}` }), "push");
  };
  const known = windows.some((window) => window !== null);
  return (
    <>
      <div class="columns narrow-wide">
        <div class="column">
          <Card title={title}>
            <Figures items={rateFigures(items, kind)} />
          </Card>
          {kind === "batches" ? (
            <Card title="Batching parameters">
              {parameters ? (
                <Figures items={parameterFigures(parameters)} />
              ) : (
                <p class="dim">The profile does not contain the server's batching parameters.</p>
              )}
            </Card>
          ) : null}
        </div>
        {spec ? (
          <Card
            title={`Sampled ${kind} by percentile of ${order ?? DEFAULT_ORDER}`}
            help={"Each bar is one request or batch; its percentile is the share of those before it in the chosen order.\nSource: trace."}
          >
            <Chart
              spec={spec}
              title=""
              fileName={`${file}_percentiles`}
              height={230}
              onPick={known ? open : undefined}
              pickHint={known ? "Click: open in the trace viewer. Drag: zoom." : "Drag: zoom."}
            />
          </Card>
        ) : null}
      </div>
      <Card
        title={kind === "requests" ? "Requests" : "Batches"}
        class="table-card"
        tools={
          <label class="order">
            Percentiles of{" "}
            <select
              class="field"
              value={order ?? DEFAULT_ORDER}
              onChange={(event) =>
                state.set({ [orderKey]: event.currentTarget.value === DEFAULT_ORDER ? null : event.currentTarget.value }, "push")
              }
            >
              {columns.map((label) => (
                <option key={label} value={label}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        }
      >
        <FitTable most={360} data={items.rows} title="" fileName={file} store={store} />
      </Card>
    </>
  );
}

const page: PageModule = { ids: ["inference_profile"], Page: InferencePage, findings: [] };
export default page;
