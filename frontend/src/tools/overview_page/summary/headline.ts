// The summary of the overview: what limits the program, as a title, sentences and one bar.
import { formatPercent, formatQuantity, plural } from "../../../base/format";
import { baseText, countSteps, segmentsOf } from "../../../base/steps/decomposition";
import type { Segment } from "../../../base/steps/decomposition";
import { CATEGORIES, lookOf } from "../../../base/steps/step_category";
import { caveats } from "../../../base/steps/reading";
import type { StepReading } from "../../../base/steps/reading";
import { averageShares, inputLimit, describeTime } from "../../../base/steps/steps";
import type { Limit, Share, Tone } from "../../../base/steps/steps";
import type { SharePart } from "../../../widgets/chart/share_bar";
import { dutyCycle, lacksDevices } from "../decode";
import type { Overview, Session } from "../decode";

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
  const largest = [...segments].sort((a, b) => b.share - a.share)[0];
  if (!largest) return { tone: "none", title: "The steps have no measurable duration" };
  const share = formatPercent(100 * largest.share);
  if (largest.id === "device_compute") return { tone: "none", title: `${share} of the ${base} is device compute` };
  return { tone: "fair", title: `${share} of the ${base} is ${largest.name.toLowerCase()}` };
}

/** The base and the number of steps: "10 steps, 36.49 ms on average (...)." */
function stepsText({ steps }: Pick<Overview, "steps">, leftOut = 0): string[] {
  return steps.time ? [`${countSteps(steps.labels.length, leftOut)}, ${describeTime(steps.time)}.`] : [];
}

function ofDecomposition(overview: Overview, reading: StepReading): Headline {
  const { decomposition } = reading;
  const segments = segmentsOf(decomposition);
  const session = overview.extras?.session;
  const mean = decomposition.devices.length > 1 ? ", mean over the devices that take part" : "";
  return {
    ...limitOf(reading, segments),
    judges: true,
    sentences: [...stepsText(overview, decomposition.left_out), ...caveats(reading), ...(session ? [describeSession(session)] : [])],
    barLabel: `Of the ${baseText(decomposition)}${mean}`,
    parts: [],
    segments,
  };
}

function sharePart({ name, category, share, ms: time, help }: Share): SharePart {
  return { name, share, text: ms(time), help, ...lookOf(category) };
}

/** XProf's conclusion and its average step. */
function ofXprof(overview: Overview): Headline {
  const [title = "No steps in this profile"] = overview.statements;
  return {
    tone: "none",
    title,
    sentences: stepsText(overview),
    barLabel: "The average step in XProf's categories",
    parts: averageShares(overview.steps).map(sharePart),
    segments: [],
    judges: false,
  };
}

function describeSession({ requests, averageMs }: Session): string {
  return `${plural(requests, "request")}, ${ms(averageMs)} on average.`;
}

function ofRequests(session: Session): Headline {
  const { averageMs, hostMs, deviceMs, communicationMs } = session;
  const parts = latencyParts(session).filter(({ share }) => share > 0);
  const [name, value] = (
    [
      ["on the host", hostMs],
      ["on the device", deviceMs],
      ["transfers", communicationMs],
    ] as const
  ).reduce((a, b) => (b[1] > a[1] ? b : a));
  return {
    tone: "none",
    judges: false,
    title: `A request takes ${ms(averageMs)}; ${averageMs > 0 ? formatPercent((100 * value) / averageMs) : "most"} of it is ${name}`,
    sentences: [describeSession(session)],
    barLabel: "The average request",
    parts,
    segments: [],
  };
}

/** Host, device and transfers of a request, in the colours of their categories. */
function latencyParts({ averageMs, hostMs, deviceMs, communicationMs }: Session): SharePart[] {
  const part = (name: string, time: number, colour: SharePart["colour"], help: string): SharePart => ({
    name,
    share: averageMs > 0 ? time / averageMs : 0,
    text: ms(time),
    colour,
    help,
  });
  return [
    part(
      "Host",
      hostMs,
      CATEGORIES.host_compute.colour,
      "Time in neither the device nor transfers.\nLatency minus the other two.\nSource: trace.",
    ),
    part("Device", deviceMs, CATEGORIES.device_compute.colour, "Time in which the device runs the program.\nSource: trace."),
    part("Communication", communicationMs, CATEGORIES.kernel_launch.colour, "Transfers between host and device.\nSource: trace."),
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
  const percent = dutyCycle(overview);
  const busy = percent !== null && percent > 0;
  return {
    tone: "none",
    judges: false,
    title: busy ? `Devices busy for ${formatPercent(percent)} of the time; no steps recorded` : "No steps in this profile",
    sentences: lacksDevices(overview)
      ? ["The host ran programs on devices that were not recorded: what it did tells nothing of their time."]
      : [
          "Mark steps with StepTraceAnnotation, in PyTorch with prof.step() (Keras does so itself), profile for longer, " +
            "or enter below the name of an event that marks a step.",
        ],
    barLabel: busy ? "The devices" : "Device time by op",
    parts: busy ? busyParts(percent) : opParts(overview),
    segments: [],
  };
}

/** From the decomposition of time if there is any, else from requests; in XProf's reading its conclusion. */
export function headline(overview: Overview): Headline {
  const { extras } = overview;
  if (extras === null) return ofXprof(overview);
  if (extras.decomposition.base_ps > 0) return ofDecomposition(overview, extras);
  return extras.session ? ofRequests(extras.session) : withoutSteps(overview);
}
