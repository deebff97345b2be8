// Megascale stats: collectives over the data-centre network, what they cost and how much time they had.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/pending";
import { fileNameOf, hostCount, storeAt, toolPatch } from "../../page/page_state";
import { asList, asTable } from "../../api/payload/fields";
import { plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { hiding } from "../../base/table/transform";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Panel } from "../../widgets/status/panel";
import { FitTable } from "../../widgets/table/fit_table";
import { useLoad } from "../../widgets/status/use_load";
import { headline, shownTable, stallChart } from "./model";

const TRACE = "trace_viewer@";
/** Columns that say nothing: XProf has them. */
const HIDDEN = ["host_stall", "recv_stall"];

function MegascalePage(page: PageProps) {
  const { run, tool, host, hosts, client } = page;
  const params = { run, tag: tool.id, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), async (signal) => asTable(asList(await client.json<unknown>("data", params, { signal }), "the tables")[0], "the table of collectives"));
  if (answer.data === null) return <Pending answer={answer} page={page} what={`Matching the sends and receives of ${plural(hostCount(tool, host, hosts), "host")}`} rows={12} />;
  if (answer.data.rowCount === 0) {
    return (
      <Panel
        tone="empty"
        title="No complete collective between slices"
        why="A collective is a send and a recv-done op of one rendezvous on the first TPU, in a module whose HLO program is in the profile. There is none."
        todo={["Capture whole steps.", "Profile with HLO programs: rendezvous and transfer types are read from them."]}
      />
    );
  }
  return <Content page={page} table={answer.data} />;
}

function Content({ page, table }: { page: PageProps; table: TableData }) {
  const { run, host, state } = page;
  const store = useMemo(() => hiding(storeAt(state, "t1"), HIDDEN), [state]);
  const shown = useMemo(() => shownTable(table), [table]);
  const chart = useMemo(() => stallChart(table), [table]);
  const { tone, title, sentences } = headline(table);
  const file = fileNameOf("megascale", run, host);
  return (
    <div class="tool-page">
      <div class="tool-page-body">
        <SummaryBox tone={tone} title={title}>
          <p>{sentences.join(" ")}</p>
        </SummaryBox>
        <Card title="Total stall" help={"Time in which the first TPU sends, receives or waits for them, all runs together.\nSource: trace."}>
          <Chart spec={chart} title="" fileName={`${file}_stall`} height={220} pickHint="" />
        </Card>
        <Card
          title="Collectives"
          help={"One row per rendezvous; times are averages over its runs, in whole µs.\nSlack: what the network may take without holding the TPU up.\nSource: trace, HLO."}
          tools={<button type="button" class="button" onClick={() => state.set(toolPatch(TRACE, host, []), "push")}>Open the trace viewer</button>}
        >
          <FitTable data={shown} most={480} title="Collectives" fileName={file} store={store} />
        </Card>
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["megascale_stats"], Page: MegascalePage };
export default page;
