// Summary, figures and charts of the input pipeline page. Pure.
import { makeTable, textColumn } from "../../base/table/columns";
import type { BandChart } from "../../base/chart/chart_spec";
import { formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import { CATEGORIES } from "../../base/steps/step_category";
import { countSteps, largestOf, segmentsOf } from "../../base/steps/decomposition";
import type { Segment } from "../../base/steps/decomposition";
import type { InputPipeline } from "../../base/documents";
import { breakdownIn, caveats, statisticsFrom } from "../../base/steps/reading";
import { inputLimit, statisticsOf } from "../../base/steps/steps";
import type { Limit, Statistics } from "../../base/steps/steps";
import type { TableData } from "../../base/table/table_data";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";

/** Id of the category of step time that this page is about. */
export const INPUT = "input";

/** The title of the summary: the verdict on input; in XProf's reading its conclusion. */
export function limitOf(found: InputPipeline): Limit {
  const { steps, ops, xprof } = found;
  const none: Limit = {
    tone: "none",
    title: ops.rowCount ? "No steps in this profile: only the host's side is known" : "No steps and no input ops",
  };
  if (xprof) return { tone: "none", title: xprof.statements[0] ?? none.title };
  const { level, percent } = steps.input;
  const { base } = steps.decomposition;
  const limit = inputLimit(level, percent, base);
  if (limit) return limit;
  if (level !== "NOT") return none;
  const most = largestOf(barOf(found), base);
  const share = formatPercent(percent);
  const told = most === null || most.id === INPUT ? `${share} of the ${base} waits for input` : `${share} waits for input, ${most.text}`;
  return { tone: "good", title: `Not input-bound: ${told}` };
}

/** The bar of step time; empty in XProf's reading and without steps. */
export const barOf = ({ steps, xprof }: InputPipeline): Segment[] => (xprof ? [] : segmentsOf(steps.decomposition));

/** Sentences below the title. */
export const sentences = ({ steps, xprof }: InputPipeline): readonly string[] => (xprof ? xprof.statements.slice(1) : caveats(steps));

function spread({ deviation, minimum, maximum }: Statistics, unit: string): string {
  const text = (value: number): string => formatQuantity(value, unit);
  return deviation === null
    ? "one step"
    : deviation === 0
      ? "the same in every step"
      : `σ ${text(deviation)}, ${text(minimum)} to ${text(maximum)}`;
}

/** Statistics of the device side. */
export function stepFigures(data: InputPipeline): Figure[] {
  const { labels, time } = breakdownIn(data);
  const { steps, xprof } = data;
  const figures: Figure[] = [];
  if (time) {
    figures.push({
      name: "Step time",
      value: formatQuantity(time.average, "ms"),
      exact: `${time.average} ms`,
      better: "lower",
      detail: `${countSteps(labels.length, steps.decomposition.left_out)}, ${spread(time, "ms")}`,
      help:
        `Duration of a step.\nMean over the steps${xprof ? ", as XProf computes it" : " and the devices that take part"}; ` +
        "σ is the sample deviation.\nSource: trace.",
    });
  }
  return xprof ? [...figures, ...xprofFigures(data)] : [...figures, ...waitingFigures(data)];
}

/** The wait of the average step, and its spread over the steps. */
function waitingFigures(data: InputPipeline): Figure[] {
  const { decomposition, input } = data.steps;
  if (!decomposition.base_ps) return [];
  const segment = barOf(data).find(({ id }) => id === INPUT);
  const { parts, labels } = breakdownIn(data);
  const perStep = statisticsOf(parts.find(({ category }) => category === INPUT)?.ms ?? labels.map(() => 0));
  const share = input.level === "POTENTIALLY" ? 100 * (segment?.share ?? 0) : input.percent;
  return [
    {
      name: "Step time waiting for input",
      value: formatPercent(share),
      exact: `${share} %`,
      better: "lower",
      detail: `${formatTime(segment?.ps ?? 0)} of ${formatTime(decomposition.base_ps)}`,
      help: `Time in which devices are idle and wait for input or its copy.\nShare of the ${decomposition.base}.\nSource: trace.`,
    },
    ...(perStep
      ? [
          {
            name: "Wait for input per step",
            value: formatTime(segment?.ps ?? 0),
            exact: `${(segment?.ps ?? 0) / 1e9} ms`,
            better: "lower" as const,
            detail: spread(perStep, "ms"),
            help: "Mean over the steps and the devices that take part; σ and range are over the steps.\nSource: trace.",
          },
        ]
      : []),
  ];
}

function xprofFigures({ xprof }: InputPipeline): Figure[] {
  const longest = xprof?.waiting ? statisticsFrom(xprof.waiting.longest) : null;
  if (!longest) return [];
  return [
    {
      name: "Step time waiting for input",
      value: formatPercent(longest.average),
      exact: `${longest.average} %`,
      better: "lower",
      detail: spread(longest, "percent"),
      help: "Share of the step time that the core with the longest wait waits for input, as XProf computes it.\nSource: trace.",
    },
  ];
}

/** XProf's share of the step time that waits for input: mean of the cores, least and most; null in the plugin's reading. */
export function waitingChart({ steps, xprof }: InputPipeline): BandChart | null {
  const { name: labels } = steps.decomposition.steps;
  if (!xprof?.waiting || labels.length === 0) return null;
  const { average, minimum, maximum } = xprof.waiting;
  return {
    kind: "band",
    x: { name: "Step", unit: null, labels },
    y: { name: "Step time waiting for input", unit: "percent" },
    line: { name: "Mean of the cores", colour: CATEGORIES.input.colour, values: average },
    low: minimum,
    high: maximum,
  };
}

/** The core that waited longest, by step; null in the plugin's reading. */
export function waitingTable({ steps, xprof }: InputPipeline): TableData | null {
  if (!xprof?.waiting) return null;
  return makeTable([
    textColumn("step", "Step", "Number of the step.", steps.decomposition.steps.name),
    textColumn(
      "core",
      "Core with the longest wait",
      "Host and ordinal of the core that waited longest for input in this step.",
      xprof.waiting.cores,
    ),
  ]);
}

/** "tpu-host-0:2 waits longest in 20 of 24 steps". */
export function describeWaiting({ xprof }: InputPipeline): string {
  const cores = xprof?.waiting?.cores ?? [];
  const counts = new Map<string, number>();
  for (const core of cores) if (core !== "unknown") counts.set(core, (counts.get(core) ?? 0) + 1);
  const [first] = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  if (!first) return "No core waits for input in any step.";
  const others = counts.size > 1 ? `; ${plural(counts.size - 1, "other core")} in the other steps` : "";
  return `${first[0]} waits longest in ${first[1]} of ${plural(cores.length, "step")}${others}.`;
}

/** The tips on kinds of input processing that take time, enqueuing first. */
export function usefulTips({ processing }: InputPipeline): string[] {
  return processing
    .filter(({ us }) => us > 0)
    .map(({ tip }) => tip)
    .reverse();
}

/** Hues of the categorical palette. */
const HUES: Readonly<Record<string, number>> = { other: 5, demanded: 0, advanced: 1, preprocessing: 2, enqueue: 7 };

/** The host's input processing by kind; empty if nothing was recorded. */
export function hostParts({ processing }: InputPipeline): SharePart[] {
  const total = processing.reduce((all, { us }) => all + us, 0);
  return processing
    .filter(({ us }) => us > 0)
    .map(({ kind, name, help, us }) => ({
      name,
      help: `${help}\nFrom self times of the input ops.\nSource: trace.`,
      share: us / total,
      text: formatQuantity(us, "us"),
      colour: HUES[kind] ?? 0,
    }));
}
