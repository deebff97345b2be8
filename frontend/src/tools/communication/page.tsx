// Communication: collectives, their bandwidth and waits; late devices, clocks, launches.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { BaseLine, useBase, useComparison } from "../../page/compare/base_run";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt, toolPatch } from "../../page/page_state";
import { documentOf } from "../../api/client";
import { ALL_HOSTS } from "../../api/types";
import { plural } from "../../base/format";
import { addedColumns } from "../../base/table/difference";
import { hiding } from "../../base/table/transform";
import { Callouts } from "../../widgets/status/callouts";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { FitTable } from "../../widgets/table/fit_table";
import { Panel } from "../../widgets/status/panel";
import { SummaryBox } from "../../widgets/content/summary_box";
import { useLoad } from "../../widgets/status/use_load";
import type { Communication } from "../../base/documents";
import {
  clocksOf,
  headline,
  hiddenChart,
  hiddenColumns,
  SHOWN_WITH_BASE,
  stepsChart,
  windowOf,
  withBaseOps,
  withBaseRanks,
  withShortNames,
} from "./model";
import { RichText } from "../../widgets/content/rich_text";

const TRACE = "trace_viewer@";

function CommunicationPage(page: PageProps) {
  const { run, tool, host, hosts, client } = page;
  const params = { run, tag: tool.id, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "communication", params, { signal }));
  if (answer.data === null)
    return (
      <Pending answer={answer} page={page} what={`Matching the collectives of ${plural(hostCount(tool, host, hosts), "host")}`} rows={16} />
    );
  if (answer.data.ranks.rowCount === 0) {
    return (
      <Panel
        tone="empty"
        title="No device that could communicate"
        why="The profile has neither ops of a TPU or GPU nor XLA ops of the CPU backend."
        todo={["Capture while the program runs on the devices."]}
      />
    );
  }
  return <Content page={page} found={answer.data} />;
}

function Content({ page, found }: { page: PageProps; found: Communication }) {
  const { run, host, state } = page;
  const steps = useMemo(() => stepsChart(found.steps), [found]);
  const hidden = useMemo(() => hiddenChart(found.steps), [found]);
  const stores = useMemo(() => ["t1", "t2", "t3", "t4"].map((name) => storeAt(state, name)), [state]);
  const base = useBase<Communication>(page, { params: { run, tag: page.tool.id, host: host ?? undefined } });
  const comparison = useComparison(page);
  const ops = useMemo(() => withShortNames(base.data === null ? found.ops : withBaseOps(found.ops, base.data.ops)), [found, base.data]);
  const ranks = useMemo(() => (base.data === null ? found.ranks : withBaseRanks(found.ranks, base.data.ranks)), [found, base.data]);
  const opStore = useMemo(
    () => stores[0] && hiding(stores[0], [...hiddenColumns(found), ...addedColumns(ops, SHOWN_WITH_BASE)]),
    [stores, found, ops],
  );
  const rankStore = useMemo(() => stores[1] && hiding(stores[1], addedColumns(ranks, SHOWN_WITH_BASE)), [stores, ranks]);
  const key = base.data === null ? "" : (base.run ?? "");
  const file = fileNameOf("communication", run, host);
  const { tone, title, sentences } = headline(found);
  const talks = ops.rowCount > 0;
  const open = (row: number): void => {
    const target = windowOf(found, row);
    if (target) state.set(toolPatch(TRACE, target.host || host, [], { window: target.window }), "push");
  };
  const clocks = clocksOf(found);
  const alignedHosts = page.tool.host_names.filter((name) => name !== ALL_HOSTS).join(",");
  const align =
    clocks === "" ? null : (
      <button type="button" class="button" onClick={() => state.set(toolPatch(TRACE, null, [], { clocks, hosts: alignedHosts }), "push")}>
        Open the trace viewer with corrected clocks
      </button>
    );
  return (
    <div class="tool-page">
      <div class="tool-page-body communication">
        <SummaryBox tone={tone} title={title}>
          <p>
            <RichText text={sentences.join(" ")} />
          </p>
        </SummaryBox>
        <BaseLine
          page={page}
          answer={base}
          steps={comparison && { base: comparison.base.steps, run: comparison.run.steps }}
          note="Times of devices are per step."
        />
        <Callouts messages={found.notes.map((text) => ({ severity: "info", text }))} />
        {talks ? (
          <Card
            title="Collectives"
            help={
              "One row per collective op, most exposed time without waits for late devices first, as findings rank them.\n" +
              "Exposed: the device computes nothing meanwhile. Stall: the TensorCore waits in the done op.\n" +
              "Double click or Enter: open the longest run in the trace viewer.\n" +
              "Source: trace, HLO."
            }
          >
            <FitTable key={key} data={ops} most={420} fileName={`${file}_ops`} store={opStore} onOpen={open} />
          </Card>
        ) : null}
        {found.steps.some(({ communication_ps }) => communication_ps > 0) ? (
          <div class="columns">
            <Card
              title="Communication by step"
              help={"Time of collectives, summed over devices: hidden by computation on the same device, and exposed.\nSource: trace."}
            >
              <Chart spec={steps} title="" fileName={`${file}_steps`} height={220} pickHint="Drag: zoom." />
            </Card>
            <Card title="Hidden share" help={"Share of the time of collectives in which the device computes.\nSource: trace."}>
              <Chart spec={hidden} title="" fileName={`${file}_hidden`} height={220} pickHint="Drag: zoom." />
            </Card>
          </div>
        ) : null}
        <Card
          title="Devices"
          help={
            "Own work, communication and waits per step.\n" +
            "A device is late if its own work is at least 1.5 times the median and the others spend at least twice its time in collectives.\n" +
            "Source: trace."
          }
        >
          <FitTable key={key} data={ranks} most={420} fileName={`${file}_devices`} store={rankStore} />
        </Card>
        {found.launches.rowCount > 0 ? (
          <Card title="Launches" help={"Kernels and the calls that launch them, by correlation id.\nSource: trace."}>
            <FitTable data={found.launches} most={320} fileName={`${file}_launches`} store={stores[2]} />
          </Card>
        ) : null}
        {found.clocks.rowCount > 0 ? (
          <Card
            title="Clocks"
            tools={align}
            help={
              "Hosts: from collectives, which end together on all of them. Devices: work cannot begin before it is launched.\n" +
              "Times on this page are corrected between hosts; those of the trace viewer are as recorded.\n" +
              "Source: trace."
            }
            collapsed={Object.keys(found.host_offsets_ps).length === 0}
          >
            <FitTable data={found.clocks} most={320} fileName={`${file}_clocks`} store={stores[3]} />
          </Card>
        ) : null}
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["communication"], Page: CommunicationPage, compares: true, findings: [] };
export default page;
