// The Performance summary in XProf's reading: its figures as it sends them. Pure.
import { formatQuantity } from "../../../base/format";
import { statisticsOf } from "../../../base/steps/steps";
import type { StepBreakdown } from "../../../base/steps/steps";
import type { Figure } from "../../../widgets/content/figures";
import type { Overview } from "../decode";

const ms = (value: number): string => formatQuantity(value, "ms");

/** The average step with its spread. */
export function stepTime({ time }: StepBreakdown): Figure[] {
  if (!time) return [];
  const { average, deviation, minimum, maximum } = time;
  return [
    {
      name: "Average step time",
      value: ms(average),
      exact: `${average} ms`,
      detail:
        deviation === null
          ? "one step"
          : deviation === 0
            ? "the same in every step"
            : `σ ${ms(deviation)}, ${ms(minimum)} to ${ms(maximum)}`,
      better: "lower",
      help: "Duration of a step.\nMean over the steps; σ is the sample deviation.\nSource: trace.",
    },
  ];
}

/** The parts of a step in XProf's table, last part first. */
function stepParts(steps: StepBreakdown): Figure[] {
  return [...steps.parts].reverse().flatMap((part): Figure[] => {
    const partStatistics = statisticsOf(part.ms);
    if (!partStatistics || partStatistics.maximum === 0) return [];
    return [
      {
        name: part.name,
        part: true,
        value: ms(partStatistics.average),
        exact: `${partStatistics.average} ms`,
        help: `${part.help}\nMean over the steps.`,
        ...(partStatistics.deviation === null || partStatistics.deviation === 0 ? {} : { detail: `σ ${ms(partStatistics.deviation)}` }),
      },
    ];
  });
}

/** Properties of XProf's tables with their names there. */
const PROPERTIES = [
  ["flop_rate_utilization_relative_to_roofline", "FLOPS utilization"],
  ["mxu_utilization_percent", "MXU utilization"],
  ["device_duty_cycle_percent", "TPU duty cycle"],
  ["hbm_utilization_percent", "HBM utilization"],
  ["memory_bw_utilization_relative_to_hw_limit", "Memory bandwidth utilization"],
  ["tc_active_ms_average", "TensorCore active per step (ms)"],
  ["sc_steptime_average", "SparseCore step time (ms)"],
  ["sc_infeed_time_avg", "SparseCore input (ms)"],
  ["sc_outfeed_time_avg", "SparseCore output (ms)"],
  ["sc_idle_time_avg", "SparseCore idle (ms)"],
  ["host_idle_time_percent", "Host idle time"],
  ["device_idle_time_percent", "TPU idle time"],
  ["host_tf_op_percent", "TF op placement: host"],
  ["device_tf_op_percent", "TF op placement: device"],
  ["host_op_time_eager_percent", "Op time spent on eager execution: host"],
  ["device_op_time_eager_percent", "Op time spent on eager execution: device"],
  ["device_compute_16bit_percent", "Device compute precisions: 16 bit"],
  ["device_compute_32bit_percent", "Device compute precisions: 32 bit"],
] as const;

/** The whole Performance summary as XProf has it. */
export function xprofPerformance({ general, steps }: Overview): Figure[] {
  return [
    ...stepTime(steps),
    ...stepParts(steps),
    ...PROPERTIES.flatMap(([key, name]): Figure[] => {
      const value = general[key];
      return value ? [{ name, value, help: `Property ${key} of XProf's overview.` }] : [];
    }),
  ];
}
