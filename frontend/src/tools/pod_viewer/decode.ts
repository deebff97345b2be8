// The pod viewer's answer: per step and worker, how long it took and what for.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/fields";
import type { Dict } from "../../api/fields";
import type { Message } from "../../api/step_table";
import { categoryOfName } from "../../base/step_category";
import type { CategoryId } from "../../base/step_category";

export interface Part {
  id: string;
  name: string;
  category: CategoryId;
}

export interface Worker {
  core: number;
  host: string;
  chip: number;
  node: number;
  /** Name of its column: the host, or the core of a TPU. */
  label: string;
}

export interface WorkerStep {
  totalUs: number;
  /** In the order of the parts. */
  partsUs: readonly number[];
  bottleneck: string;
}

export interface PodStep {
  number: number;
  /** Missing where a worker took no part. */
  byCore: ReadonlyMap<number, WorkerStep>;
}

export interface Pod {
  device: string;
  parts: Part[];
  workers: Worker[];
  steps: PodStep[];
  messages: Message[];
}

function readStep(value: unknown, parts: readonly Part[], workers: Map<number, Omit<Worker, "label">>): PodStep {
  const step = asDict(value, "a step");
  const byCore = new Map<number, WorkerStep>();
  for (const [id, entry] of Object.entries(asDict(step["podStatsPerCore"], "the cores of a step"))) {
    const what = `core ${id}`;
    const stats = asDict(entry, what);
    const core = asNumber(id, what);
    const split = asDict(stats["stepBreakdownUs"], `the breakdown of ${what}`);
    workers.set(core, { core, host: asText(stats["hostName"], `the host of ${what}`), chip: Number(stats["chipId"] ?? 0), node: Number(stats["nodeId"] ?? 0) });
    byCore.set(core, {
      totalUs: asNumber(stats["totalDurationUs"], `the time of ${what}`),
      partsUs: parts.map((part) => Number(split[part.id] ?? 0)),
      bottleneck: typeof stats["bottleneck"] === "string" ? stats["bottleneck"] : "",
    });
  }
  return { number: asNumber(step["stepNum"] ?? 0, "the number of a step"), byCore };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Hosts by name, then chip, node and core; each with the name of its column. */
export function labelled(workers: Iterable<Omit<Worker, "label">>, onTpu: boolean): Worker[] {
  const sorted = [...workers].sort((a, b) => compare(a.host, b.host) || a.chip - b.chip || a.node - b.node || a.core - b.core);
  // Profiles of today know neither chips nor nodes: then the place within the host tells cores apart.
  const placed = sorted.some(({ chip, node }) => chip !== 0 || node !== 0);
  const hosts = new Map<string, number>();
  for (const { host } of sorted) hosts.set(host, (hosts.get(host) ?? 0) + 1);
  const seen = new Map<string, number>();
  return sorted.map((worker) => {
    const ordinal = seen.get(worker.host) ?? 0;
    seen.set(worker.host, ordinal + 1);
    if (onTpu && placed) return { ...worker, label: `(${worker.chip},${worker.node})` };
    return { ...worker, label: onTpu || (hosts.get(worker.host) ?? 0) > 1 ? `${worker.host}:${ordinal}` : worker.host };
  });
}

function readMessages(value: unknown): Message[] {
  const dict = asDict(value ?? {}, "the messages");
  const list = (key: string, severity: Message["severity"]): Message[] => asList(dict[key] ?? [], "the messages").map((text) => ({ severity, text: asText(text, "a message").trim() })).filter(({ text }) => text !== "");
  return [...list("errors", "error"), ...list("warnings", "warning"), ...list("info", "info")];
}

/** Reads the whole answer; throws `bad_answer` with the place when the form is another. */
export function readPod(value: unknown): Pod {
  const pod = asDict(value, "the pod");
  const sequence: Dict = asDict(pod["podStatsSequence"] ?? {}, "the steps");
  const parts = asList(pod["stepBreakdownEvents"], "the parts of a step").map((one): Part => {
    const part = asDict(one, "a part of a step");
    const name = asText(part["name"], "the name of a part");
    return { id: String(asNumber(part["id"], "the id of a part")), name, category: categoryOfName(name) };
  });
  if (parts.length === 0) throw badAnswer("the parts of a step have no names");
  const device = typeof pod["deviceType"] === "string" ? pod["deviceType"] : "";
  const found = new Map<number, Omit<Worker, "label">>();
  const steps = asList(sequence["podStatsMap"] ?? [], "the steps").map((step) => readStep(step, parts, found));
  return { device, parts, workers: labelled(found.values(), /tpu/i.test(device)), steps, messages: readMessages(pod["diagnostics"]) };
}
