// Summary, figures and charts of the input pipeline page. Pure.
import { makeTable, textColumn } from "../../base/table/columns";
import type { BandChart } from "../../base/chart/chart_spec";
import { formatPercent, formatQuantity, plural } from "../../base/format";
import { CATEGORIES } from "../../base/steps/step_category";
import { UNSEEN, coverageText, dispatchLimit } from "../../base/steps/reading";
import { inputLimit } from "../../base/steps/steps";
import type { Limit, Statistics } from "../../base/steps/steps";
import type { TableData } from "../../base/table/table_data";
import type { Figure } from "../../widgets/content/figures";
import type { SharePart } from "../../widgets/chart/share_bar";
import { waitingCounts } from "./decode";
import type { InputPipeline } from "./decode";

/** The title of the summary. */
export function limitOf({ reading, ops }: InputPipeline): Limit {
  const dispatch = dispatchLimit(reading);
  if (dispatch) return { tone: "fair", title: dispatch.title };
  const { level, percent } = reading.verdict.input;
  const limit = inputLimit(level, percent);
  if (limit) return limit;
  if (level === "NOT") return { tone: "good", title: `Not input-bound: ${formatPercent(percent)} of the step time is waiting for input` };
  if (level === UNSEEN) return { tone: "none", title: "No input events recorded: waiting for input is unknown" };
  return {
    tone: "none",
    title: ops.rowCount
      ? "No steps in this profile: the time spent waiting for input is unknown"
      : "No steps and no input ops in this profile",
  };
}

/** Waiting for input and all other step time; empty without steps or input events. */
export function waitingParts({ steps, reading: { verdict } }: InputPipeline): SharePart[] {
  if (!steps || verdict.input.level === "" || verdict.input.level === UNSEEN) return [];
  const parts = steps.parts.filter((part) => part.category === "input");
  const waiting = parts.reduce((all, part) => all + part.ms.reduce((a, b) => a + b, 0), 0);
  const total = steps.totalMs.reduce((a, b) => a + b, 0);
  if (total <= 0) return [];
  const share = waiting / total;
  const perStep = (value: number): string => `${formatQuantity(value / steps.labels.length, "ms")} per step`;
  return [
    {
      name: "Waiting for input",
      share,
      text: perStep(waiting),
      colour: CATEGORIES.input.colour,
      striped: true,
      help: CATEGORIES.input.help,
    },
    { name: "Other step time", share: 1 - share, text: perStep(total - waiting), colour: CATEGORIES.other.colour },
  ].filter((part) => part.share > 0);
}

/** Sentences below the title. */
export function sentences({ reading, statement, steps }: InputPipeline): string[] {
  const dispatch = dispatchLimit(reading);
  const coverage = coverageText(reading.recording);
  return [...(dispatch ? [dispatch.sentence] : []), ...(statement && steps ? [statement] : []), ...(coverage ? [coverage] : [])];
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
export function stepFigures({ steps, reading }: InputPipeline): Figure[] {
  const figures: Figure[] = [];
  if (!steps) return figures;
  const several = reading.hosts.stepMs.size > 1;
  if (steps.time) {
    figures.push({
      name: several ? "Step time, slowest host of each step" : "Step time",
      value: formatQuantity(steps.time.average, "ms"),
      exact: `${steps.time.average} ms`,
      better: "lower",
      detail: `${plural(steps.labels.length, "step")}, ${spread(steps.time, "ms")}`,
      help: "Duration of a step.\nMean over the steps, each on its slowest host; σ is the sample deviation.\nSource: trace.",
    });
  }
  const overall = steps.waiting?.overall;
  if (overall && reading.verdict.input.level !== UNSEEN) {
    figures.push({
      name: "Step time waiting for input",
      value: formatPercent(overall.average),
      exact: `${overall.average} %`,
      better: "lower",
      detail: spread(overall, "percent"),
      help:
        "Wait for input as a share of the time of all steps, each on its slowest host; on TPUs of the core of it that waits longest.\n" +
        "σ and range are over the steps.\n" +
        "Source: trace.",
    });
  }
  return figures;
}

/** Share of the step time that waits for input: of the core shown, least and most of all cores; null with a single one. */
export function waitingChart({ steps }: InputPipeline): BandChart | null {
  if (!steps?.waiting || steps.labels.length === 0 || steps.hardware !== "TPU") return null;
  return {
    kind: "band",
    x: { name: "Step", unit: null, labels: steps.labels },
    y: { name: "Step time waiting for input", unit: "percent" },
    line: { name: "Slowest host", colour: CATEGORIES.input.colour, values: steps.waiting.average },
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
