// Megascale stats: collectives over the data-centre network, what they cost and how much time they had.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt, toolPatch } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { documentOf } from "../../api/client";
import { ALL_HOSTS } from "../../api/types";
import { textsOf } from "../../api/payload/fields";
import { formatTime, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Picker } from "../../widgets/overlay/picker";
import { Panel } from "../../widgets/status/panel";
import { FitTable } from "../../widgets/table/fit_table";
import { useLoad } from "../../widgets/status/use_load";
import { headline, longest, stallChart } from "./model";
import { RunTimeline } from "./timeline";
import { runKey, runsOf } from "./timeline_model";
import type { Run } from "./timeline_model";
import { RichText } from "../../widgets/content/rich_text";

const TRACE = "trace_viewer@";
function MegascalePage(page: PageProps) {
  const { run, tool, host, hosts, client } = page;
  const params = { run, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "megascale_stats", params, { signal }));
  if (answer.data === null)
    return (
      <Pending
        answer={answer}
        page={page}
        what={`Matching the sends and receives of ${plural(hostCount(tool, host, hosts), "host")}`}
        rows={12}
      />
    );
  if (answer.data.collectives.rowCount === 0) return <WithoutTable page={page} />;
  return <Content page={page} table={answer.data.collectives} />;
}

/** Without programs there are no rows, yet the trace may have ops and copies. */
function WithoutTable({ page }: { page: PageProps }) {
  return (
    <div class="tool-page">
      <div class="tool-page-body">
        <Panel
          tone="empty"
          title="No complete collective between slices"
          why="A collective is a send and a recv-done op of one rendezvous on the first TPU, in a module whose HLO program is in the profile. There is none."
          todo={["Capture whole steps.", "Profile with HLO programs: rendezvous and transfer types are read from them."]}
        />
        <p>
          <PerfettoLink page={page} />
        </p>
        <TimelineCard page={page} worst="" />
      </div>
    </div>
  );
}

function Content({ page, table }: { page: PageProps; table: TableData }) {
  const { run, host, state } = page;
  const store = useMemo(() => storeAt(state, "t1"), [state]);
  const chart = useMemo(() => stallChart(table), [table]);
  const { tone, title, sentences } = headline(table);
  const file = fileNameOf("megascale", run, host);
  const worst = textsOf(table, "rendezvous", "the table of collectives")[longest(table)] ?? "";
  return (
    <div class="tool-page">
      <div class="tool-page-body">
        <SummaryBox tone={tone} title={title}>
          <p>
            <RichText text={sentences.join(" ")} />
          </p>
        </SummaryBox>
        <Card
          title="Total stall"
          help={"Time in which the first TPU sends, receives or waits for them, all runs together.\nSource: trace."}
        >
          <Chart spec={chart} title="" fileName={`${file}_stall`} height={220} pickHint="" />
        </Card>
        <TimelineCard page={page} worst={worst} />
        <Card
          title="Collectives"
          help={
            "One row per rendezvous; times are averages over its runs, in whole µs.\n" +
            "Slack: what the network may take without holding the TPU up.\n" +
            "Source: trace, HLO."
          }
          tools={
            <>
              <PerfettoLink page={page} />
              <button type="button" class="button" onClick={() => state.set(toolPatch(TRACE, host, []), "push")}>
                Open the trace viewer
              </button>
            </>
          }
        >
          <FitTable data={table} most={480} title="Collectives" fileName={file} store={store} />
        </Card>
      </div>
    </div>
  );
}

/** A file with the collectives of one host, of the first unless one is chosen, for a viewer of one's own. */
function PerfettoLink({ page: { run, tool, host, client } }: { page: PageProps }) {
  const names = tool.host_names.filter((name) => name !== ALL_HOSTS);
  const of = host !== null && names.includes(host) ? host : names[0];
  if (of === undefined) return null;
  const href = client.url("page", { run, tag: tool.id, host: of, perfetto: true, recv_done: true });
  const hint =
    "Ops of the TPUs, copies, network and what hands over to what, as a compressed Perfetto trace. The timeline above shows the same flows.";
  return (
    <a class="button" href={href} download title={hint}>
      Perfetto trace{names.length > 1 ? ` of ${of}` : ""}
    </a>
  );
}

/** One run of a collective, of the one with the longest stall unless another is chosen. */
function TimelineCard({ page, worst }: { page: PageProps; worst: string }) {
  const { run, host, client, state } = page;
  const params = { run, host: host ?? undefined, timeline: "true" };
  const answer = useLoad(JSON.stringify(params), async (signal) => {
    const { timeline } = await documentOf(client, "megascale_stats", params, { signal });
    return timeline === null ? [] : runsOf(timeline);
  });
  const chosen = useKey(state, "collective");
  const runs: readonly Run[] = answer.data ?? [];
  const shown = runs.find((one) => runKey(one) === chosen) ?? runs.find(({ rendezvous }) => rendezvous === worst) ?? runs[0];
  const choices = useMemo(() => runs.map((one) => ({ id: runKey(one), note: plural(one.parts.length, "part") })), [runs]);
  if (answer.data !== null && !shown) return null;
  return (
    <Card
      title="Timeline of a run"
      help={
        "From the send to the recv-done: ops of the TPU, copies from device to host and back, and curves for what hands over to what.\n" +
        "Grey: the TPU waits for the network. Copies are there if the runtime recorded them.\n" +
        "Source: trace."
      }
      tools={
        shown ? (
          <Picker label="Run" noun="run" choices={choices} value={runKey(shown)} onChoose={(id) => state.set({ collective: id }, "push")} />
        ) : null
      }
    >
      {shown ? (
        <RunTimeline run={shown} />
      ) : (
        <p class="dim">{answer.error ? "The timeline could not be read." : "Reading the timeline…"}</p>
      )}
      {shown ? <PartList run={shown} /> : null}
    </Card>
  );
}

function PartList({ run }: { run: Run }) {
  const zero = run.parts[0]?.beginPs ?? 0;
  return (
    <details>
      <summary>{plural(run.parts.length, "part")} as a list</summary>
      <ol>
        {run.parts.map(({ kind, beginPs, endPs }) => (
          <li key={`${kind} ${beginPs}`}>
            {kind}: at {formatTime(beginPs - zero)}, {formatTime(endPs - beginPs)}
          </li>
        ))}
      </ol>
    </details>
  );
}

const page: PageModule = { ids: ["megascale_stats"], Page: MegascalePage };
export default page;
