// The step-time graph; a click on a step opens the trace viewer there.
import { useMemo } from "preact/hooks";
import { traceOf } from "../../../base/steps/decomposition";
import { breakdownIn } from "../../../base/steps/reading";
import type { Overview } from "../../../base/documents";
import { stepChart } from "../../../base/steps/steps";
import { Card } from "../../../widgets/content/card";
import { Chart } from "../../../widgets/chart/chart";
import type { PartProps } from "../part";

const TRACE = "trace_viewer@";

const OWN = "Mean over the devices that take part. The parts add up to the step. Green: the device computes. Red: it waits for input.";
const XPROF_TPU = "XProf combines cores: the computation of the fastest, the longest wait for input, the mean of output.";
const XPROF_GPU = "XProf shows the first host, without the events of the host, so a step lasts as long as the device works on it.";
const XPROF_CPU = "XProf shows the first host; an event without duration counts until the next event of its category ends.";
const XPROF: Readonly<Record<string, string>> = { TPU: XPROF_TPU, GPU: XPROF_GPU };

/** The keys that open the trace viewer at a step: its time window, or a search for its name in XProf's reading. */
export function traceTarget({ steps: { decomposition } }: Pick<Overview, "steps">, place: number): Record<string, string> | null {
  const label = decomposition.steps.name[place];
  if (label === undefined) return null;
  return traceOf(decomposition, place) ?? { find: label };
}

export function StepCard({ overview, tools, open, fileName }: PartProps) {
  const { xprof, hardware } = overview;
  const spec = useMemo(() => stepChart(breakdownIn(overview)), [overview]);
  if (spec.x.labels.length === 0) {
    // The headline says so in the plugin's own reading.
    if (xprof === null && overview.environment.devices_recorded) return null;
    return (
      <Card title="Step-time graph">
        <p class="dim">
          {overview.environment.devices_recorded
            ? "No steps: the recording has no step markers. Mark steps with StepTraceAnnotation, in PyTorch with prof.step(); Keras marks them itself."
            : "No steps: the devices were not recorded, so that it is unknown what a step takes."}
        </p>
      </Card>
    );
  }
  const canOpen = tools.has(TRACE);
  const pick = (place: number): void => {
    const target = traceTarget(overview, place);
    if (target) open(TRACE, target);
  };
  return (
    <Card
      title="Step-time graph"
      help={"Time of every step by category.\n" + `${xprof === null ? OWN : (XPROF[hardware] ?? XPROF_CPU)}\n` + "Source: trace."}
    >
      <Chart
        spec={spec}
        title=""
        fileName={`${fileName}_steps`}
        height={250}
        {...(canOpen ? { onPick: pick, pickHint: "Click: open in the trace viewer. Drag: zoom." } : { pickHint: "Drag: zoom." })}
      />
    </Card>
  );
}
