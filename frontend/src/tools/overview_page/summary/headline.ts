// The summary of the overview: what limits the program, as a title, sentences and one bar.
import { formatPercent, formatQuantity, plural } from "../../../base/format";
import { baseText, countSteps, largestOf, segmentsOf } from "../../../base/steps/decomposition";
import type { Segment } from "../../../base/steps/decomposition";
import { CATEGORIES } from "../../../base/steps/step_category";
import type { Latency, Overview, RequestLatency, StepReading, XprofReading } from "../../../base/documents";
import { breakdownIn, caveats } from "../../../base/steps/reading";
import { inputLimit, describeTime } from "../../../base/steps/steps";
import type { Limit, Tone } from "../../../base/steps/steps";
import type { SharePart } from "../../../widgets/chart/share_bar";

export interface Headline {
  tone: Tone;
  title: string;
  sentences: string[];
  /** The whole that the bar divides. */
  barLabel: string;
  /** The bar of a recording without the decomposition of time. */
  parts: SharePart[];
  /** The bar of step time. */
  segments: Segment[];
  /** The title says what limits the program, by the parts of its steps; other titles tell facts. */
  judges: boolean;
}

const ms = (value: number): string => formatQuantity(value, "ms");

/** The limit by the verdict on input, else by the largest category. */
function limitOf({ decomposition, input }: StepReading, segments: readonly Segment[]): Limit {
  const { base } = decomposition;
  const limit = inputLimit(input.level, input.percent, base);
  if (limit) return limit;
  const largest = largestOf(segments, base);
  if (!largest) return { tone: "none", title: "The steps have no measurable duration" };
  return { tone: largest.id === "device_compute" ? "none" : "fair", title: largest.text };
}

/** The base and the number of steps: "10 steps, 36.49 ms on average (...)." */
function stepsText(overview: Overview): string[] {
  const { labels, time } = breakdownIn(overview);
  return time ? [`${countSteps(labels.length, overview.steps.decomposition.left_out)}, ${describeTime(time)}.`] : [];
}

function ofDecomposition(overview: Overview): Headline {
  const { steps, requests } = overview;
  const segments = segmentsOf(steps.decomposition);
  const mean = steps.decomposition.devices.length > 1 ? ", mean over the devices that take part" : "";
  return {
    ...limitOf(steps, segments),
    judges: true,
    sentences: [...stepsText(overview), ...caveats(steps), ...(requests ? [describeRequests(requests)] : [])],
    barLabel: `Of the ${baseText(steps.decomposition)}${mean}`,
    parts: [],
    segments,
  };
}

/** XProf's conclusion and its average step. */
function ofXprof(overview: Overview, { statements: [title = "No steps in this profile"] }: XprofReading): Headline {
  return {
    tone: "none",
    title,
    sentences: stepsText(overview),
    barLabel: "The average step in XProf's categories",
    parts: [],
    segments: segmentsOf(overview.steps.decomposition),
    judges: false,
  };
}

const NONE: Latency = { label: "", host_ms: 0, device_ms: 0, communication_ms: 0, total_ms: 0 };

function describeRequests({ requests, percentiles: [mean = NONE] }: RequestLatency): string {
  return `${plural(requests, "request")}, ${ms(mean.total_ms)} on average.`;
}

function ofRequests(found: RequestLatency): Headline {
  const [mean = NONE] = found.percentiles;
  const parts = latencyParts(mean).filter(({ share }) => share > 0);
  const [name, value] = (
    [
      ["on the host", mean.host_ms],
      ["on the device", mean.device_ms],
      ["transfers", mean.communication_ms],
    ] as const
  ).reduce((a, b) => (b[1] > a[1] ? b : a));
  const share = mean.total_ms > 0 ? formatPercent((100 * value) / mean.total_ms) : "most";
  return {
    tone: "none",
    judges: false,
    title: `A request takes ${ms(mean.total_ms)}; ${share} of it is ${name}`,
    sentences: [describeRequests(found)],
    barLabel: "The average request",
    parts,
    segments: [],
  };
}

/** Host, device and transfers of a request, in the colours of their categories. */
function latencyParts({ host_ms, device_ms, communication_ms, total_ms }: Latency): SharePart[] {
  const part = (name: string, time: number, colour: SharePart["colour"], help: string): SharePart => ({
    name,
    share: total_ms > 0 ? time / total_ms : 0,
    text: ms(time),
    colour,
    help,
  });
  return [
    part(
      "Host",
      host_ms,
      CATEGORIES.host_compute.colour,
      "Time in neither the device nor transfers.\nLatency minus the other two.\nSource: trace.",
    ),
    part("Device", device_ms, CATEGORIES.device_compute.colour, "Time in which the device runs the program.\nSource: trace."),
    part("Communication", communication_ms, CATEGORIES.kernel_launch.colour, "Transfers between host and device.\nSource: trace."),
  ];
}

function busyParts(percent: number): SharePart[] {
  return [
    { name: "Devices busy", share: percent / 100, text: "of the recorded time", colour: CATEGORIES.device_compute.colour },
    { name: "Idle", share: 1 - percent / 100, text: "of the recorded time", colour: CATEGORIES.idle.colour },
  ].filter(({ share }) => share > 0);
}

function opParts(overview: Overview): SharePart[] {
  const [shares, names] = ["selfTimePercent", "operation"].map((id) => overview.ops.columns.find((c) => c.id === id)?.values ?? []);
  const parts = (names ?? [])
    .slice(0, 4)
    .map((name, i): SharePart => ({ name: String(name), share: Number(shares?.[i] ?? 0), text: "of device op time", colour: i }));
  const rest = 1 - parts.reduce((all, { share }) => all + share, 0);
  return rest > 0.001 && parts.length
    ? [...parts, { name: "Other ops", share: rest, text: "of device op time", colour: CATEGORIES.other.colour }]
    : parts;
}

function withoutSteps(overview: Overview): Headline {
  const percent = overview.utilization.duty_cycle_percent;
  const busy = percent !== null && percent > 0;
  return {
    tone: "none",
    judges: false,
    title: busy ? `Devices busy for ${formatPercent(percent)} of the time; no steps recorded` : "No steps in this profile",
    sentences: overview.environment.devices_recorded
      ? [
          "Mark steps with StepTraceAnnotation, in PyTorch with prof.step() (Keras does so itself), profile for longer, " +
            "or enter below the name of an event that marks a step.",
        ]
      : ["The host ran programs on devices that were not recorded: what it did tells nothing of their time."],
    barLabel: busy ? "The devices" : "Device time by op",
    parts: busy ? busyParts(percent) : opParts(overview),
    segments: [],
  };
}

/** From the decomposition of time if there is any, else from requests; in XProf's reading its conclusion. */
export function headline(overview: Overview): Headline {
  if (overview.xprof) return ofXprof(overview, overview.xprof);
  if (overview.steps.decomposition.base_ps > 0) return ofDecomposition(overview);
  return overview.requests ? ofRequests(overview.requests) : withoutSteps(overview);
}
