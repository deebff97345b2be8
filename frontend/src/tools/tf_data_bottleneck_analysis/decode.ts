// Decodes the tool's responses: three tables of all pipelines, and one run of a pipeline.
import { asDict, asList, asNumber, asTable, asText, badAnswer, numbersOf, textsOf } from "../../api/payload/fields";
import type { Dict } from "../../api/payload/fields";
import type { TableData } from "../../base/table/table_data";
import type { Analysis, Bottleneck, IteratorNode, Link, Pipeline, Role, Run, Settings, Spans, Thread } from "./types";

const TABLES = 3;

const lines = (text: string | undefined): string[] =>
  (text ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** Lines "TITLE<tab>ADDRESS"; only http and https. */
function readLinks(text: string): Link[] {
  return lines(text).flatMap((line) => {
    const [title = "", href = ""] = line.split("\t");
    return /^https?:\/\//i.test(href) ? [{ title, href }] : [];
  });
}

const pipelineKey = (host: string, name: string): string => `${host}\n${name}`;

function readBottlenecks(table: TableData): Map<string, Bottleneck> {
  const what = "the table of bottlenecks";
  const [hosts, names, iterators, longNames, steps, links] = [
    "host",
    "input_pipeline",
    "iterator",
    "long_name",
    "advice_text",
    "advice_links",
  ].map((id) => textsOf(table, id, what));
  const selfTimes = numbersOf(table, "self_ps", what);
  const column = (id: string): readonly unknown[] => table.columns.find((one) => one.id === id)?.values ?? [];
  const [parallelism, autotune] = [column("parallelism"), column("autotune")];
  const bottlenecks = new Map<string, Bottleneck>();
  selfTimes.forEach((selfPs, i) => {
    const name = iterators?.[i] ?? "";
    // A run in which no iterator blocked has no bottleneck.
    if (name === "") return;
    bottlenecks.set(pipelineKey(hosts?.[i] ?? "", names?.[i] ?? ""), {
      name,
      longName: longNames?.[i] ?? "",
      selfPs,
      steps: lines(steps?.[i]),
      links: readLinks(links?.[i] ?? ""),
      parallelism: typeof parallelism[i] === "number" ? parallelism[i] : null,
      autotune: autotune[i] === "true" ? true : autotune[i] === "false" ? false : null,
    });
  });
  return bottlenecks;
}

function readPipelines(table: TableData, bottlenecks: ReadonlyMap<string, Bottleneck>): Pipeline[] {
  const what = "the table of pipelines";
  const [hosts, names, kinds, datasets] = ["host", "input_pipeline", "kind", "name"].map((id) => textsOf(table, id, what));
  const [min, mean, max, runs, slow] = ["min_ps", "mean_ps", "max_ps", "num_calls", "num_slow_calls"].map((id) =>
    numbersOf(table, id, what),
  );
  const numberAt = (column: readonly number[] | undefined, i: number): number => column?.[i] ?? 0;
  return (hosts ?? []).map((host, i) => {
    const name = names?.[i] ?? "";
    return {
      host,
      name,
      kind: kinds?.[i] === "device" ? "device" : "host",
      dataset: datasets?.[i] ?? "",
      runs: numberAt(runs, i),
      slow: numberAt(slow, i),
      minPs: numberAt(min, i),
      meanPs: numberAt(mean, i),
      maxPs: numberAt(max, i),
      bottleneck: bottlenecks.get(pipelineKey(host, name)) ?? null,
    };
  });
}

/** Decodes the tables; throws `bad_answer` naming the field if they are malformed. */
export function readAnalysis(value: unknown): Analysis {
  const parts = asList(value, "the analysis of tf.data");
  if (parts.length < TABLES) throw badAnswer(`the analysis of tf.data has ${parts.length} tables in place of ${TABLES}`);
  const bottlenecks = asTable(parts[2], "the table of bottlenecks");
  return {
    inputBound: bottlenecks.properties["is_input_bound"] === "true",
    message: bottlenecks.properties["summary_message"] ?? "",
    pipelines: readPipelines(asTable(parts[1], "the table of pipelines"), readBottlenecks(bottlenecks)),
    problems: lines(bottlenecks.properties["problems"]),
  };
}

function readRole(value: unknown): Role {
  return value === 2 ? 2 : value === 1 ? 1 : 0;
}

function readSettings(value: unknown): Settings {
  const known = Object.entries(value === undefined ? {} : asDict(value, "settings of an iterator"));
  return Object.fromEntries(known.flatMap(([name, one]) => (typeof one === "number" || typeof one === "boolean" ? [[name, one]] : [])));
}

function readNode(value: unknown): IteratorNode {
  const node = asDict(value, "an iterator");
  const text = (key: string): string => asText(node[key], `${key} of an iterator`);
  const number = (key: string): number => asNumber(node[key], `${key} of an iterator`);
  return {
    id: text("id"),
    parent: text("parent"),
    name: text("iterator"),
    longName: text("long_name"),
    dataset: typeof node["name"] === "string" ? node["name"] : "",
    beginPs: number("start_ps"),
    durationPs: number("duration_ps"),
    selfPs: number("self_ps"),
    calls: number("calls"),
    role: readRole(node["type"]),
    settings: readSettings(node["settings"]),
  };
}

function readSpans(boxes: Dict): Spans {
  const column = (key: string): number[] => asList(boxes[key], `${key} of the boxes`).map((one) => asNumber(one, `${key} of a box`));
  const spans = {
    node: column("iterator"),
    thread: column("track"),
    beginPs: column("begin_ps"),
    durationPs: column("duration_ps"),
    blocking: column("blocking"),
    count: column("count"),
  };
  if (Object.values(spans).some((values) => values.length !== spans.node.length))
    throw badAnswer("the boxes have columns of different lengths");
  return spans;
}

/** Decodes one run; throws `bad_answer`. */
export function readRun(value: unknown): Run {
  const run = asDict(value, "the run");
  const number = (key: string): number => asNumber(run[key], `${key} of the run`);
  return {
    host: asText(run["host"], "the host of the run"),
    pipeline: asText(run["pipeline"], "the pipeline of the run"),
    rank: number("rank"),
    runs: number("ranks"),
    beginPs: number("begin_ps"),
    durationPs: number("duration_ps"),
    nodes: asList(run["iterators"], "the iterators").map(readNode),
    threads: asList(run["tracks"], "the threads").map((one): Thread => {
      const track = asDict(one, "a thread");
      return {
        pid: asNumber(track["pid"], "pid of a thread"),
        tid: asNumber(track["tid"], "tid of a thread"),
        name: asText(track["name"], "the name of a thread"),
      };
    }),
    spans: readSpans(asDict(run["boxes"], "the boxes")),
    executions: number("executions"),
    truncated: run["truncated"] === true,
    problems: Array.isArray(run["problems"]) ? run["problems"].map(String) : [],
  };
}
