// Roofline model: the limits of the program, its steps and its ops, and their distance from the roofs.
import { useMemo, useRef, useState } from "preact/hooks";
import { documentOf } from "../../api/client";
import { COLUMNS, arranged } from "../../page/op_columns";
import { opRequest } from "../../page/op_request";
import { useLimit } from "../../page/limit";
import type { PageModule, PageProps } from "../../page/page";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount } from "../../page/page_state";
import { sourceOfOp } from "../../page/source_link";
import { useKey } from "../../page/use_key";
import { formatQuantity, plural } from "../../base/format";
import { hiding, pickRows } from "../../base/table/transform";
import { Chart } from "../../widgets/chart/chart";
import { SummaryBox } from "../../widgets/content/summary_box";
import { Callouts } from "../../widgets/status/callouts";
import { Figures } from "../../widgets/content/figures";
import { Panel } from "../../widgets/status/panel";
import { Table } from "../../widgets/table/table";
import { useLoad } from "../../widgets/status/use_load";
import "../../widgets/content/card.css";
import { rooflineChart } from "./chart";
import { choose, isStep, rooflineOf, remarks, summaryOf } from "./model";
import type { Choice, Roofline } from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

/** Query keys of this page. */
const OWN_KEYS = ["view", "infeed", "step", "category", "bound", "op"];

function RooflinePage(page: PageProps) {
  const { tool, host, hosts, client } = page;
  const params = opRequest(page);
  const answer = useLoad(JSON.stringify(params), async (signal) =>
    rooflineOf(await documentOf(client, "roofline_model", params, { signal })),
  );
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Computing the roofline of ${plural(hostCount(tool, host, hosts), "host")}`} />;
  if (answer.data.points.length === 0) {
    return (
      <Panel
        tone="empty"
        title="There is no data for a roofline"
        why="This profile contains no ops of a TPU, a GPU or the CPU backend."
        todo={["Capture while the program runs on the device.", "Choose another host on the left: this one may have no devices."]}
      />
    );
  }
  return <Content page={page} roofline={answer.data} />;
}

function Content({ page, roofline }: { page: PageProps; roofline: Roofline }) {
  const { state, run, host } = page;
  const table = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<{ row: number } | null>(null);
  const key = (name: string): string => useKey(state, name) ?? "";
  const choice: Choice = {
    view: key("view") === "program" ? "program" : "ops",
    transfers: key("infeed") !== "no",
    step: key("step"),
    category: key("category"),
    bound: key("bound"),
    text: key("op"),
  };
  const points = useMemo(() => choose(roofline.points, choice), [roofline, JSON.stringify(choice)]);
  const columns = choice.view === "ops" ? COLUMNS.roofline_ops : COLUMNS.roofline_program;
  const { table: data, hidden } = useMemo(() => {
    const rows = points.map(({ row }) => row);
    return arranged(pickRows(roofline.table, rows), columns);
  }, [points, columns]);
  const spec = useMemo(() => rooflineChart(points, roofline, choice, () => data), [points, data]);
  const summary = useMemo(() => summaryOf(roofline, choice.transfers), [roofline, choice.transfers]);
  const limit = useLimit(page);
  const left = remarks(points);
  const go = (place: number): void => {
    const row = points.findIndex((point) => point.row === place);
    if (row < 0) return;
    setShown({ row });
    table.current?.scrollIntoView({ block: "nearest" });
  };
  return (
    <div class="rfl">
      <div class="rfl-head">
        <SummaryBox tone={summary.tone} title={summary.headline}>
          {summary.lines.map((line) => (
            <p key={line}>
              <RichText text={line} />
            </p>
          ))}
          {limit === null || roofline.document.peak_gflops_per_s === null ? null : <p>{limit.sentence}</p>}
        </SummaryBox>
        <Callouts messages={roofline.document.messages} />
        <Controls roofline={roofline} choice={choice} set={(patch) => state.set(patch, "replace")} />
        <div class="rfl-split">
          <div>
            <Chart
              spec={spec}
              title=""
              fileName={fileNameOf("roofline", run, host)}
              height={250}
              onPick={go}
              pickHint="Click or Enter: show in the table"
              onTable={() => table.current?.querySelector<HTMLElement>('[role="grid"]')?.focus()}
            />
            {spec.series.length === 0 ? <p class="dim">No points: no row that matches the filters has both FLOPs and bytes.</p> : null}
            {left ? <p class="rfl-left dim">{left}</p> : null}
          </div>
          <Device roofline={roofline} />
        </div>
      </div>
      <div class="rfl-table" ref={table}>
        <Table
          key={JSON.stringify(choice)}
          data={data}
          title={choice.view === "ops" ? "Ops" : "Program and steps"}
          fileName={fileNameOf("roofline", choice.view, run, host)}
          store={hiding({ get: (name) => state.get(name), set: (patch) => state.set(patch, "replace") }, hidden)}
          show={shown}
          rowTools={(row) => {
            const name = data.columns.find(({ id }) => id === "operation")?.values[row];
            return choice.view !== "ops" || typeof name !== "string" || name === "" ? null : (
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

interface ControlsProps {
  roofline: Roofline;
  choice: Choice;
  set: (patch: Record<string, string | null>) => void;
}

function Controls({ roofline, choice, set }: ControlsProps) {
  const mine = useMemo(() => roofline.points.filter(({ transfers }) => transfers === choice.transfers), [roofline, choice.transfers]);
  const unique = (values: readonly string[]): string[] => [...new Set(values)];
  const ops = mine.filter(({ program }) => !program);
  const steps = mine.filter(({ program }) => program);
  const view = (wanted: Choice["view"]): void => set({ view: wanted === "ops" ? null : wanted, sort: null, filter: null, hide: null });
  const select = (label: string, name: string, value: string, options: readonly (readonly [string, string])[]) => (
    <label>
      {label}
      <select class="field" value={value} onChange={(e) => set({ [name]: e.currentTarget.value || null })}>
        <option value="">All</option>
        {options.map(([one, summary]) => (
          <option key={one} value={one}>
            {summary}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <div class="rfl-controls" role="toolbar" aria-label="Filter points">
      <span class="segmented" role="group" aria-label="Level">
        <button type="button" aria-pressed={choice.view === "ops"} onClick={() => view("ops")}>
          Ops
        </button>
        <button type="button" aria-pressed={choice.view === "program"} onClick={() => view("program")}>
          Program and steps
        </button>
      </span>
      {choice.view === "program" ? (
        select("Step", "step", choice.step, [
          ...unique(steps.filter((one) => !isStep(one)).map(({ step }) => step)).map((one) => [one, one] as const),
          ...(steps.some(isStep) ? [["steps", "Each step"] as const] : []),
          ...unique(steps.filter(isStep).map(({ step }) => step)).map((one) => [one, `Step ${one}`] as const),
        ])
      ) : (
        <>
          {select(
            "Category",
            "category",
            choice.category,
            unique(ops.map(({ category }) => category)).map((one) => [one, one]),
          )}
          {select(
            "Limit",
            "bound",
            choice.bound,
            unique(ops.map(({ bound }) => bound)).map((one) => [one, one]),
          )}
          <label>
            Op{" "}
            <input
              class="field"
              type="search"
              placeholder="contains"
              value={choice.text}
              onInput={(e) => set({ op: e.currentTarget.value || null })}
            />
          </label>
        </>
      )}
      {roofline.hasTransfers ? (
        <label data-tip="Count the ops that transfer data from and to the host">
          <input type="checkbox" checked={choice.transfers} onChange={(e) => set({ infeed: e.currentTarget.checked ? null : "no" })} />
          Infeed and outfeed
        </label>
      ) : null}
    </div>
  );
}

function Device({ roofline }: { roofline: Roofline }) {
  const { device_type: device, peak_gflops_per_s: peak, memories } = roofline.document;
  const unknown = "The profile does not contain the peaks of this device.";
  const flags = (
    [
      ["megacore", "Megacore"],
      ["has_cmem", "CMEM"],
      ["has_merged_vmem", "Merged VMEM"],
    ] as const
  ).flatMap(([id, name]) => {
    const value = roofline.document[id];
    return value === null || peak === null ? [] : [{ name, value: value ? "yes" : "no" }];
  });
  return (
    <aside class="rfl-device" aria-label="Device information">
      <h3>Device information</h3>
      <Figures
        items={[
          { name: "Type", value: device || null, reason: "The profile does not name a device." },
          {
            name: "Peak compute",
            value: peak === null ? null : formatQuantity(peak, "GFLOP/s"),
            reason: unknown,
            help: "Per core, for the fastest data type; from the profile or a table of known devices.",
          },
          ...flags,
        ]}
      />
      {memories.length ? (
        <table>
          <thead>
            <tr>
              <th scope="col">Memory</th>
              <th scope="col">Peak</th>
              <th scope="col" data-tip="Operational intensity above which compute is the limit">
                Ridge (FLOP/B)
              </th>
            </tr>
          </thead>
          <tbody>
            {memories.map((roof) => (
              <tr key={roof.id}>
                <td>{roof.name}</td>
                <td>{formatQuantity(roof.peak_gib_per_s, "GiB/s")}</td>
                <td>{formatQuantity(roof.ridge_flops_per_byte, null)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p class="dim">{unknown}</p>
      )}
    </aside>
  );
}

const page: PageModule = { ids: ["roofline_model"], Page: RooflinePage, findings: ["hlo_stats", "op_profile"] };
export default page;
