// The summary of the overview: what limits the program, as a title, sentences and one bar.
import { formatPercent, formatQuantity, plural } from "../../../base/format";
import { CATEGORIES } from "../../../base/steps/step_category";
import { coverageText, dispatchLimit } from "../../../base/steps/reading";
import type { Verdict } from "../../../base/steps/reading";
import { averageShares, inputLimit, describeTime } from "../../../base/steps/steps";
import type { Limit, Share, Statistics, Tone } from "../../../base/steps/steps";
import type { SharePart } from "../../../widgets/chart/share_bar";
import { dutyCycle, richSteps, verdictOf } from "../decode";
import type { Overview, Session } from "../decode";

export interface Headline {
  tone: Tone;
  title: string;
  sentences: string[];
  /** The whole that the bar divides. */
  barLabel: string;
  parts: SharePart[];
  /** The title says what limits the program, by the parts of its steps; other titles tell facts. */
  judges: boolean;
}

const ms = (value: number): string => formatQuantity(value, "ms");

function sharePart({ name, category, share, ms: time, help }: Share): SharePart {
  const { colour, striped } = CATEGORIES[category];
  return { name, share, text: ms(time), colour, striped: striped ?? false, help };
}

/** The limit of a program that is not input-bound: the first aspect that is high, else the largest part of the step. */
function otherLimit(verdict: Verdict, shares: readonly Share[], hardware: string): Limit {
  const aspects = [
    [verdict.output, "Output-bound", "output"],
    [verdict.collectives, "Communication-bound", "collectives between devices"],
    [verdict.kernelLaunch, "Bound by kernel launches", "kernel launches"],
    [verdict.idle, "Devices wait for the host", "device idle time"],
  ] as const;
  for (const [{ level, percent }, name, time] of aspects) {
    if (level === "high") return { tone: "bad", title: `${name}: ${formatPercent(percent)} of the step time is ${time}` };
  }
  const largest = [...shares].sort((a, b) => b.share - a.share)[0];
  if (!largest) return { tone: "none", title: "The steps have no measurable duration" };
  const share = formatPercent(100 * largest.share);
  if (largest.category === "device_compute") return { tone: "good", title: `Compute-bound: ${share} of the step time is device compute` };
  if (largest.category === "host_compute") {
    // Without a device, the host's compute includes the program itself.
    if (hardware === "CPU_ONLY") return { tone: "none", title: `${share} of the step time is compute on the CPU` };
    return { tone: "fair", title: `Host-bound: ${share} of the step time is host compute` };
  }
  if (largest.category === "other") return { tone: "fair", title: `${share} of the step time is not covered by any recorded event` };
  const input = verdict.input.level === "NOT" ? "Not input-bound: the" : "The";
  return { tone: "fair", title: `${input} largest part of the step time, ${share}, is ${largest.name.toLowerCase()}` };
}

function ofSteps(overview: Overview, time: Statistics): Headline {
  const steps = richSteps(overview);
  const verdict = verdictOf(overview);
  const shares = averageShares(steps);
  const recording = overview.extras?.recording ?? null;
  const dispatch = overview.extras ? dispatchLimit(overview.extras) : null;
  const limit: Limit = dispatch
    ? { tone: "fair", title: dispatch.title }
    : (inputLimit(verdict.input.level, verdict.input.percent) ?? otherLimit(verdict, shares, steps.hardware));
  const moderate = verdict.output.level === "moderate" ? [`Output takes ${formatPercent(verdict.output.percent)} of the step time.`] : [];
  const session = overview.extras?.session;
  const several = (overview.extras?.hosts.stepMs.size ?? 0) > 1;
  const count = plural(steps.labels.length, "step");
  const coverage = coverageText(recording);
  return {
    ...limit,
    judges: dispatch === null,
    sentences: [
      several ? `${count}, on the slowest host of each ${describeTime(time)}.` : `${count}, ${describeTime(time)}.`,
      ...(dispatch ? [dispatch.sentence] : []),
      ...moderate,
      ...(coverage ? [coverage] : []),
      ...(session ? [describeSession(session)] : []),
    ],
    barLabel: several ? "The average step, on the slowest host of each" : "The average step",
    parts: shares.map(sharePart),
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

const NO_MARKERS = "The profile contains no step markers, so step times can only be inferred.";

function ofInferred(overview: Overview): Headline | null {
  const inferred = overview.extras?.inferred;
  if (!inferred) return null;
  const { evidence, statistics, table } = inferred;
  const column = (id: string): number =>
    table.columns.find((c) => c.id === id)?.values.reduce<number>((all, value) => all + (typeof value === "number" ? value : 0), 0) ?? 0;
  const [busy, idle] = [column("deviceBusyMs"), column("deviceIdleMs")];
  const percent = dutyCycle(overview);
  return {
    tone: "none",
    judges: false,
    title: `${evidence.source === "named event" ? "Steps by the named event" : "Inferred steps"}: ${describeTime({ ...statistics, deviation: null })}`,
    sentences: [NO_MARKERS, `Based on ${plural(evidence.occurrences, "occurrence")} of ${evidence.event} (${evidence.source}).`],
    barLabel: busy + idle > 0 ? "The average inferred step" : "The devices",
    parts:
      busy + idle > 0
        ? busyParts((100 * busy) / (busy + idle)).map((part) => ({ ...part, text: "of inferred step time" }))
        : percent === null
          ? []
          : busyParts(percent),
  };
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
  const ops = opParts(overview);
  const busy = percent !== null && percent > 0;
  return {
    tone: "none",
    judges: false,
    title: busy ? `Devices busy for ${formatPercent(percent)} of the time; steps unknown` : "No steps in this profile",
    sentences: [
      NO_MARKERS,
      "Mark steps with StepTraceAnnotation (Keras does so itself), profile for longer, or enter below the name of an event that marks a step.",
    ],
    barLabel: busy ? "The devices" : "Device time by op",
    parts: busy ? busyParts(percent) : ops,
  };
}

/** From steps if there are any, else from requests, else from inferred steps. */
export function headline(overview: Overview): Headline {
  const { time } = richSteps(overview);
  if (time) return ofSteps(overview, time);
  const session = overview.extras?.session;
  if (session) return ofRequests(session);
  const stepless = ofInferred(overview) ?? withoutSteps(overview);
  const dispatch = overview.extras && dispatchLimit(overview.extras);
  return dispatch
    ? { ...stepless, tone: "fair", title: dispatch.title, sentences: [dispatch.sentence, ...stepless.sentences.slice(1)] }
    : stepless;
}
