// Time budget: what a step consists of, and what it could do without.
import type { ComponentProps } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { PageModule, PageProps } from "../../page/page";
import { BaseLine, useBase } from "../../page/compare/base_run";
import { Pending } from "../../page/failure/pending";
import { fileNameOf, hostCount, storeAt, toolPatch } from "../../page/page_state";
import { PART_KEY } from "../../page/page";
import { useKey } from "../../page/use_key";
import { plural } from "../../base/format";
import { baseText } from "../../base/steps/decomposition";
import { hiding } from "../../base/table/transform";
import { Callouts } from "../../widgets/status/callouts";
import { Card } from "../../widgets/content/card";
import { Chart } from "../../widgets/chart/chart";
import { FitTable } from "../../widgets/table/fit_table";
import { Panel } from "../../widgets/status/panel";
import { StepBar } from "../../widgets/chart/step_bar";
import { SummaryBox } from "../../widgets/content/summary_box";
import { useLoad } from "../../widgets/status/use_load";
import { documentOf } from "../../api/client";
import type { TimeBudget } from "../../base/documents";
import {
  averageOf,
  barOf,
  causesTable,
  chooseDevice,
  devicesChart,
  foldedParts,
  headline,
  repeatedColumns,
  partsTable,
  stepNote,
  stepsChart,
  windowOf,
  withBase,
} from "./model";
import { RichText } from "../../widgets/content/rich_text";
import "./page.css";

const TRACE = "trace_viewer@";
const OWN_KEYS = ["device", PART_KEY];
const EVERY = "";
/** Columns of parts that the chooser has. */
const ON_DEMAND = ["category", "between", "meaning"];
const NONE: readonly string[] = [];

function BudgetPage(page: PageProps) {
  const { run, tool, host, hosts, client } = page;
  const params = { run, tag: tool.id, host: host ?? undefined };
  const answer = useLoad(JSON.stringify(params), (signal) => documentOf(client, "time_budget", params, { signal }));
  if (answer.data === null)
    return <Pending answer={answer} page={page} what={`Adding up the time of ${plural(hostCount(tool, host, hosts), "host")}`} rows={16} />;
  if (answer.data.devices.length === 0) {
    return (
      <Panel
        tone="empty"
        title="No device to account for"
        why="The profile has neither ops of a TPU or GPU nor XLA ops of the CPU backend."
        todo={["Capture while the program runs on the device.", "Programs without XLA on a CPU have no device: see framework op stats."]}
      />
    );
  }
  return <Content page={page} budget={answer.data} />;
}

function Content({ page, budget }: { page: PageProps; budget: TimeBudget }) {
  const { run, host, state } = page;
  const device = chooseDevice(budget, useKey(state, "device"));
  const segments = useMemo(() => barOf(budget, device), [budget, device]);
  const part = useKey(state, PART_KEY);
  const steps = useMemo(() => stepsChart(budget, device), [budget, device]);
  const devices = useMemo(() => devicesChart(budget), [budget]);
  const base = useBase<TimeBudget>(page, { params: { run, tag: page.tool.id, host: host ?? undefined } });
  const wanted = device === null ? null : (budget.devices[device]?.label ?? null);
  const table = useMemo(() => withBase(partsTable(budget, device), base.data, wanted), [budget, device, base.data]);
  const causes = useMemo(() => causesTable(budget), [budget]);
  const file = fileNameOf("time_budget", run, host);
  const { tone, title, sentences } = headline(budget);
  const choose = (label: string): void => state.set({ device: label === EVERY ? null : label }, "push");
  const open = (place: number): void => {
    const where = budget.devices[device ?? 0]?.host ?? host;
    state.set(toolPatch(TRACE, where, OWN_KEYS, { window: windowOf(budget.steps, place, device ?? 0) }), "push");
  };
  const who =
    device === null ? (budget.devices.length > 1 ? "all devices (mean)" : budget.devices[0]?.label) : budget.devices[device]?.label;
  const label = `Of the ${baseText(averageOf(budget, device))}, ${who ?? ""}`;
  return (
    <div class="tool-page">
      <div class="tool-page-body time-budget">
        <SummaryBox tone={tone} title={title}>
          <p>
            <RichText text={sentences.join(" ")} />
          </p>
          {device === null && budget.decomposition.base === "step" ? null : <p class="dim">{label}</p>}
          <StepBar segments={segments} label={label} selected={part} onSelect={(id) => state.set({ [PART_KEY]: id }, "replace")} />
        </SummaryBox>
        <BaseLine page={page} answer={base} note={base.data === null ? "" : stepNote(budget, base.data, wanted)} />
        <Callouts messages={budget.notes.map((text) => ({ severity: "info", text }))} />
        {budget.devices.length > 1 ? (
          <p class="time-budget-choice">
            <label for="budget-device">Device</label>
            <select
              id="budget-device"
              class="field"
              value={device === null ? EVERY : budget.devices[device]?.label}
              onChange={(event) => choose(event.currentTarget.value)}
            >
              <option value={EVERY}>All devices (mean)</option>
              {budget.devices.map(({ label }) => (
                <option key={label} value={label}>
                  {label}
                </option>
              ))}
            </select>
          </p>
        ) : null}
        <Card
          title="Steps"
          collapsed={steps.x.labels.length > 1 ? undefined : true}
          help={
            "The parts of every step; they add up to its duration.\n" +
            "Overlapping work counts once: computation before communication before copies.\n" +
            "Source: trace."
          }
        >
          <Chart
            spec={steps}
            title=""
            fileName={`${file}_steps`}
            height={260}
            onPick={open}
            pickHint="Click: open the step in the trace viewer. Drag: zoom."
          />
        </Card>
        <Card title={`Average step of ${who ?? ""}`} help={"Mean over the steps, and what the device does between steps.\nSource: trace."}>
          <LargeRows
            key={base.data === null ? "" : (base.run ?? "")}
            data={table}
            most={420}
            title="Parts of the step"
            what="part"
            fileName={`${file}_parts`}
            state={state}
            table="t1"
            hidden={ON_DEMAND}
            wanted={part !== null}
          />
        </Card>
        {causes.rowCount > 0 ? (
          <Card
            title="Host code behind idle time"
            help={"What the main thread does while devices are idle, where one event covers at least 80% of the idle time.\nSource: trace."}
          >
            <LargeRows data={causes} most={220} title="Host code" what="place" fileName={`${file}_host_code`} state={state} table="t2" />
          </Card>
        ) : null}
        {budget.devices.length > 1 ? (
          <Card title="Devices" help={"The average step of every device.\nSource: trace."}>
            <Chart
              spec={devices}
              title=""
              fileName={`${file}_devices`}
              height={260}
              legend={steps.x.labels.length <= 1}
              onPick={(place) => choose(budget.devices[place]?.label ?? EVERY)}
              pickHint="Click: show the steps of this device."
            />
          </Card>
        ) : null}
      </div>
    </div>
  );
}

interface RowsProps extends Omit<ComponentProps<typeof FitTable>, "store"> {
  state: PageProps["state"];
  /** The table's name in the address. */
  table: string;
  /** What a row is. */
  what: string;
  /** Columns that the chooser has. */
  hidden?: readonly string[];
  /** The address asks for a part, which may be small. */
  wanted?: boolean;
}

/** A table of shares: rows below 1% open at a click. */
function LargeRows({ data, what, state, table, hidden = NONE, wanted = false, ...rest }: RowsProps) {
  const [all, showAll] = useState(wanted || state.get(`${table}.filter`) !== null);
  const { table: large, folded } = useMemo(() => foldedParts(data, what), [data]);
  const shown = all ? data : large;
  const store = useMemo(() => hiding(storeAt(state, table), [...hidden, ...repeatedColumns(shown)]), [state, table, hidden, shown]);
  return (
    <>
      <FitTable {...rest} key={String(all)} data={shown} store={store} />
      {folded ? (
        <p class="time-budget-rest">
          <button type="button" class="link" aria-expanded={all} onClick={() => showAll(!all)}>
            {all ? `Fold ${what}s below 1%` : folded}
          </button>
        </p>
      ) : null}
    </>
  );
}

const page: PageModule = { ids: ["time_budget"], Page: BudgetPage, compares: true, findings: [] };
export default page;
