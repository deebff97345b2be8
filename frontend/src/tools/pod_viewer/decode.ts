// Decodes the pod viewer: per step and worker, its time and the parts of it.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/payload/fields";
import type { Dict } from "../../api/payload/fields";
import type { Message } from "../../api/payload/step_table";
import { categoryOfName } from "../../base/steps/step_category";
import type { CategoryId } from "../../base/steps/step_category";

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
  /** Name of a device that the server names. */
  name?: string;
  /** Label of its bar: the host, the core of a TPU, or its name. */
  label: string;
}

export interface WorkerStep {
  totalUs: number;
  /** In the order of `parts`. */
  partsUs: readonly number[];
  bottleneck: string;
}

export interface PodStep {
  number: number;
  /** Times of the workers that took part, unordered. */
  totalsUs: readonly number[];
  /** Undefined for a worker that did not take part. */
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
    workers.set(core, {
      core,
      host: asText(stats["hostName"], `the host of ${what}`),
      chip: Number(stats["chipId"] ?? 0),
      node: Number(stats["nodeId"] ?? 0),
    });
    byCore.set(core, {
      totalUs: asNumber(stats["totalDurationUs"], `the time of ${what}`),
      partsUs: parts.map((part) => Number(split[part.id] ?? 0)),
      bottleneck: typeof stats["bottleneck"] === "string" ? stats["bottleneck"] : "",
    });
  }
  return {
    number: asNumber(step["stepNum"] ?? 0, "the number of a step"),
    byCore,
    totalsUs: [...byCore.values()].map(({ totalUs }) => totalUs),
  };
}

const NS_PER_US = 1000;

/** One step of the array form; the statistics of a worker are built on demand. */
class ArrayStep implements PodStep {
  #byCore: ReadonlyMap<number, WorkerStep> | null = null;

  constructor(
    readonly number: number,
    private readonly cores: readonly number[],
    private readonly totalNs: readonly number[],
    /** By part, then by core; null if the part took no time on any core. */
    private readonly partsNs: readonly (readonly number[] | null)[],
    private readonly parts: readonly Part[],
  ) {}

  get totalsUs(): number[] {
    return this.totalNs.map((ns) => ns / NS_PER_US);
  }

  get byCore(): ReadonlyMap<number, WorkerStep> {
    this.#byCore ??= new Map(
      this.cores.map((core, column) => {
        const partsUs = this.partsNs.map((one) => (one?.[column] ?? 0) / NS_PER_US);
        return [core, { totalUs: (this.totalNs[column] ?? 0) / NS_PER_US, partsUs, bottleneck: this.largest(partsUs) }];
      }),
    );
    return this.#byCore;
  }

  /** The name of the longest part; if several are equal, the last by name. */
  private largest(partsUs: readonly number[]): string {
    const best = this.parts.reduce(
      (old, part, i) => {
        const gap = (partsUs[i] ?? 0) - old.time;
        return gap > 0 || (gap === 0 && part.name > old.name) ? { time: partsUs[i] ?? 0, name: part.name } : old;
      },
      { time: -1, name: "" },
    );
    return best.name;
  }
}

function numbersOf(value: unknown, count: number, what: string): number[] {
  const list = asList(value, what);
  if (list.length !== count) throw badAnswer(`${what} do not have the expected length`);
  return list.map((one) => asNumber(one, what));
}

/** Decodes the form with arrays over steps and cores. */
function readArrays(value: unknown, parts: readonly Part[], workers: Map<number, Omit<Worker, "label">>): PodStep[] {
  const arrays = asDict(value, "the steps");
  const hosts = asList(arrays["hosts"], "the hosts").map((host) => asText(host, "a host"));
  const cores = numbersOf(arrays["cores"], hosts.length, "the cores");
  const labels = asList(arrays["labels"] ?? [], "the names of devices").map((label) => asText(label, "the name of a device"));
  cores.forEach((core, i) =>
    workers.set(core, { core, host: hosts[i] ?? "", chip: 0, node: 0, ...(labels[i] === undefined ? {} : { name: labels[i] }) }),
  );
  const totals = asList(arrays["total_ns"], "the times of steps");
  const split = asDict(arrays["parts_ns"], "the parts of steps");
  const columns = parts.map(({ id }) => (split[id] === undefined ? null : asList(split[id], "a part of steps")));
  return numbersOf(arrays["numbers"], totals.length, "the numbers of steps").map((number, at) => {
    const partsNs = columns.map((column) => (column === null ? null : numbersOf(column[at], cores.length, "the times of a part")));
    return new ArrayStep(number, cores, numbersOf(totals[at], cores.length, "the times of a step"), partsNs, parts);
  });
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Workers sorted by host, chip, node and core, with their labels. */
export function labelled(workers: Iterable<Omit<Worker, "label">>, onTpu: boolean): Worker[] {
  const sorted = [...workers].sort((a, b) => compare(a.host, b.host) || a.chip - b.chip || a.node - b.node || a.core - b.core);
  // Current profiles contain neither chips nor nodes; cores are then numbered within their host.
  const placed = sorted.some(({ chip, node }) => chip !== 0 || node !== 0);
  const hosts = new Map<string, number>();
  for (const { host } of sorted) hosts.set(host, (hosts.get(host) ?? 0) + 1);
  const seen = new Map<string, number>();
  return sorted.map((worker) => {
    const ordinal = seen.get(worker.host) ?? 0;
    seen.set(worker.host, ordinal + 1);
    if (worker.name !== undefined) return { ...worker, label: worker.name };
    if (onTpu && placed) return { ...worker, label: `(${worker.chip},${worker.node})` };
    return { ...worker, label: onTpu || (hosts.get(worker.host) ?? 0) > 1 ? `${worker.host}:${ordinal}` : worker.host };
  });
}

function readMessages(value: unknown): Message[] {
  const dict = asDict(value ?? {}, "the messages");
  const list = (key: string, severity: Message["severity"]): Message[] =>
    asList(dict[key] ?? [], "the messages")
      .map((text) => ({ severity, text: asText(text, "a message").trim() }))
      .filter(({ text }) => text !== "");
  return [...list("errors", "error"), ...list("warnings", "warning"), ...list("info", "info")];
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
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
  const workersById = new Map<number, Omit<Worker, "label">>();
  const steps =
    pod["steps"] === undefined
      ? asList(sequence["podStatsMap"] ?? [], "the steps").map((step) => readStep(step, parts, workersById))
      : readArrays(pod["steps"], parts, workersById);
  return { device, parts, workers: labelled(workersById.values(), /tpu/i.test(device)), steps, messages: readMessages(pod["diagnostics"]) };
}
