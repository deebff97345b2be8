// The step-time graph; a click on a step opens the trace viewer there.
import { useMemo, useState } from "preact/hooks";
import { readingsDiffer, stepChart, type StepBreakdown } from "../../../base/steps/steps";
import { Card } from "../../../widgets/content/card";
import { Chart } from "../../../widgets/chart/chart";
import { richSteps } from "../decode";
import type { Overview } from "../decode";
import type { PartProps } from "../part";

const TRACE = "trace_viewer@";
/** Margin on both sides of a step in the trace viewer, as a share of the step. */
const MARGIN = 0.05;

const OWN = "Each step on its slowest host; on TPUs, on the core of it that waits longest for input. The parts add up to the step.";
const XPROF_TPU = "XProf combines cores: the computation of the fastest, the longest wait for input, the mean of output.";
const XPROF_GPU = "XProf shows the first host, without the events of the host, so a step lasts as long as the device works on it.";
const XPROF_CPU = "XProf shows the first host; an event without duration counts until the next event of its category ends.";
const XPROF: Readonly<Record<string, string>> = { TPU: XPROF_TPU, GPU: XPROF_GPU };

/** Values of the address for XProf's reading; links of earlier versions call it "device". */
const XPROF_VIEWS: ReadonlySet<string> = new Set(["xprof", "device"]);

/** The keys that open the trace viewer at a step: its time window, or a search for its name if the time is unknown. */
export function traceTarget(overview: Overview, place: number, shown: StepBreakdown = overview.steps): Record<string, string> | null {
  const label = shown.labels[place];
  const spans = overview.extras?.spans;
  // Spans are those of our steps, which may be fewer.
  const pluginSteps = richSteps(overview);
  const stepIndex = shown.labels.length === pluginSteps.labels.length ? place : pluginSteps.labels.indexOf(label ?? "");
  const [begin, end] = [spans?.beginPs[stepIndex], spans?.endPs[stepIndex]];
  const host = spans?.hosts[stepIndex];
  if (host !== undefined && begin !== undefined && end !== undefined && end > begin) {
    const room = (end - begin) * MARGIN;
    return { window: `${Math.round(begin - room)},${Math.round(end + room)}`, host };
  }
  return label === undefined ? null : { find: label };
}

export function StepCard({ page, overview, tools, open, fileName }: PartProps) {
  const { state } = page;
  const pluginSteps = overview.extras?.steps ?? null;
  const differ = useMemo(() => pluginSteps !== null && readingsDiffer(pluginSteps, overview.steps), [pluginSteps, overview]);
  const [plain, setPlain] = useState(XPROF_VIEWS.has(state.get("view") ?? ""));
  const steps = pluginSteps && !(plain && differ) ? pluginSteps : overview.steps;
  const spec = useMemo(() => stepChart(steps), [steps]);
  if (steps.labels.length === 0) return null;
  const hosts = Number(overview.environment["host_count"] ?? 1) > 1;
  const canOpen = tools.has(TRACE);
  const pick = (place: number): void => {
    const target = traceTarget(overview, place, steps);
    if (target) open(TRACE, target);
  };
  const choose = (xprof: boolean): void => {
    setPlain(xprof);
    state.set({ view: xprof ? "xprof" : null }, "replace");
  };
  const tool = differ ? (
    <span class="segmented" role="group" aria-label="Reading">
      <button type="button" aria-pressed={!plain} data-tip={OWN} onClick={() => choose(false)}>
        {hosts ? "Slowest host" : "Steps"}
      </button>
      <button type="button" aria-pressed={plain} data-tip={XPROF[steps.hardware] ?? XPROF_CPU} onClick={() => choose(true)}>
        XProf
      </button>
    </span>
  ) : null;
  return (
    <Card
      title="Step-time graph"
      help={
        "Time of every step by category.\n" +
        "Where categories overlap, the time counts for the one with the highest priority.\n" +
        `${steps === pluginSteps ? OWN : (XPROF[steps.hardware] ?? XPROF_CPU)}\n` +
        "Source: trace."
      }
    >
      <Chart
        spec={spec}
        title=""
        fileName={`${fileName}_steps`}
        height={250}
        tools={tool}
        {...(canOpen ? { onPick: pick, pickHint: "Click: open in the trace viewer. Drag: zoom." } : { pickHint: "Drag: zoom." })}
      />
    </Card>
  );
}
