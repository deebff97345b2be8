// Decodes the answer about a program's memory over time.
import { asDict, asList, asNumber, asTable, asText, badAnswer } from "../../../api/payload/fields";
import type { TableData } from "../../../base/table/table_data";

export interface Series {
  name: string;
  bytes: readonly number[];
}

export interface MemoryOverTime {
  program: string;
  /** 0 if unknown. */
  deviceBytes: number;
  instants: number;
  peak: number;
  peakBytes: number;
  /** The instants of the series. */
  shown: readonly number[];
  names: readonly string[];
  heap: readonly number[];
  categories: readonly Series[];
  lines: readonly Series[];
  /** The instant whose buffers are listed. */
  instant: number;
  liveBytes: number;
  live: TableData;
  /** 0 if unknown. */
  batch: number;
  /** Bytes that do not and that do grow with the batch, of the instants that matter, and the factor above which they count. */
  corners: readonly (readonly [number, number, number])[];
  /** What programs compiled anew needed at least and at most, as factors of the prediction. */
  recompiled: readonly [number, number];
  assumed: TableData;
}

const numbers = (value: unknown, what: string): number[] => asList(value, what).map((one) => asNumber(one, what));

function seriesOf(value: unknown, nameKey: string, what: string): Series[] {
  return asList(value, what).map((one) => {
    const dict = asDict(one, what);
    return { name: asText(dict[nameKey], `the name in ${what}`), bytes: numbers(dict["bytes"], what) };
  });
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readOverTime(value: unknown): MemoryOverTime {
  const answer = asDict(value, "the memory over time");
  const number = (name: string): number => asNumber(answer[name], name);
  const recompiled = asList(answer["recompiled"], "the factors of programs compiled anew");
  const found: MemoryOverTime = {
    program: asText(answer["program"], "the program"),
    deviceBytes: number("device_bytes"),
    instants: number("instants"),
    peak: number("peak"),
    peakBytes: number("peak_bytes"),
    shown: numbers(answer["shown"], "the instants"),
    names: asList(answer["names"], "the instructions").map((name) => asText(name, "an instruction")),
    heap: numbers(answer["heap"], "the heap"),
    categories: seriesOf(answer["categories"], "name", "the kinds of memory"),
    lines: seriesOf(answer["lines"], "label", "the lines of memory"),
    instant: number("instant"),
    liveBytes: number("live_bytes"),
    live: asTable(answer["live"], "the table of live buffers"),
    batch: number("batch"),
    corners: asList(answer["corners"], "the corners").map((one) => {
      const [fixed, scaled, above] = numbers(one, "a corner");
      if (fixed === undefined || scaled === undefined || above === undefined) throw badAnswer("a corner lacks a number");
      return [fixed, scaled, above] as const;
    }),
    recompiled: [asNumber(recompiled[0], "the least factor"), asNumber(recompiled[1], "the largest factor")],
    assumed: asTable(answer["assumed"], "the table of assumptions"),
  };
  for (const { bytes, name } of [...found.categories, ...found.lines])
    if (bytes.length !== found.shown.length)
      throw badAnswer(`${name} has ${String(bytes.length)} sizes for ${String(found.shown.length)} instants`);
  return found;
}
