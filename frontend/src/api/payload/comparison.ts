// Decodes the comparison of a run with a base.
import { asDict, asList, asNumber, asTable, asText } from "./fields";
import type { Steps } from "../../base/table/difference";
import type { TableData } from "../../base/table/table_data";

/** A time per step and device in both runs, in ps; null: the side has no steps. */
export interface Difference {
  base: number | null;
  run: number | null;
  delta: number | null;
  /** Interval of `delta`; null with fewer than two steps on a side. */
  interval: readonly [number, number] | null;
}

export type Tone = "same" | "slower" | "faster" | "unknown";

export interface Comparison {
  /** The step, or the time from step to step if something is between steps. */
  compared: Difference;
  /** What is compared: "step", "time from step to step" or "recording". */
  of: string;
  /** Why the runs are hardly comparable; null if they are. */
  caution: string | null;
  /** By id of the part of the time budget, in their order; with the time between steps. */
  parts: ReadonlyMap<string, Difference>;
  contributions: TableData;
  programs: TableData;
  ops: TableData;
  memory: TableData;
  environment: TableData;
  headline: { text: string; tone: Tone };
  /** Differences below this are noise, in ps. */
  floorPs: number;
  steps: { base: number; run: number };
  /** Steps of the recordings, by which totals may be divided; null if a side has none. */
  recorded: Steps | null;
  notes: readonly string[];
  labels: ReadonlyMap<string, { name: string; help: string }>;
  /** Categories of time in the order of display, with the ids of their parts. */
  groups: readonly { id: string; parts: readonly string[] }[];
}

const COMPARED = "compared_ps";
const TONES: readonly string[] = ["same", "slower", "faster", "unknown"];

function readDifference(value: unknown, what: string): Difference {
  const dict = asDict(value, what);
  const number = (key: string): number | null =>
    dict[key] === null || dict[key] === undefined ? null : asNumber(dict[key], `${key} of ${what}`);
  const [low, high] = [number("low"), number("high")];
  return { base: number("base"), run: number("run"), delta: number("delta"), interval: low === null || high === null ? null : [low, high] };
}

function readRecorded(value: unknown): Steps | null {
  const steps = asDict(value, "the steps of the recordings");
  const [run, base] = (["run", "base"] as const).map((side) =>
    steps[side] === null ? 0 : asNumber(steps[side], `the steps of the recording of the ${side}`),
  );
  return run && base ? { run, base } : null;
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readComparison(value: unknown): Comparison {
  const answer = asDict(value, "the comparison");
  const summary = asDict(answer["summary"], "the summary");
  const headline = asDict(answer["headline"], "the headline");
  const tone = asText(headline["tone"], "the tone of the headline");
  const noise = asDict(answer["noise"], "the noise");
  const steps = asDict(noise["steps"], "the number of steps");
  const table = (key: string): TableData => asTable(answer[key], `the table of ${key}`);
  return {
    compared: readDifference(summary[COMPARED], "the compared time"),
    of: asText(answer["compared"], "what is compared"),
    caution: answer["caution"] === null ? null : asText(answer["caution"], "the caution"),
    parts: new Map(
      Object.entries(summary)
        .filter(([id]) => id !== COMPARED && id !== "step_time_ps")
        .map(([id, part]) => [id.replace(/_ps$/, ""), readDifference(part, id)]),
    ),
    contributions: table("contributions"),
    programs: table("programs"),
    ops: table("ops"),
    memory: table("memory"),
    environment: table("environment"),
    headline: { text: asText(headline["text"], "the headline"), tone: TONES.includes(tone) ? (tone as Tone) : "unknown" },
    floorPs: asNumber(noise["floor_ps"], "the floor of noise"),
    recorded: readRecorded(answer["recorded_steps"]),
    steps: { base: asNumber(steps["base"], "the steps of the base"), run: asNumber(steps["run"], "the steps of the run") },
    labels: new Map(
      Object.entries(asDict(answer["labels"], "the labels")).map(([id, one]) => {
        const label = asDict(one, `the label of ${id}`);
        return [id, { name: asText(label["name"], `the name of ${id}`), help: asText(label["help"], `the meaning of ${id}`) }];
      }),
    ),
    groups: asList(answer["groups"], "the categories").map((one) => {
      const group = asDict(one, "a category");
      const id = asText(group["id"], "the id of a category");
      return {
        id,
        parts: asList(group["parts"], `the parts of ${id}`).map((part) => asText(asDict(part, `a part of ${id}`)["id"], `a part of ${id}`)),
      };
    }),
    notes: asList(answer["notes"], "the notes").map((note) => asText(note, "a note")),
  };
}
