// Decodes the server's reading of the steps, which the overview and the input pipeline page receive.
import type { HostTimes, Recording, StepReading } from "../../base/steps/reading";
import type { Decomposition } from "../../base/documents";
import { asDict, asList, asNumber, asText } from "./fields";

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
  const number = (key: string): number => asNumber(dict[key], `${key} of ${what}`);
  return {
    host: asText(dict["host"], `the host of ${what}`),
    lengthMs: number("length_ms"),
    stepsMs: number("steps_ms"),
    beforeMs: number("before_ms"),
    afterMs: number("after_ms"),
  };
}

/** Decodes the object; throws `bad_answer` naming the field if it is malformed. */
export function readStepReading(value: unknown): StepReading {
  const dict = asDict(value, "the reading of the steps");
  const input = asDict(dict["input"] ?? {}, "the verdict on input");
  return {
    decomposition: dict["decomposition"] as Decomposition,
    input: { level: asText(input["level"] ?? "", "the level of input"), percent: asNumber(input["percent"] ?? 0, "the share of input") },
    hosts: readHosts(dict["hosts"]),
    recording: readRecording(dict["recording"]),
    notes: asList(dict["notes"] ?? [], "the notes").map((note) => asText(note, "a note")),
  };
}
