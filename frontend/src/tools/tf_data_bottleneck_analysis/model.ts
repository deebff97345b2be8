// Summary, advice and tables of pipelines and iterators. Pure.
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import type { DataPipelineRun as Run, DataPipelines, PipelineIterator } from "../../base/documents";
import { columnsOf, makeTable } from "../../base/table/columns";
import { formatCount, formatTime, plural } from "../../base/format";
import type { TableData } from "../../base/table/table_data";
import type { Tone } from "../../base/steps/steps";
import type { Drawn, Role } from "./graph/tree";

const US = 1e6;

/** Calls that take longer are slow. */
const LIMIT = formatTime(50e6);
const WHAT = "the table of pipelines";

/** A row of the table of pipelines. */
export interface Pipeline {
  row: number;
  host: string;
  /** Name of the host in requests. */
  requestHost: string;
  /** "Host:0". */
  name: string;
  kind: string;
  runs: number;
  slow: number;
  meanPs: number;
  maxPs: number;
  /** Null for device pipelines, or if no iterator blocked. */
  bottleneck: { name: string; selfPs: number } | null;
}

export interface Analysis {
  found: DataPipelines;
  /** In the server's order, by host. */
  pipelines: readonly Pipeline[];
}

export function analysisOf(found: DataPipelines): Analysis {
  const table = found.pipelines;
  const [hosts, requests, names, kinds] = ["host", "request_host", "input_pipeline", "kind"].map((id) => textsOf(table, id, WHAT));
  const [runs, slow, mean, max, self] = ["calls", "slow_calls", "mean_ps", "max_ps", "bottleneck_ps"].map((id) =>
    numbersOf(table, id, WHAT),
  );
  const bottlenecks = columnOf(table, "bottleneck") ?? [];
  const pipelines = (hosts ?? []).map((host, row): Pipeline => {
    const bottleneck = bottlenecks[row];
    return {
      row,
      host,
      requestHost: requests?.[row] ?? "",
      name: names?.[row] ?? "",
      kind: kinds?.[row] ?? "",
      runs: runs?.[row] ?? 0,
      slow: slow?.[row] ?? 0,
      meanPs: mean?.[row] ?? 0,
      maxPs: max?.[row] ?? 0,
      bottleneck: typeof bottleneck === "string" ? { name: bottleneck, selfPs: self?.[row] ?? 0 } : null,
    };
  });
  return { found, pipelines };
}

export const ROLES: Readonly<Record<Role, { name: string; mark: string; help: string }>> = {
  2: { name: "bottleneck", mark: "▲ Bottleneck", help: "The iterator of the critical path with the largest self time: optimise it first." },
  1: { name: "critical path", mark: "● Critical path", help: "The consumer waited for it in this run." },
  0: {
    name: "not waited for",
    mark: "○ Not waited for",
    help: "It ran in parallel to or ahead of the consumer, which did not wait for it in this run.",
  },
};

/** The slowest host pipeline, which is selected by default. */
export function slowest({ pipelines }: Analysis): Pipeline | null {
  return pipelines.reduce<Pipeline | null>(
    (best, one) => (one.kind === "host" && (best === null || one.maxPs > best.maxPs) ? one : best),
    null,
  );
}

/** The pipeline in the address; else the slowest one, of the named host if any. */
export function choosePipeline(analysis: Analysis, host: string | null, name: string | null): Pipeline | null {
  const { pipelines } = analysis;
  const there = pipelines.filter((one) => host === null || one.host === host);
  return (
    there.find((one) => name !== null && one.name === name) ??
    slowest({ ...analysis, pipelines: there }) ??
    there[0] ??
    slowest(analysis) ??
    pipelines[0] ??
    null
  );
}

/** Relates the self time of the bottleneck to the duration of the call. */
function describeSelfTime({ name, selfPs }: NonNullable<Pipeline["bottleneck"]>, { maxPs }: Pipeline): string {
  if (selfPs <= maxPs) return `${formatTime(selfPs)} of that is the self time of ${name}`;
  return `${name} ran for ${formatTime(selfPs)}, partly ahead of the call or on several threads`;
}

/** The summary. */
export function headline(analysis: Analysis): { tone: Tone; title: string; sentences: string[] } {
  const worst = slowest(analysis);
  if (!worst) {
    return {
      tone: "none",
      title: "Only device pipelines were recorded",
      sentences: ["The profile does not contain the host pipelines that feed them, so no bottleneck can be determined."],
    };
  }
  const where = `${worst.name} of ${worst.host}`;
  const calls = `${formatCount(worst.slow)} of ${plural(worst.runs, "call")} took longer than ${LIMIT}; ${formatTime(worst.meanPs)} on average.`;
  if (!analysis.found.input_bound) {
    return {
      tone: "good",
      title: `No input pipeline is slow: the slowest call, of ${where}, takes ${formatTime(worst.maxPs)}`,
      sentences: [`Calls of up to ${LIMIT} are not considered slow.`],
    };
  }
  const worstBottleneck = worst.bottleneck;
  return {
    tone: "bad",
    title: worstBottleneck
      ? `Input pipeline ${where} is slow: ${worstBottleneck.name} is its bottleneck`
      : `Input pipeline ${where} is slow`,
    sentences: [
      `A call takes up to ${formatTime(worst.maxPs)}${worstBottleneck ? `; ${describeSelfTime(worstBottleneck, worst)}` : ""}.`,
      calls,
    ],
  };
}

/** Picoseconds as microseconds. */
const us = (ps: number): number => ps / US;

const SETTINGS: readonly (readonly [id: string, label: string, text: (value: number | boolean) => string])[] = [
  ["parallelism", "Parallelism", (value) => formatCount(Number(value))],
  ["autotune", "Autotune", (value) => (value ? "on" : "off: fixed by the program")],
  ["buffer_size", "Shuffle buffer", (value) => plural(Number(value), "element")],
  ["buffer_limit", "Prefetch buffer", (value) => plural(Number(value), "element")],
  ["cycle_length", "Cycle length", (value) => plural(Number(value), "input")],
  ["batch_size", "Batch size", (value) => plural(Number(value), "element")],
  ["deterministic", "Order", (value) => (value ? "kept (deterministic)" : "not kept")],
  ["cpu_budget", "CPUs for tf.data", (value) => formatCount(Number(value))],
  ["passed", "Kept so far", (value) => plural(Number(value), "element")],
  ["filtered", "Dropped so far", (value) => plural(Number(value), "element")],
];

/** The recorded settings of an iterator: name and value. */
export function settingLines({ settings }: Pick<PipelineIterator, "settings">): [string, string][] {
  return SETTINGS.flatMap(([id, label, text]) =>
    settings[id] === undefined ? [] : [[label, text(settings[id])] satisfies [string, string]],
  );
}

/** One row per iterator of a run. */
export function iteratorsTable(run: Run): TableData {
  const { text, number } = columnsOf(run.iterators);
  return makeTable([
    text("name", "Iterator", "Last part of the long name.", (node) => node.name),
    text("role", "Role", "Bottleneck, critical path, or not waited for.", (node) => ROLES[node.role].name),
    number("start", "Start time", "us", "First execution, on the time axis of the trace viewer.\nSource: trace.", (node) =>
      us(node.begin_ps),
    ),
    number("total", "Total duration", "us", "Sum of the wall times of all its executions in this run.\nSource: trace.", (node) =>
      us(node.duration_ps),
    ),
    number("self", "Self duration", "us", "Total duration, excluding the time in which its inputs ran within it.\nSource: trace.", (node) =>
      us(node.self_ps),
    ),
    number("calls", "Calls", null, "Executions in this run.\nSource: trace.", (node) => node.calls),
    text("settings", "Settings", "Recorded with its first call in this run.\nSource: trace.", (node) =>
      settingLines(node)
        .map(([name, value]) => `${name}: ${value}`)
        .join("; "),
    ),
    text("long_name", "Long name", "The iterator with all its consumers in the pipeline.", (node) => node.long_name),
    text("id", "Id", "Id of the iterator in the trace.", (node) => node.id),
    text("parent", "Parent id", "Id of the iterator that consumes its elements.", (node) => node.parent || null),
  ]);
}

/** Time since the begin of the run, such as "+12.5 us"; negative for executions ahead of it. */
export function sinceBegin(ps: number, run: Pick<Run, "begin_ps">): string {
  const by = ps - run.begin_ps;
  return by < 0 ? `−${formatTime(-by)}` : `+${formatTime(by)}`;
}

/** The properties of a node: name and value. */
export function nodeLines(node: Drawn, run: Run): [string, string][] {
  return [
    ["Start time", sinceBegin(node.begin_ps, run)],
    ["Total duration", formatTime(node.duration_ps)],
    ["Self duration", formatTime(node.self_ps)],
    ["Calls", formatCount(node.calls)],
  ];
}

/** Describes a node in one sentence, for screen readers. */
export function describeNode(node: Drawn, run: Run): string {
  return `${node.name}, ${ROLES[node.role].name}: ${nodeLines(node, run)
    .map(([name, value]) => `${name.toLowerCase()} ${value}`)
    .join(", ")}.`;
}

interface NamePart {
  name: string;
  /** 0 for the iterator itself; n for the n-th consumer after it. */
  after: number;
}

/** The parts of a long name: the iterator itself, then its consumers up to the root. */
export function nameParts(longName: string): NamePart[] {
  const parts = longName.split("::").slice(1);
  return parts.reverse().map((name, after) => ({ name, after }));
}
