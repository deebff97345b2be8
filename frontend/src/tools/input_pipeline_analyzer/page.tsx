// Input pipeline analyzer: summary, device-side analysis of the waiting time, host-side analysis of the input ops.
import { useMemo } from "preact/hooks";
import { askedReading } from "../../page/page";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt, toolPatch } from "../../page/page_state";
import { documentOf } from "../../api/client";
import type { RunInfo } from "../../api/types";
import type { InputPipeline } from "../../base/documents";
import { plural } from "../../base/format";
import { baseText, traceOf } from "../../base/steps/decomposition";
import { breakdownIn, hostLine } from "../../base/steps/reading";
import { stepChart } from "../../base/steps/steps";
import { Callouts } from "../../widgets/status/callouts";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { FitTable } from "../../widgets/table/fit_table";
import { Figures } from "../../widgets/content/figures";
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { RichText } from "../../widgets/content/rich_text";
import { ShareBar } from "../../widgets/chart/share_bar";
import { StepBar } from "../../widgets/chart/step_bar";
import { PART_KEY } from "../../page/page";
import { useKey } from "../../page/use_key";
import { useLoad } from "../../widgets/status/use_load";
import { INPUT, barOf, hostParts, limitOf, sentences, stepFigures, usefulTips, waitingChart, waitingTable, describeWaiting } from "./model";
import "./page.css";

const TF_DATA = "tf_data_bottleneck_analysis";
const TRACE = "trace_viewer@";

function InputPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const params = { run, host: host ?? undefined, ...askedReading(page.reading) };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "input_pipeline_analyzer", params, { signal }));
  const info = useLoad(run, (signal) => client.json<RunInfo>("run_info", { run }, { signal }));
  const has = (tool: string): boolean => info.data?.tools.some(({ id, available }) => id === tool && available) ?? false;
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Analysing the input of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  const file = fileNameOf("input", run, host);
  const parts = { data: answer.data, file, state };
  const tfData = has(TF_DATA) ? toolPatch(TF_DATA, host, []) : null;
  return (
    <div class="tool-page">
      <div class="tool-page-body input-page">
        <Callouts messages={answer.data.messages} />
        <Summary {...parts} />
        <DeviceSide {...parts} open={has(TRACE) ? (keys) => state.set(toolPatch(TRACE, host, [PART_KEY], keys), "push") : null} />
        <HostSide {...parts} tfData={tfData} />
      </div>
    </div>
  );
}

interface PartProps {
  data: InputPipeline;
  file: string;
  state: PageProps["state"];
}

function Summary({ data, state }: PartProps) {
  const { tone, title } = limitOf(data);
  const part = useKey(state, PART_KEY) ?? INPUT;
  const segments = barOf(data);
  const hosts = hostLine(data.steps.hosts);
  const label = `Of the ${baseText(data.steps.decomposition)}`;
  return (
    <SummaryBox tone={tone} title={title}>
      <p class="dim">1. Summary of the input pipeline analysis</p>
      {segments.length ? (
        <>
          <p class="dim">{label}</p>
          <StepBar segments={segments} label={label} selected={part} onSelect={(id) => state.set({ [PART_KEY]: id }, "replace")} />
        </>
      ) : null}
      {sentences(data).map((sentence) => (
        <p key={sentence}>
          <RichText text={sentence} />
        </p>
      ))}
      {data.next ? (
        <p>
          <strong>Next: </strong>
          <RichText text={data.next} links />
        </p>
      ) : null}
      {hosts ? <p class={hosts.warn ? "" : "dim"}>{hosts.text}</p> : null}
    </SummaryBox>
  );
}

/** `open` opens the trace viewer with keys of the address; null without one. */
function DeviceSide({ data, file, open }: PartProps & { open: ((keys: Record<string, string>) => void) | null }) {
  const { xprof } = data;
  const chart = useMemo(() => stepChart(breakdownIn(data)), [data]);
  const waiting = useMemo(() => waitingChart(data), [data]);
  const cores = useMemo(() => waitingTable(data), [data]);
  const pick = (step: number): void => {
    const keys = traceOf(data.steps.decomposition, step);
    if (keys) open?.(keys);
  };
  if (chart.x.labels.length === 0) {
    return (
      <Card title="2. Device-side analysis">
        <p class="dim">
          No steps: the recording has no step markers. Mark steps with StepTraceAnnotation, in PyTorch with prof.step(); Keras marks them
          itself.
        </p>
      </Card>
    );
  }
  return (
    <>
      <div class="columns narrow-wide">
        <Card title="2. Device-side analysis: statistics">
          <Figures items={stepFigures(data)} />
        </Card>
        <Card title="Device step time" help={"Time of every step by category; red is waiting for input.\nSource: trace."}>
          <Chart
            spec={chart}
            title=""
            fileName={`${file}_steps`}
            height={220}
            {...(open === null || xprof
              ? { pickHint: "Drag: zoom." }
              : { onPick: pick, pickHint: "Click: open in the trace viewer. Drag: zoom." })}
          />
        </Card>
      </div>
      {waiting && cores ? (
        <div class="columns narrow-wide">
          <Card title="Core with the longest wait for input, of all hosts" class="cores">
            <p>{describeWaiting(data)}</p>
            <FitTable most={212} data={cores} title="" fileName={`${file}_waiting_cores`} />
          </Card>
          <Card
            title="Share of step time waiting for input"
            help={"Line: mean of the cores. Band: least to most of the cores of all hosts, as XProf computes them.\nSource: trace."}
          >
            <Chart spec={waiting} title="" fileName={`${file}_waiting`} height={230} pickHint="Drag: zoom." />
          </Card>
        </div>
      ) : null}
    </>
  );
}

/** `tfData` leads to the tf.data page; null if the profile contains no tf.data activity. */
function HostSide({ data, file, state, tfData }: PartProps & { tfData: Patch | null }) {
  const parts = hostParts(data);
  const store = useMemo(() => storeAt(state, "t1"), [state]);
  if (data.ops.rowCount === 0 && parts.length === 0) {
    return (
      <Card title="3. Host-side analysis">
        <p class="dim">Not available. {data.no_ops}</p>
        {tfData ? <TfData to={tfData} /> : null}
      </Card>
    );
  }
  return (
    <>
      <Card
        title="3. Host-side analysis: breakdown of input processing time"
        help={"Input processing of the host by kind.\nSelf times of the input ops, scaled to the time outside enqueuing.\nSource: trace."}
      >
        {parts.length ? (
          <ShareBar parts={parts} label="Breakdown of input processing time on the host" />
        ) : (
          <p class="dim">The input ops took no measurable time.</p>
        )}
        {tfData ? <TfData to={tfData} /> : null}
        <Tips tips={usefulTips(data)} />
      </Card>
      <Card
        title="Input op statistics"
        collapsed={false}
        class="input-ops"
        help={"Ops of the host's input pipeline, except the op that only waits for them.\nSource: trace."}
      >
        <FitTable most={360} data={data.ops} title="" fileName={`${file}_ops`} store={store} />
      </Card>
    </>
  );
}

function TfData({ to }: { to: Patch }) {
  return (
    <p>
      The input comes through tf.data: <Link to={to}>see which pipeline is slow, and which of its transformations is the bottleneck</Link>
    </p>
  );
}

function Tips({ tips }: { tips: readonly string[] }) {
  if (tips.length === 0) return null;
  return (
    <div class="tips">
      <h3>What can be done to reduce the host's input time</h3>
      <ul>
        {tips.map((tip) => (
          <li key={tip}>
            <RichText text={tip} links />
          </li>
        ))}
      </ul>
    </div>
  );
}

const page: PageModule = { ids: ["input_pipeline_analyzer"], Page: InputPage, findings: ["tf_data_bottleneck_analysis"] };
export default page;
