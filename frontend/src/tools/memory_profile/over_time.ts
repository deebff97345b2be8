// An allocator's memory over time by region, op and step: the answer decoded, and its chart. Pure.
import { asDict, asList, asNumber, asTable, asText, badAnswer } from "../../api/payload/fields";
import type { StepsChart } from "../../base/chart/chart_spec";
import { cutMiddle, formatBytes, formatTime, plural } from "../../base/format";
import { numberColumn } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";
import { stackedChart } from "../../page/memory/stacked";

export const STACKS = ["region", "op", "step"] as const;
export type Stack = (typeof STACKS)[number];

interface Series {
  name: string;
  bytes: readonly number[];
}

export interface RecordedOverTime {
  memory: string;
  instants: number;
  peak: number;
  /** The events of the series, and their times in ps since the start of the recording. */
  shown: readonly number[];
  timePs: readonly number[];
  heap: readonly number[];
  stacks: Readonly<Record<Stack, readonly Series[]>>;
  /** The event after which blocks are listed. */
  instant: number;
  atPs: number;
  liveBytes: number;
  blocks: number;
  restBytes: number;
  live: TableData;
}

const numbers = (value: unknown, what: string): number[] => asList(value, what).map((one) => asNumber(one, what));

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readRecorded(value: unknown): RecordedOverTime {
  const answer = asDict(value, "the memory over time");
  const number = (name: string): number => asNumber(answer[name], name);
  const shown = numbers(answer["shown"], "the events");
  const stacks = asDict(answer["stacks"], "the parts of memory");
  const read = (by: Stack): Series[] =>
    asList(stacks[by], `the memory by ${by}`).map((one) => {
      const { name, bytes } = asDict(one, `the memory by ${by}`);
      const series = { name: asText(name, "the name of a part"), bytes: numbers(bytes, "the sizes of a part") };
      if (series.bytes.length !== shown.length)
        throw badAnswer(`${series.name} has ${String(series.bytes.length)} sizes for ${String(shown.length)} events`);
      return series;
    });
  return {
    memory: asText(answer["memory"], "the memory"),
    instants: number("instants"),
    peak: number("peak"),
    shown,
    timePs: numbers(answer["time_ps"], "the times"),
    heap: numbers(answer["heap"], "the memory in use"),
    stacks: { region: read("region"), op: read("op"), step: read("step") },
    instant: number("instant"),
    atPs: number("at_ps"),
    liveBytes: number("live_bytes"),
    blocks: number("blocks"),
    restBytes: number("rest_bytes"),
    live: asTable(answer["live"], "the table of blocks"),
  };
}

/** Names of ops begin with those of modules; blocks list them in full. */
const LONGEST_NAME = 60;

export const msOf = (ps: number): number => ps / 1e9;

/** Stacked areas over the time of the recording. */
export function recordedChart(found: RecordedOverTime, by: Stack): StepsChart {
  const { shown, timePs, heap, instants } = found;
  const at = timePs.map(msOf);
  const from = at[0] ?? 0;
  return stackedChart({
    x: { name: "Time since the start of the recording (ms)", unit: null, from, to: Math.max(from + 1e-6, at[at.length - 1] ?? 0) },
    at,
    heap,
    parts: found.stacks[by].map(({ name, bytes }, i) => ({ name: cutMiddle(name, LONGEST_NAME), bytes, colour: i })),
    sentence: `Memory over time: ${String(shown.length)} of ${String(instants)} events, peak ${formatBytes(Math.max(0, ...heap))}.`,
    titleAt: (place) => `At ${formatTime(timePs[place] ?? 0)}`,
    moments: () => [numberColumn("time", "Time", "ps", "Since the start of the recording.", timePs)],
  });
}

/** What the list of blocks is. */
export function liveSentence({ liveBytes, blocks, restBytes, live, instant, peak, atPs }: RecordedOverTime): string {
  const where = instant === peak ? "the peak" : formatTime(atPs);
  const listed =
    live.rowCount < blocks ? `, the ${String(live.rowCount)} largest of ${String(blocks)} are listed` : ` in ${plural(blocks, "block")}`;
  const rest =
    restBytes > 0
      ? ` ${formatBytes(restBytes)} more are in use: the stack of programs, what was allocated before the recording, or is not recorded.`
      : "";
  return `${formatBytes(liveBytes)} in recorded blocks at ${where}${listed}.${rest}`;
}
