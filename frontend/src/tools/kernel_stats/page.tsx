// Kernel stats: GPU kernel time by launch, by kernel or by op.
import { useMemo } from "preact/hooks";
import { documentOf } from "../../api/client";
import { BaseLine, useComparedBase } from "../../page/compare/base_run";
import { COLUMNS, arranged } from "../../page/op_columns";
import { opRequest } from "../../page/op_request";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { TOTALS_KEY, usePerStep } from "../../page/compare/per_step";
import { fileNameOf, hostCount } from "../../page/page_state";
import { sourceOfOp } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { topSlices } from "../../base/chart/slices";
import { Panel } from "../../widgets/status/panel";
import { SummaryBox } from "../../widgets/content/summary_box";
import { PieList } from "../../widgets/chart/pie_list";
import { Table } from "../../widgets/table/table";
import { useLoad } from "../../widgets/status/use_load";
import "../../widgets/content/card.css";
import { hiding } from "../../base/table/transform";
import {
  COMPARED,
  GROUPS,
  NO_OP,
  amounts,
  filterKernels,
  groupKernels,
  kernelsOf,
  sameEverywhere,
  summaryOf,
  withBaseKernels,
} from "./model";
import type { Group, Kernels } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

/** Keys of the address that belong to this page. */
const OWN_KEYS = ["kernel", "op", "by", "unattributed", "backend", TOTALS_KEY];
const GROUP_LABELS: Record<Group, string> = { launch: "Launches", kernel: "Kernels", op: "Ops" };

function KernelPage(page: PageProps) {
  const { tool, host, hosts, client } = page;
  const params = opRequest(page);
  const answer = useLoad(JSON.stringify(params), async (signal) => kernelsOf(await documentOf(client, "kernel_stats", params, { signal })));
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Reading the kernels of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (answer.data.table.rowCount === 0) {
    return (
      <Panel
        tone="empty"
        title="There is no GPU data to display"
        why="No kernel ran while the profile was captured."
        todo={[
          "Capture while the program runs on the GPU; the first seconds are often compilation.",
          "TPUs and CPUs have no kernels: see the op profile.",
        ]}
      />
    );
  }
  return <Content page={page} kernels={answer.data} />;
}

function Content({ page, kernels }: { page: PageProps; kernels: Kernels }) {
  const { state, run, host } = page;
  const kernel = useKey(state, "kernel") ?? "";
  const op = useKey(state, "op") ?? "";
  const by = useKey(state, "by");
  const group = GROUPS.find((one) => one === by) ?? GROUPS[0];
  const shown = useMemo(() => filterKernels(kernels, kernel, op), [kernels, kernel, op]);
  const { base, found } = useComparedBase(page, { read: kernelsOf, params: opRequest(page) });
  const per = usePerStep(page, found);
  const alone = useMemo(() => groupKernels(shown, group), [shown, group]);
  const columns = group === "launch" ? COLUMNS.kernel_launches : COLUMNS.kernel_groups;
  const { table, hidden } = useMemo(() => {
    const joined =
      base.data === null ? alone : withBaseKernels(alone, groupKernels(filterKernels(base.data, kernel, op), group), group, per.steps);
    const shown = arranged(joined, columns, COMPARED);
    // Of all kernels, so that a filter does not change the columns.
    return { table: shown.table, hidden: [...new Set([...shown.hidden, ...sameEverywhere(groupKernels(kernels, group))])] };
  }, [alone, base.data, per.steps]);
  const slices = useMemo(() => topSlices(amounts(shown, group)), [shown, group]);
  const shortSlices = useMemo(
    () => (group === "op" ? slices : slices.map((slice) => ({ ...slice, name: kernels.shortName(slice.name), full: slice.name }))),
    [slices, group],
  );
  const summary = useMemo(() => summaryOf(shown), [shown]);
  const key = group === "op" ? "op" : "kernel";
  const pick = (place: number): void => {
    const name = slices[place]?.name;
    if (name !== undefined) state.set({ [key]: name === NO_OP ? "-" : name }, "push");
  };
  const what = group === "op" ? "op" : "kernel";
  return (
    <div class="kst">
      <div class="kst-head">
        <SummaryBox title={summary.headline}>
          {summary.lines.map((line) => (
            <p key={line}>
              <RichText text={line} />
            </p>
          ))}
        </SummaryBox>
        <PieList
          title={`Time by ${what}`}
          fileName={fileNameOf("kernel_stats", what, run, host)}
          spec={{ kind: "pie", name: "Total duration", unit: "us", slices: shortSlices }}
          onPick={pick}
          canPick={(place) => typeof slices[place]?.colour === "number"}
          pickHint={`Click: show only this ${what}`}
        />
      </div>
      {base.run === null ? null : (
        <div class="kst-base">
          <BaseLine page={page} answer={base} per={per} />
        </div>
      )}
      <div class="kst-controls" role="toolbar" aria-label="Filter kernels">
        <span class="segmented" role="group" aria-label="One row per">
          {GROUPS.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={group === one}
              onClick={() => state.set({ by: one === GROUPS[0] ? null : one, sort: null, filter: null, hide: null }, "push")}
            >
              {GROUP_LABELS[one]}
            </button>
          ))}
        </span>
        <label>
          Kernel{" "}
          <input
            class="field"
            type="search"
            value={kernel}
            placeholder="contains"
            onInput={(e) => state.set({ kernel: e.currentTarget.value || null }, "replace")}
          />
        </label>
        <label>
          Op{" "}
          <input
            class="field"
            type="search"
            value={op}
            placeholder="- for none"
            onInput={(e) => state.set({ op: e.currentTarget.value || null }, "replace")}
          />
        </label>
      </div>
      <div class="kst-table">
        <Table
          key={`${group} ${kernel} ${op}${base.data === null ? "" : ` ${base.run ?? ""}${per.steps === null ? "" : " per step"}`}`}
          data={table}
          title={GROUP_LABELS[group]}
          fileName={fileNameOf("kernel_stats", run, host)}
          store={hiding({ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }, hidden)}
          rowTools={(row) => {
            const name = table.columns.find(({ id }) => id === "op_name")?.values[row];
            return typeof name !== "string" || name === NO_OP ? null : (
              <button type="button" class="button ghost" onClick={() => state.set(sourceOfOp(host, OWN_KEYS, name), "push")}>
                Source
              </button>
            );
          }}
        />
      </div>
    </div>
  );
}

const page: PageModule = { ids: ["kernel_stats"], Page: KernelPage, compares: true, findings: [] };
export default page;
