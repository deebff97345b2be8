// Summary, figures and charts of the input pipeline page. Pure.
import { makeTable, textColumn } from "../../base/table/columns";
import type { BandChart } from "../../base/chart/chart_spec";
import { formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import { CATEGORIES } from "../../base/steps/step_category";
import { countSteps, segmentsOf } from "../../base/steps/decomposition";
import type { Segment } from "../../base/steps/decomposition";
import { caveats } from "../../base/steps/reading";
import { inputLimit, statisticsOf } from "../../base/steps/steps";
import type { Limit, Statistics } from "../../base/steps/steps";
import type { TableData } from "../../base/table/table_data";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import { waitingCounts } from "./decode";
import type { InputPipeline } from "./decode";
import type { Message } from "../../api/payload/step_table";

/** Id of the category of step time that this page is about. */
export const INPUT = "input";

/** The title of the summary: the verdict on input; in XProf's reading its conclusion. */
export function limitOf({ reading, ops, steps }: InputPipeline): Limit {
  const none: Limit = {
    tone: "none",
    title: ops.rowCount ? "No steps in this profile: only the host's side is known" : "No steps and no input ops",
  };
  if (reading === null) return { tone: "none", title: steps.properties["input_conclusion"] ?? none.title };
  const { level, percent } = reading.input;
  const { base } = reading.decomposition;
  const limit = inputLimit(level, percent, base);
  if (limit) return limit;
  return level === "NOT" ? { tone: "good", title: `Not input-bound: ${formatPercent(percent)} of the ${base} waits for input` } : none;
}

/** The bar of step time; empty in XProf's reading and without steps. */
export const barOf = ({ reading }: InputPipeline): Segment[] => (reading ? segmentsOf(reading.decomposition) : []);

/** XProf's warning about missing step markers, which the plugin infers steps without. */
const NO_STEPS = /^No step marker observed/;

/** The messages above the page. */
export const messagesOf = ({ messages, reading }: InputPipeline): Message[] =>
  reading ? messages.filter(({ text }) => !NO_STEPS.test(text)) : messages;

/** Sentences below the title. */
export function sentences({ reading, steps }: InputPipeline): string[] {
  if (reading === null) return [steps.properties["output_conclusion"] ?? ""].filter(Boolean);
  return caveats(reading);
}

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
  const { steps, reading } = data;
  const figures: Figure[] = [];
  if (steps.time) {
    figures.push({
      name: "Step time",
      value: formatQuantity(steps.time.average, "ms"),
      exact: `${steps.time.average} ms`,
      better: "lower",
      detail: `${countSteps(steps.labels.length, reading?.decomposition.left_out ?? 0)}, ${spread(steps.time, "ms")}`,
      help:
        `Duration of a step.\nMean over the steps${reading ? " and the devices that take part" : ", as XProf computes it"}; ` +
        "σ is the sample deviation.\nSource: trace.",
    });
  }
  return reading ? [...figures, ...waitingFigures(data)] : [...figures, ...xprofFigures(data)];
}

/** The wait of the average step, and its spread over the steps. */
function waitingFigures(data: InputPipeline): Figure[] {
  if (!data.reading || !data.reading.decomposition.base_ps) return [];
  const { decomposition, input } = data.reading;
  const segment = barOf(data).find(({ id }) => id === INPUT);
  const perStep = statisticsOf(data.steps.parts.find(({ id }) => id === INPUT)?.ms ?? data.steps.labels.map(() => 0));
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

function xprofFigures({ steps }: InputPipeline): Figure[] {
  const overall = steps.waiting?.overall;
  if (!overall) return [];
  return [
    {
      name: "Step time waiting for input",
      value: formatPercent(overall.average),
      exact: `${overall.average} %`,
      better: "lower",
      detail: spread(overall, "percent"),
      help: "Share of the step time that the core with the longest wait waits for input, as XProf computes it.\nSource: trace.",
    },
  ];
}

/** XProf's share of the step time that waits for input: mean of the cores, least and most; null in the plugin's reading. */
export function waitingChart({ steps, reading }: InputPipeline): BandChart | null {
  if (reading || !steps.waiting || steps.labels.length === 0) return null;
  return {
    kind: "band",
    x: { name: "Step", unit: null, labels: steps.labels },
    y: { name: "Step time waiting for input", unit: "percent" },
    line: { name: "Mean of the cores", colour: CATEGORIES.input.colour, values: steps.waiting.average },
    low: steps.waiting.minimum,
    high: steps.waiting.maximum,
  };
}

/** The table of waiting cores, transposed to one row per step. */
export function waitingTable(found: NonNullable<InputPipeline["waitingCores"]>): TableData {
  return makeTable([
    textColumn("step", "Step", "Number of the step.", found.steps),
    textColumn(
      "core",
      "Core with the longest wait",
      "Host and ordinal of the core that waited longest for input in this step.",
      found.cores,
    ),
  ]);
}

/** "tpu-host-0:2 waits longest in 20 of 24 steps". */
export function describeWaiting(found: NonNullable<InputPipeline["waitingCores"]>): string {
  const counts = waitingCounts(found).filter(([core]) => core !== "unknown");
  const [first] = counts;
  if (!first) return "No core waits for input in any step.";
  const others = counts.length > 1 ? `; ${plural(counts.length - 1, "other core")} in the other steps` : "";
  return `${first[0]} waits longest in ${first[1]} of ${plural(found.steps.length, "step")}${others}.`;
}

/** Parts of the host's input processing in the order of the server's tips. */
const TIP_PARTS = ["enqueue", "preprocessing", "advanced", "demanded", "other"] as const;

/** The tips on kinds of input processing that take time. */
export function usefulTips({ tips, host }: InputPipeline): string[] {
  const taken = new Set(host.filter(({ us }) => us > 0).map(({ kind }) => kind));
  return tips.filter((_, i) => taken.has(TIP_PARTS[i] ?? "other"));
}

/** The host's input processing by kind; empty if nothing was recorded. */
export function hostParts({ host }: InputPipeline): SharePart[] {
  const total = host.reduce((all, { us }) => all + us, 0);
  if (total <= 0) return [];
  return host
    .filter(({ us }) => us > 0)
    .map(({ name, help, us, hue }) => ({
      name,
      help: `${help}\nFrom self times of the input ops.\nSource: trace.`,
      share: us / total,
      text: formatQuantity(us, "us"),
      colour: hue,
    }));
}
