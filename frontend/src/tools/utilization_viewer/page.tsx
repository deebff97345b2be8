// Utilization viewer: the units of a TPU against their peaks, for each sample of its counters.
import { useMemo } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { documentOf } from "../../api/client";
import { plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import { Card } from "../../widgets/content/card";
import { Meter } from "../../widgets/content/meter";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Picker } from "../../widgets/overlay/picker";
import { Panel } from "../../widgets/status/panel";
import { FitTable } from "../../widgets/table/fit_table";
import { useLoad } from "../../widgets/status/use_load";
import { groupsOf, headline, sampleNote, samplesOf } from "./model";
import type { Bar, Group } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

const NO_PEAK = "No cycles were counted, so there is no peak to compare with.";

function UtilizationPage(page: PageProps) {
  const { run, tool, host, hosts, client } = page;
  const params = { run, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "utilization_viewer", params, { signal }));
  if (answer.data === null)
    return (
      <Pending answer={answer} page={page} what={`Reading the counters of ${plural(hostCount(tool, host, hosts), "host")}`} rows={16} />
    );
  if (answer.data.units.rowCount === 0) {
    return (
      <Panel
        tone="empty"
        title="No counters that can be compared with a peak"
        why="The profile has no values of performance counters of a TPU v6e or v7x; units and peaks of other chips are not known."
        todo={[
          "Perf Counters lists the values that were recorded.",
          "Capture with performance counters: see Capture in the documentation.",
        ]}
      />
    );
  }
  return <Content page={page} table={answer.data.units} />;
}

function Content({ page, table }: { page: PageProps; table: TableData }) {
  const { state, run, host } = page;
  const samples = useMemo(() => samplesOf(table), [table]);
  const chosen = useKey(state, "sample");
  const sample = samples.find(({ key }) => key === chosen) ?? samples[0];
  const store = useMemo(() => storeAt(state, "t1"), [state]);
  const choices = useMemo(() => samples.map((one) => ({ id: one.key, note: sampleNote(table, one) })), [table, samples]);
  const groups = useMemo(() => (sample ? groupsOf(table, sample) : []), [table, sample]);
  if (!sample) return null;
  const { title, sentences } = headline(table, sample);
  return (
    <div class="tool-page">
      <div class="tool-page-body utilization">
        <SummaryBox title={title}>
          {sentences.map((text) => (
            <p key={text}>
              <RichText text={text} />
            </p>
          ))}
        </SummaryBox>
        <p class="utilization-choice">
          <Picker
            label="Sample"
            noun="sample"
            choices={choices}
            value={sample.key}
            onChoose={(key) => state.set({ sample: key }, "push")}
          />
          <span class="dim">{plural(samples.length, "sample")}</span>
        </p>
        {groups.map((group) => (
          <UnitCard key={group.title} group={group} />
        ))}
        <Card
          title="All samples"
          help={"One row per sample, core and unit; achieved and peak are in the unit of the row.\nSource: performance counters."}
        >
          <FitTable data={table} most={480} title="All samples" fileName={fileNameOf("utilization", run, host)} store={store} />
        </Card>
      </div>
    </div>
  );
}

function UnitCard({ group }: { group: Group }) {
  const { title, help, columns, units, more } = group;
  return (
    <Card title={title} help={help}>
      <div class="utilization-scroll" tabIndex={0} role="region" aria-label={`${title}, share of the peak`}>
        <table class="utilization-bars">
          <thead>
            <tr>
              <th scope="col">Unit</th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                  <span class="dim"> (% of peak)</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {units.map(({ name, bars }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {bars.map((bar, i) => (
                  <td key={columns[i]}>
                    <UnitBar bar={bar} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 ? <p class="dim">{plural(more, "more core")} in the table below.</p> : null}
    </Card>
  );
}

function UnitBar({ bar }: { bar: Bar | null }) {
  if (bar === null) return <Meter value={null} reason="This core has no such unit." />;
  return (
    <span class="utilization-bar">
      <Meter value={bar.share} reason={NO_PEAK} />
      {bar.share === null ? null : <span class="dim utilization-amount">{bar.amount}</span>}
    </span>
  );
}

const page: PageModule = { ids: ["utilization_viewer"], Page: UtilizationPage };
export default page;
