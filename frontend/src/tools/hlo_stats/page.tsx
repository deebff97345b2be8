// HLO stats: every XLA op with its time, rates and bottleneck, as charts and a filterable table.
import { useMemo } from "preact/hooks";
import { documentOf } from "../../api/client";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { COLUMNS, arranged } from "../../page/op_columns";
import { opRequest } from "../../page/op_request";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { TOTALS_KEY, usePerStep } from "../../page/compare/per_step";
import { fileNameOf, hostCount, toolPatch } from "../../page/page_state";
import { sourceLink } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { formatPercent, plural } from "../../base/format";
import { hiding } from "../../base/table/transform";
import { Chart } from "../../widgets/chart/chart";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Panel } from "../../widgets/status/panel";
import { PieList } from "../../widgets/chart/pie_list";
import { Table } from "../../widgets/table/table";
import { useLoad } from "../../widgets/status/use_load";
import "../../widgets/content/card.css";
import { CHART_WORDS, chartOf, chartsOf, chooseOps, opsOf, summaryOf, withBaseOps } from "./model";
import type { ChartId, Choice, Ops } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

/** Keys of the address that belong to this page. */
const OWN_KEYS = [TOTALS_KEY, "program", "category", "core", "bound", "op", "chart", "unattributed", "backend"];
/** Numbers that are shown with those of a base. */
const COMPARED = ["total_self_time", "occurrences", "avg_time"];

function HloPage(page: PageProps) {
  const { tool, host, hosts, client, state } = page;
  const all = useKey(state, "unattributed");
  const params = opRequest(page);
  const answer = useLoad(JSON.stringify([params, all]), async (signal) => opsOf(await documentOf(client, "hlo_stats", params, { signal })));
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Computing the HLO ops of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (answer.data.table.rowCount === 0) {
    const nameless = !answer.data.notes.on_cpu && all === null && tool.params.some(({ name }) => name === "unattributed");
    return (
      <Panel
        tone="empty"
        title="This profile contains no XLA ops"
        why="No ops of a TPU, a GPU or the CPU backend were recorded; GPU kernels may have been recorded without op names."
        todo={[
          "Profile while the program runs on the device: warm it up first, then capture several steps.",
          "Programs that XLA does not compile have no HLO ops: see the framework op stats.",
        ]}
      >
        {nameless ? (
          <button type="button" class="button" onClick={() => state.set({ unattributed: "true" }, "push")}>
            Count kernels without an op
          </button>
        ) : null}
      </Panel>
    );
  }
  return <Content page={page} ops={answer.data} />;
}

function Content({ page, ops }: { page: PageProps; ops: Ops }) {
  const { state, run, host } = page;
  const key = (name: string): string => useKey(state, name) ?? "";
  const choice: Choice = { program: key("program"), category: key("category"), core: key("core"), bound: key("bound"), text: key("op") };
  const wanted = key("chart");
  const named = JSON.stringify(choice);
  const shown = useMemo(() => chooseOps(ops, choice), [ops, named]);
  const charts = useMemo(() => chartsOf(ops), [ops]);
  const id = charts.find((one) => one === wanted) ?? "category";
  const summary = useMemo(() => summaryOf(shown), [shown]);
  const { base, found } = useComparedBase(page, { read: opsOf, params: opRequest(page) });
  const per = usePerStep(page, found);
  const { table: data, hidden } = useMemo(() => {
    const table = base.data === null ? shown.table : withBaseOps(ops, base.data, choice, found, per.steps);
    return arranged(table, COLUMNS.hlo_stats, COMPARED);
  }, [shown, base.data, found, per.steps]);
  const unattributed = ops.notes.unattributed_share;
  return (
    <div class="hlo">
      <div class="hlo-head">
        <SummaryBox title={summary.headline}>
          {summary.lines.map((line) => (
            <p key={line}>
              <RichText text={line} />
            </p>
          ))}
          {unattributed !== null && unattributed > 0 ? <p>{formatPercent(unattributed * 100)} of the GPU time has no op name.</p> : null}
        </SummaryBox>
        <ChartPart ops={shown} charts={charts} id={id} page={page} filtered={shown !== ops} />
      </div>
      {base.run === null ? null : (
        <div class="hlo-base">
          <BaseLine page={page} answer={base} per={per} />
        </div>
      )}
      <Controls ops={ops} choice={choice} set={(patch) => state.set(patch, "replace")} />
      <div class="hlo-table">
        <Table
          key={`${named}${base.data === null ? "" : `${base.run ?? ""}${per.steps === null ? "" : " per step"}`}`}
          data={data}
          title="HLO ops"
          fileName={fileNameOf("hlo_stats", run, host)}
          store={hiding({ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }, hidden)}
          rowTools={(row) => (
            <>
              <button
                type="button"
                class="button ghost"
                onClick={() =>
                  state.set(
                    toolPatch("graph_viewer", host, OWN_KEYS, { program_id: shown.program[row] ?? "", node_name: shown.name[row] ?? "" }),
                    "push",
                  )
                }
              >
                Graph
              </button>
              {shown.source[row] ? (
                <button
                  type="button"
                  class="button ghost"
                  data-tip={shown.source[row]}
                  onClick={() => state.set(sourceLink(host, OWN_KEYS, shown.source[row] ?? ""), "push")}
                >
                  Source
                </button>
              ) : null}
            </>
          )}
        />
      </div>
    </div>
  );
}

interface ChartProps {
  ops: Ops;
  charts: readonly ChartId[];
  id: ChartId;
  page: PageProps;
  filtered: boolean;
}

/** The filter that a click on a slice sets, by chart. */
const PICKS: Partial<Record<ChartId, string>> = { category: "category", op: "op", bound: "bound", remat_category: "category" };

function ChartPart({ ops, charts, id, page: { state, run, host }, filtered }: ChartProps) {
  const spec = useMemo(() => chartOf(ops, id), [ops, id]);
  const tools = (
    <label class="hlo-chart">
      <span class="off-screen">Chart</span>
      <select
        class="field"
        value={id}
        onChange={(e) => state.set({ chart: e.currentTarget.value === "category" ? null : e.currentTarget.value }, "replace")}
      >
        {charts.map((one) => (
          <option key={one} value={one}>
            {CHART_WORDS[one]}
          </option>
        ))}
      </select>
    </label>
  );
  const file = fileNameOf("hlo_stats", id, run, host);
  const title = `${CHART_WORDS[id]}${filtered ? ", ops that match" : ""}`;
  if (spec.kind !== "pie") return <Chart spec={spec} title={title} fileName={file} height={160} tools={tools} />;
  const pick = PICKS[id];
  const canPick = (place: number): boolean =>
    pick !== undefined && typeof spec.slices[place]?.colour === "number" && spec.slices[place].name !== "Not measured";
  return (
    <PieList
      key={id}
      spec={spec}
      title={title}
      fileName={file}
      height={150}
      tools={tools}
      canPick={canPick}
      onPick={(place) => pick && state.set({ [pick]: spec.slices[place]?.name ?? null }, "push")}
      pickHint="Click: show only these"
    />
  );
}

function Controls({ ops, choice, set }: { ops: Ops; choice: Choice; set: (patch: Record<string, string | null>) => void }) {
  const unique = (values: readonly string[]): string[] => [...new Set(values)].filter(Boolean);
  const select = (label: string, name: keyof Choice, values: readonly string[]) => {
    const options = unique(values);
    return options.length < 2 && !choice[name] ? null : (
      <label>
        {label}
        <select class="field" value={choice[name]} onChange={(e) => set({ [name]: e.currentTarget.value || null })}>
          <option value="">All</option>
          {options.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    );
  };
  const any = Object.values(choice).some(Boolean);
  return (
    <div class="hlo-controls" role="toolbar" aria-label="Filter ops">
      {select("Program", "program", ops.program)}
      {select("Category", "category", ops.category)}
      {select("Limit", "bound", ops.bound)}
      {select("Core", "core", ops.core)}
      <label>
        Op{" "}
        <input
          class="field"
          type="search"
          placeholder="name or text"
          value={choice.text}
          onInput={(e) => set({ op: e.currentTarget.value || null })}
        />
      </label>
      {any ? (
        <button
          type="button"
          class="button ghost"
          onClick={() => set({ program: null, category: null, core: null, bound: null, op: null })}
        >
          Clear
        </button>
      ) : null}
    </div>
  );
}

const page: PageModule = { ids: ["hlo_stats"], Page: HloPage, compares: true, findings: ["op_profile", "roofline_model"] };
export default page;
