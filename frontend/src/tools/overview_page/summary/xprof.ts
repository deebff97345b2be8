// The Performance summary in XProf's reading: its figures as it sends them. Pure.
import { formatQuantity } from "../../../base/format";
import { statisticsOf } from "../../../base/steps/steps";
import type { StepBreakdown } from "../../../base/steps/steps";
import type { Figure } from "../../../widgets/content/figures";
import type { XprofReading } from "../../../base/documents";

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

/** The whole Performance summary as XProf has it. */
export function xprofPerformance(steps: StepBreakdown, { figures }: XprofReading): Figure[] {
  return [
    ...stepTime(steps),
    ...stepParts(steps),
    ...figures.map(({ name, value, property }): Figure => ({ name, value, help: `Property ${property} of XProf's overview.` })),
  ];
}
