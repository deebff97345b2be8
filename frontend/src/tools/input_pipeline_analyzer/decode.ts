// Decodes the input pipeline analysis: XProf's five tables, and the decomposition of the steps.
import { asDict, asList, asTable, asText, badAnswer, propertyNumber, textsOf } from "../../api/payload/fields";
import { relabelled, withUnits } from "../../base/table/transform";
import { readStepReading } from "../../api/payload/step_reading";
import { readMessages, readSteps } from "../../api/payload/step_table";
import { breakdownOf } from "../../base/steps/decomposition";
import type { StepReading } from "../../base/steps/reading";
import type { Message } from "../../api/payload/step_table";
import type { StepBreakdown } from "../../base/steps/steps";
import type { TableData } from "../../base/table/table_data";

interface HostPart {
  kind: "other" | "demanded" | "advanced" | "preprocessing" | "enqueue";
  name: string;
  help: string;
  us: number;
  /** Hue of the categorical palette. */
  hue: number;
}

export interface InputPipeline {
  /** TPU only: of the cores of all hosts the one that waited longest, per step. */
  waitingCores: { steps: string[]; cores: string[] } | null;
  /** The decomposition of `extended`, else XProf's steps. */
  steps: StepBreakdown;
  /** Null in XProf's reading. */
  reading: StepReading | null;
  ops: TableData;
  /** The parts of the host's input processing, in XProf's order. */
  host: HostPart[];
  tips: string[];
  messages: Message[];
  /** What to do about the input; "" where there is nothing to say. In XProf's reading as HTML. */
  next: string;
  /** Why there are no input ops. */
  noOps: string;
}

const NO_OPS = "The profile contains no op of an input pipeline. Only pipelines that record their stages appear here, such as tf.data.";

const TABLES = 5;
const LABELS = {
  opName: "Input op",
  timeInMs: "Total time",
  timeInPercent: "Total time (share)",
  selfTimeInMs: "Self time",
  selfTimeInPercent: "Self time (share)",
};

/** Property of the table of ops -> kind, name, hue and description. */
const HOST_PARTS = [
  [
    "unclassified_nonequeue_us",
    "other",
    "Other data reading or processing",
    5,
    "Input processing that is not attributed to an op of the table.",
  ],
  [
    "demanded_file_read_us",
    "demanded",
    "Reading data from files on demand",
    0,
    "Reads without caching, prefetching or interleaving, each of which the program waits for.",
  ],
  ["advanced_file_read_us", "advanced", "Reading data from files in advance", 1, "Reads with caching, prefetching or interleaving."],
  ["preprocessing_us", "preprocessing", "Data preprocessing", 2, "Transformations such as decompressing and parsing."],
  ["enqueue_us", "enqueue", "Enqueuing data to be transferred to the device", 7, "Putting data into the device's infeed queue."],
] as const;

function readWaitingCores(table: TableData): InputPipeline["waitingCores"] {
  if (table.columns.length < 2 || table.rowCount < 2) return null;
  const [, ...columns] = table.columns;
  return { steps: columns.map(({ values }) => String(values[0] ?? "")), cores: columns.map(({ values }) => String(values[1] ?? "")) };
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readInputPipeline(value: unknown): InputPipeline {
  const parts = asList(value, "the input pipeline");
  if (parts.length < TABLES) throw badAnswer(`the input pipeline has ${parts.length} tables in place of ${TABLES}`);
  const more = parts[TABLES] === undefined ? null : asDict(parts[TABLES], "the extended data");
  const reading = more && readStepReading(more);
  const xprof = readSteps(parts[1]);
  const ops = asTable(parts[2], "the table of input ops");
  const tips = asTable(parts[3], "the table of tips");
  return {
    waitingCores: readWaitingCores(asTable(parts[0], "the table of waiting cores")),
    steps: reading ? breakdownOf(reading.decomposition) : xprof,
    reading,
    ops: relabelled(
      withUnits(ops, { timeInMs: "ms", timeInPercent: "fraction", selfTimeInMs: "ms", selfTimeInPercent: "fraction" }),
      LABELS,
    ),
    host: HOST_PARTS.map(([key, kind, name, hue, help]) => ({ kind, name, hue, help, us: propertyNumber(ops.properties, key) ?? 0 })),
    tips: tips.columns.length ? textsOf(tips, "link", "the table of tips") : [],
    messages: readMessages(parts[4]),
    next: more ? asText(more["next"] ?? "", "the next step") : (xprof.properties["summary_nextstep"] ?? ""),
    noOps: more ? asText(more["no_ops"] ?? NO_OPS, "why there are no input ops") : NO_OPS,
  };
}

/** Cores that waited longest, with the number of steps in which they did, most steps first. */
export function waitingCounts({ cores }: { cores: readonly string[] }): [string, number][] {
  const counts = new Map<string, number>();
  for (const core of cores) counts.set(core, (counts.get(core) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
