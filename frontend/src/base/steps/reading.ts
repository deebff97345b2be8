// The server's own reading of a run's steps, and the sentences about it that several pages share. Pure.
import { formatPercent, formatQuantity, plural } from "../format";
import type { StepBreakdown } from "./steps";

/** Class of one use of the step time and its share in percent. */
export interface Aspect {
  level: string;
  percent: number;
}

export interface Verdict {
  input: Aspect;
  output: Aspect;
  idle: Aspect;
  collectives: Aspect;
  kernelLaunch: Aspect;
  allOthers: Aspect;
}

export interface HostTimes {
  /** Average step time. */
  stepMs: ReadonlyMap<string, number>;
  /** Number of steps in which it was the slowest host. */
  slowestIn: ReadonlyMap<string, number>;
  /** By what share its step time exceeds the median of the other hosts. */
  overOthers: ReadonlyMap<string, number>;
  stragglers: readonly string[];
}

/** What steps cover of the recording of a host. */
export interface Recording {
  host: string;
  lengthMs: number;
  stepsMs: number;
  beforeMs: number;
  afterMs: number;
  /** Time in which devices work outside the steps; null if unknown. */
  workOutsideMs: number | null;
  /** Names of events with most time outside the steps. */
  outside: readonly { name: string; ms: number }[];
  /** False if the steps are markers on the host that no device work is linked to. */
  linked: boolean;
  /** Steps are dispatch times: `workMs` is from the first step's begin to the end of the work, `stepsMs` to the last step's. */
  dispatch: { steps: number; stepsMs: number; workMs: number } | null;
}

export interface StepReading {
  /** Each step on its slowest host; null without steps. */
  steps: StepBreakdown | null;
  verdict: Verdict;
  /** XProf's verdict on the input. */
  xprofInput: Aspect;
  hosts: HostTimes;
  recording: Recording | null;
}

/** The level of the verdict on input without any event of an input pipeline. */
export const UNSEEN = "UNSEEN";
/** Below this share of the recording, the page says what lies outside the steps. */
const LITTLE = 0.5;

const ms = (value: number): string => formatQuantity(value, "ms");

/** "Steps are dispatch times: ..." as title and sentence; null for other steps. */
export function dispatchLimit({ recording, steps }: Pick<StepReading, "recording" | "steps">): { title: string; sentence: string } | null {
  const dispatched = recording?.dispatch;
  if (!dispatched || dispatched.steps === 0) return null;
  const worked = dispatched.workMs / dispatched.steps;
  if (!steps?.time) {
    return {
      title: `Steps are dispatch times: the work of a step takes ${ms(worked)}`,
      sentence:
        `No kernel is linked to the ${plural(dispatched.steps, "step marker")} on the host, so steps cannot be broken down. ` +
        `Their work ends ${ms(dispatched.workMs - dispatched.stepsMs)} after the last marker.`,
    };
  }
  return {
    title: `Steps are dispatch times: ${ms(steps.time.average)} to start the work of a step, which takes ${ms(worked)}`,
    sentence:
      `The work that the steps start goes on for ${ms(dispatched.workMs - dispatched.stepsMs)} after the last of ` +
      `${plural(dispatched.steps, "step")}. Until then a step takes ${ms(worked)} on average. Block on the result inside ` +
      "the step marker to measure it.",
  };
}

/** Share of the recording that the steps cover, in percent. */
export function coveredPercent({ lengthMs, stepsMs }: Recording): number {
  return lengthMs > 0 ? (100 * stepsMs) / lengthMs : 0;
}

/** What lies outside the steps if they cover little of the recording, else null; of dispatch times `dispatchLimit` says it. */
export function coverageText(recording: Recording | null): string | null {
  if (!recording || recording.dispatch || coveredPercent(recording) >= 100 * LITTLE) return null;
  const { lengthMs, stepsMs, beforeMs, afterMs, workOutsideMs, outside } = recording;
  const between = lengthMs - stepsMs - beforeMs - afterMs;
  const places = [
    ["before the first", beforeMs],
    ["between them", between],
    ["after the last", afterMs],
  ] as const;
  const notable = places.filter(([, time]) => time > 0.02 * lengthMs).map(([where, time]) => `${ms(time)} ${where}`);
  const work = workOutsideMs !== null && workOutsideMs > 0.02 * lengthMs ? ` Outside the steps, ops run for ${ms(workOutsideMs)}.` : "";
  const names = outside.length ? ` Longest there: ${outside.map(({ name, ms: time }) => `${name} (${ms(time)})`).join(", ")}.` : "";
  return (
    `The steps cover ${ms(stepsMs)} of the ${ms(lengthMs)} recorded (${formatPercent(coveredPercent(recording))}): ` +
    `${notable.join(", ")} belong to no step.${work}${names}`
  );
}

interface HostLine {
  warn: boolean;
  text: string;
}

/** Comparison of the hosts' step times; null with one host. */
export function hostLine({ stepMs, overOthers, stragglers, slowestIn }: HostTimes): HostLine | null {
  if (stepMs.size < 2) return null;
  const ordered = [...stepMs].sort((a, b) => a[1] - b[1]);
  const [fastest, slowest] = [ordered[0], ordered.at(-1)];
  if (!fastest || !slowest) return null;
  if (stragglers.length) {
    const others = stepMs.size === 2 ? "the other host" : "the median of the other hosts";
    const named = stragglers
      .slice(0, 3)
      .map((name) => `${name} (${ms(stepMs.get(name) ?? 0)}, ${formatPercent(100 * (overOthers.get(name) ?? 0))} over ${others})`);
    const more = stragglers.length > 3 ? ` and ${stragglers.length - 3} more` : "";
    return { warn: true, text: `${stragglers.length === 1 ? "Straggler" : "Stragglers"}: ${named.join(", ")}${more}.` };
  }
  const spread = fastest[1] > 0 ? formatPercent(100 * (slowest[1] / fastest[1] - 1)) : "0.0%";
  const count = slowestIn.get(slowest[0]);
  const often = count === undefined ? "" : `, the slowest in ${plural(count, "step")}`;
  return {
    warn: false,
    text:
      `${plural(stepMs.size, "host")}, no straggler: average step times from ${ms(fastest[1])} (${fastest[0]}) to ` +
      `${ms(slowest[1])} (${slowest[0]}${often}), ${spread} apart.`,
  };
}

/** XProf's share of input, where it differs from ours; else null. */
export function xprofNote({ steps, verdict, xprofInput }: StepReading): string | null {
  if (!steps || verdict.input.level === UNSEEN || xprofInput.level === "" || xprofInput.level === "POTENTIALLY") return null;
  const [own, theirs] = [verdict.input.percent, xprofInput.percent].map((percent) => formatPercent(percent));
  const waits = ["HIGHLY", "MODERATELY", "NOT"];
  if (own === theirs || !waits.includes(verdict.input.level)) return null;
  const how =
    steps.hardware === "TPU"
      ? "combines the longest wait of any core with the computation of the fastest one"
      : "takes the parts of the first host, on GPUs without the events of the host";
  return `XProf reads ${theirs} of the step time as input: it ${how}.`;
}
