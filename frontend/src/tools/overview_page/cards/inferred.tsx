// Steps of a profile without step markers: inferred with their evidence, or from an event that the user names.
import { useMemo, useState } from "preact/hooks";
import type { StackChart } from "../../../base/chart/chart_spec";
import { formatPercent, formatQuantity, plural } from "../../../base/format";
import { CATEGORIES } from "../../../base/steps/step_category";
import { describeTime } from "../../../base/steps/steps";
import type { InferredTimes } from "../../../base/documents";
import { statisticsFrom } from "../../../base/steps/reading";
import type { TableData } from "../../../base/table/table_data";
import { Card } from "../../../widgets/content/card";
import { Chart } from "../../../widgets/chart/chart";
import type { PartProps } from "../part";

function values(table: TableData, id: string): (number | null)[] {
  return (table.columns.find((column) => column.id === id)?.values ?? []).map((value) => (typeof value === "number" ? value : null));
}

/** Busy and idle time of the device if known, else the step time. */
export function inferredChart(inferred: InferredTimes): StackChart {
  const { table } = inferred;
  const labels = (table.columns.find(({ id }) => id === "stepnum")?.values ?? []).map(String);
  const busy = values(table, "deviceBusyMs");
  const known = busy.some((value) => value !== null);
  const series = known
    ? [
        { name: "Device busy", colour: CATEGORIES.device_compute.colour, values: busy },
        { name: "Device idle", colour: CATEGORIES.idle.colour, values: values(table, "deviceIdleMs") },
      ]
    : [{ name: "Step time", colour: 4, values: values(table, "stepTimeMs") }];
  return {
    kind: "stack",
    x: { name: "Inferred step", unit: null, labels },
    y: { name: "Time", unit: "ms" },
    series,
    cutsOutliers: true,
    ...(known ? { total: "Step time" } : {}),
  };
}

const WHY: Readonly<Record<string, string>> = {
  "device program": "a program that the device runs repeatedly",
  "device kernel": "a kernel that the device runs repeatedly",
  "host event": "a host event that repeats regularly",
};

export function InferredCard({ page, overview, fileName }: PartProps) {
  const { inferred, steps } = overview;
  const named = page.state.get("step_event");
  if (!named && ["device", "host", "dispatch"].includes(steps.decomposition.source)) return null;
  return (
    <Card
      title={named ? "Steps by a named event" : "Inferred steps"}
      class="inferred"
      collapsed={inferred !== null && named === null ? true : undefined}
      help={
        named
          ? "Steps by the event that you named. Not part of the other numbers on this page."
          : "Steps inferred from an event that repeats, not measured."
      }
    >
      {inferred ? (
        <Guess inferred={inferred} named={named !== null} fileName={fileName} />
      ) : (
        <p>{named ? `No event named "${named}" was found.` : "No step markers, and no event repeats regularly enough to infer steps."}</p>
      )}
      <EventForm page={page} named={named} />
    </Card>
  );
}

/** The event behind the steps; the steps themselves are on this page unless the event is named. */
function Guess({ inferred, named, fileName }: { inferred: InferredTimes; named: boolean; fileName: string }) {
  const { evidence } = inferred;
  const times = statisticsFrom(inferred.statistics);
  const spec = useMemo(() => inferredChart(inferred), [inferred]);
  return (
    <>
      <p>
        <span class="guess">{named ? "named" : "inferred"}</span>{" "}
        {named
          ? `${times ? describeTime(times) : "No step"}.`
          : `Steps on this page begin with ${WHY[evidence.source] ?? evidence.source}.`}
      </p>
      <dl class="evidence">
        <dt>Repeating event</dt>
        <dd>{evidence.event}</dd>
        <dt>Location</dt>
        <dd>{[evidence.plane, evidence.line, inferred.host].filter(Boolean).join(", ")}</dd>
        <dt>Evidence</dt>
        <dd class="number">
          {plural(evidence.occurrences, "time")}, every {formatQuantity(evidence.period_ms, "ms")}
          {evidence.variation === null ? "" : `, intervals vary by ${formatPercent(100 * evidence.variation)}`}, covering{" "}
          {formatPercent(100 * evidence.coverage)} of the recording
        </dd>
      </dl>
      {named ? (
        <Chart spec={spec} title="Steps by the named event" fileName={`${fileName}_named_steps`} height={200} pickHint="Drag: zoom." />
      ) : null}
    </>
  );
}

function EventForm({ page, named }: { page: PartProps["page"]; named: string | null }) {
  const [text, setText] = useState(named ?? "");
  const submit = (event: Event): void => {
    event.preventDefault();
    page.state.set({ step_event: text.trim() || null }, "push");
  };
  return (
    <form class="event-form" onSubmit={submit}>
      <label for="step-event">Name of an event that marks a step, as shown in the trace viewer</label>
      <input id="step-event" class="field" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" class="button">
        Use it
      </button>
      {named ? (
        <button type="button" class="button ghost" onClick={() => page.state.set({ step_event: null }, "push")}>
          Remove
        </button>
      ) : null}
    </form>
  );
}
