// Input pipeline analyzer: summary, device-side analysis of the waiting time, host-side analysis of the input ops.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt, toolPatch } from "../../page/page_state";
import type { RunInfo } from "../../api/types";
import { plural } from "../../base/format";
import { hostLine, xprofNote } from "../../base/steps/reading";
import { stepChart } from "../../base/steps/steps";
import { Callouts } from "../../widgets/status/callouts";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { FitTable } from "../../widgets/table/fit_table";
import { Figures } from "../../widgets/content/figures";
import { RichText } from "../../widgets/content/rich_text";
import { ShareBar } from "../../widgets/chart/share_bar";
import { useLoad } from "../../widgets/status/use_load";
import { readInputPipeline } from "./decode";
import type { InputPipeline } from "./decode";
import { hostParts, limitOf, sentences, stepFigures, usefulTips, waitingChart, waitingParts, waitingTable, describeWaiting } from "./model";
import "./page.css";

const TF_DATA = "tf_data_bottleneck_analysis";

function InputPage(page: PageProps) {
  const { run, tool, host, hosts, client, state } = page;
  const params = { run, tag: tool.id, host: host ?? undefined, extended: "true" };
  const answer = useLoad(JSON.stringify(params), async (signal) =>
    readInputPipeline(await client.json<unknown>("data", params, { signal })),
  );
  const info = useLoad(run, (signal) => client.json<RunInfo>("run_info", { run }, { signal }));
  const known = info.data?.tools.some(({ id, available }) => id === TF_DATA && available) ?? false;
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Analysing the input of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  const file = fileNameOf("input", run, host);
  const parts = { data: answer.data, file, state };
  const openTfData = known ? (): void => state.set(toolPatch(TF_DATA, host, []), "push") : null;
  return (
    <div class="tool-page">
      <div class="tool-page-body input-page">
        <Callouts messages={answer.data.messages} />
        <Summary data={answer.data} />
        <DeviceSide {...parts} />
        <HostSide {...parts} openTfData={openTfData} />
      </div>
    </div>
  );
}

interface PartProps {
  data: InputPipeline;
  file: string;
  state: PageProps["state"];
}

function Summary({ data }: { data: InputPipeline }) {
  const { tone, title } = limitOf(data);
  const parts = waitingParts(data);
  const hosts = hostLine(data.reading.hosts);
  const note = xprofNote(data.reading);
  return (
    <SummaryBox tone={tone} title={title}>
      {parts.length ? <ShareBar parts={parts} label="Step time waiting for input" /> : null}
      {sentences(data).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {data.next ? (
        <p>
          <strong>Next: </strong>
          {data.next}
        </p>
      ) : null}
      {hosts ? <p class={hosts.warn ? "" : "dim"}>{hosts.text}</p> : null}
      {note ? <p class="dim">{note}</p> : null}
    </SummaryBox>
  );
}

function DeviceSide({ data, file }: PartProps) {
  const { steps, waitingCores } = data;
  const chart = useMemo(() => steps && stepChart(steps), [steps]);
  const waiting = useMemo(() => waitingChart(data), [data]);
  const table = useMemo(() => (waitingCores ? waitingTable(waitingCores) : null), [waitingCores]);
  if (!chart) {
    return (
      <Card title="2. Device-side analysis">
        <p class="dim">Not available: the profile contains no steps. Mark steps in the program, or profile for longer.</p>
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
          <Chart spec={chart} title="" fileName={`${file}_steps`} height={220} pickHint="Drag: zoom." />
        </Card>
      </div>
      {waiting ? (
        <div class={table && waitingCores ? "columns narrow-wide" : "columns"}>
          {table && waitingCores ? (
            <Card title="Core with the longest wait for input, of all hosts" class="cores">
              <p>{describeWaiting(waitingCores)}</p>
              <FitTable most={212} data={table} title="" fileName={`${file}_waiting_cores`} />
            </Card>
          ) : null}
          <Card
            title="Share of step time waiting for input"
            help={
              "Line: the slowest host of each step, its core that waits longest. Band: least to most of the cores of all hosts.\nSource: trace."
            }
          >
            <Chart spec={waiting} title="" fileName={`${file}_waiting`} height={230} pickHint="Drag: zoom." />
          </Card>
        </div>
      ) : null}
    </>
  );
}

/** `openTfData` is null if the profile contains no tf.data activity. */
function HostSide({ data, file, state, openTfData }: PartProps & { openTfData: (() => void) | null }) {
  const parts = hostParts(data);
  const store = useMemo(() => storeAt(state, "t1"), [state]);
  if (data.ops.rowCount === 0 && parts.length === 0) {
    return (
      <Card title="3. Host-side analysis">
        <p class="dim">
          Not available: the profile contains no op of an input pipeline. Only pipelines that record their stages appear here, such as
          tf.data.
        </p>
        {openTfData ? <TfData open={openTfData} /> : null}
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
        {openTfData ? <TfData open={openTfData} /> : null}
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

function TfData({ open }: { open: () => void }) {
  return (
    <p>
      The input comes through tf.data:{" "}
      <button type="button" class="link" onClick={open}>
        see which pipeline is slow, and which of its transformations is the bottleneck
      </button>
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
            <RichText html={tip} />
          </li>
        ))}
      </ul>
    </div>
  );
}

const page: PageModule = { ids: ["input_pipeline_analyzer"], Page: InputPage };
export default page;
