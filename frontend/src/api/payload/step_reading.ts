// Decodes the server's own reading of the steps, which the overview and the input pipeline page receive with `extended`.
import type { Aspect, HostTimes, Recording, StepReading, Verdict } from "../../base/steps/reading";
import { asDict, asList, asNumber, asText } from "./fields";
import type { Dict } from "./fields";
import { readSteps } from "./step_table";

const optional = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

function aspect(value: unknown): Aspect {
  const dict = asDict(value ?? {}, "a verdict");
  return { level: typeof dict["level"] === "string" ? dict["level"] : "", percent: optional(dict["percent"]) ?? 0 };
}

function readVerdict(value: unknown): Verdict {
  const verdict = asDict(value ?? {}, "the verdict");
  return {
    input: aspect(verdict["input"]),
    output: aspect(verdict["output"]),
    idle: aspect(verdict["idle"]),
    collectives: aspect(verdict["collectives"]),
    kernelLaunch: aspect(verdict["kernel_launch"]),
    allOthers: aspect(verdict["all_others"]),
  };
}

function numbers(value: unknown, what: string): Map<string, number> {
  return new Map(Object.entries(asDict(value ?? {}, what)).map(([host, one]) => [host, asNumber(one, `${what}, ${host}`)]));
}

function readHosts(value: unknown): HostTimes {
  const hosts = asDict(value ?? {}, "the hosts");
  return {
    stepMs: numbers(hosts["step_ms"], "the hosts' step times"),
    slowestIn: numbers(hosts["slowest_in"], "the hosts' slowest steps"),
    overOthers: numbers(hosts["over_others"], "the hosts' excess"),
    stragglers: asList(hosts["stragglers"] ?? [], "the stragglers").map(String),
  };
}

function readRecording(value: unknown): Recording | null {
  if (value === null || value === undefined) return null;
  const what = "the recording";
  const dict = asDict(value, what);
  const number = (from: Dict, key: string): number => asNumber(from[key], `${key} of ${what}`);
  const late = dict["dispatch"];
  const dispatch = late === null || late === undefined ? null : asDict(late, `the dispatch of ${what}`);
  return {
    host: asText(dict["host"], `the host of ${what}`),
    lengthMs: number(dict, "length_ms"),
    stepsMs: number(dict, "steps_ms"),
    beforeMs: number(dict, "before_ms"),
    afterMs: number(dict, "after_ms"),
    linked: dict["linked"] !== false,
    workOutsideMs: optional(dict["work_outside_ms"]),
    outside: asList(dict["outside"] ?? [], `what lies outside in ${what}`).map((one) => {
      const event = asDict(one, `an event of ${what}`);
      return { name: asText(event["name"], `an event of ${what}`), ms: number(event, "ms") };
    }),
    dispatch: dispatch && { steps: number(dispatch, "steps"), stepsMs: number(dispatch, "steps_ms"), workMs: number(dispatch, "work_ms") },
  };
}

/** Decodes the object; throws `bad_answer` naming the field if it is malformed. */
export function readStepReading(value: unknown): StepReading {
  const dict = asDict(value, "the reading of the steps");
  return {
    steps: dict["steps"] ? readSteps(dict["steps"]) : null,
    verdict: readVerdict(dict["verdict"]),
    xprofInput: aspect(dict["xprof_input"]),
    hosts: readHosts(dict["hosts"]),
    recording: readRecording(dict["recording"]),
  };
}
