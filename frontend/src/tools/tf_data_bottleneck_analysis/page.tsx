// tf.data bottleneck analysis: slow input pipelines, their bottlenecks and advice.
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { Callouts } from "../../widgets/status/callouts";
import { Panel } from "../../widgets/status/panel";
import { useLoad } from "../../widgets/status/use_load";
import { documentOf } from "../../api/client";
import type { DataPipelines } from "../../base/documents";
import { useMemo } from "preact/hooks";
import { analysisOf, choosePipeline } from "./model";
import { RunView } from "./run_view";
import { AllPipelines, Summary } from "./summary";
import type { Pipeline } from "./model";
import "./page.css";

function TfDataPage(props: PageProps) {
  const { run, tool, host, client } = props;
  const params = { run, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "tf_data_bottleneck_analysis", params, { signal }));
  if (answer.data === null)
    return (
      <Pending
        answer={answer}
        page={props}
        what={`Analysing the input pipelines of ${plural(Math.max(1, tool.host_names.length), "host")}`}
      />
    );
  return <Content page={props} found={answer.data} />;
}

/** Explains why there is no data. */
function Nothing({ message }: { message: string }) {
  return (
    <Panel
      tone="empty"
      title="No tf.data activity in this profile"
      why={message || "No tf.data iterator was recorded on any host."}
      todo={[
        "Profile for longer, so that the program requests input at least once.",
        "Use the default host tracer level or a higher one (host_tracer_level of at least 2).",
        "Programs that do not use tf.data have no data here.",
      ]}
    />
  );
}

function Content({ page, found }: { page: PageProps; found: DataPipelines }) {
  const { run, host, state } = page;
  const analysis = useMemo(() => analysisOf(found), [found]);
  const wanted = { host: useKey(state, "pipeline_host"), name: useKey(state, "pipeline") };
  const pipeline = choosePipeline(analysis, wanted.host, wanted.name);
  const messages = found.problems.map((text) => ({ severity: "warning" as const, text }));
  if (!pipeline)
    return (
      <div class="tool-page">
        <div class="tool-page-body">
          <Callouts messages={messages} />
          <Nothing message={found.message} />
        </div>
      </div>
    );
  const choose = (next: Pipeline, mode: "push" | "replace" = "push"): void => {
    state.set({ pipeline_host: next.host, pipeline: next.name, rank: null, iterator: null, range: null }, mode);
  };
  const file = fileNameOf("tf_data", run, host);
  return (
    <div class="tool-page">
      <div class="tool-page-body tfd-page">
        <Callouts messages={messages} />
        <Summary analysis={analysis} onShow={choose} />
        <AllPipelines analysis={analysis} chosen={pipeline} file={file} state={state} onShow={choose} />
        <RunView page={page} analysis={analysis} pipeline={pipeline} onShow={choose} />
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["tf_data_bottleneck_analysis"], Page: TfDataPage, findings: ["input_pipeline_analyzer"] };
export default page;
