// The pod: per step and worker, its time and the parts of it, from the time budget or from XProf's answer.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/payload/fields";
import type { Dict } from "../../api/payload/fields";
import type { BudgetPart, Pod as PodDocument, PodSteps } from "../../base/documents";
import type { Message } from "../../api/payload/step_table";
import { categoryOfName } from "../../base/steps/step_category";

/** A category of step time. */
export interface Part {
  id: string;
  name: string;
  /** Id of the category whose look it has. */
  category: string;
  /** What it consists of; empty in XProf's reading. */
  inner: readonly BudgetPart[];
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
  /** By id of what the parts consist of. */
  innerUs: ReadonlyMap<string, number>;
  bottleneck: string;
  /** "from,to" in ps for the trace viewer; null in XProf's reading. */
  window: string | null;
}

export interface PodStep {
  number: number;
  name: string;
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
  /** Number of marked steps that are not among `steps`. */
  leftOut: number;
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
      innerUs: new Map(),
      window: null,
      bottleneck: typeof stats["bottleneck"] === "string" ? stats["bottleneck"] : "",
    });
  }
  const number = asNumber(step["stepNum"] ?? 0, "the number of a step");
  return { number, name: stepLabel(number), byCore, totalsUs: [...byCore.values()].map(({ totalUs }) => totalUs) };
}

const NS_PER_US = 1000;

/** Margin on both sides of a step in the trace viewer, as a share of the step. */
const MARGIN = 0.05;

/** One step of the time budget; the statistics of a worker are built on demand. */
class ArrayStep implements PodStep {
  #byCore: ReadonlyMap<number, WorkerStep> | null = null;

  constructor(
    readonly number: number,
    readonly name: string,
    private readonly totalNs: readonly number[],
    private readonly beginPs: readonly number[],
    /** Workers that take part. */
    private readonly present: readonly number[],
    /** By id, then by worker. */
    private readonly innerNs: ReadonlyMap<string, readonly number[]>,
    private readonly parts: readonly Part[],
  ) {}

  get totalsUs(): number[] {
    return this.present.map((worker) => (this.totalNs[worker] ?? 0) / NS_PER_US);
  }

  get byCore(): ReadonlyMap<number, WorkerStep> {
    this.#byCore ??= new Map(this.present.map((worker) => [worker, this.of(worker)]));
    return this.#byCore;
  }

  private of(worker: number): WorkerStep {
    const innerUs = new Map([...this.innerNs].map(([id, column]) => [id, (column[worker] ?? 0) / NS_PER_US]));
    const partsUs = this.parts.map(({ inner }) => inner.reduce((all, { id }) => all + (innerUs.get(id) ?? 0), 0));
    const most = partsUs.indexOf(Math.max(...partsUs));
    const [begin, length] = [this.beginPs[worker] ?? 0, (this.totalNs[worker] ?? 0) * 1000];
    const room = length * MARGIN;
    return {
      totalUs: (this.totalNs[worker] ?? 0) / NS_PER_US,
      partsUs,
      innerUs,
      bottleneck: this.parts[most]?.name ?? "",
      window: `${Math.max(0, Math.round(begin - room))},${Math.round(begin + length + room)}`,
    };
  }
}

/** The steps of the time budget. */
function budgetSteps(steps: PodSteps, parts: readonly Part[]): PodStep[] {
  const { numbers, names, hosts, total_ns, begin_ps, takes_part, parts_ns } = steps;
  return numbers.map((number, step) => {
    const present = takes_part?.[step] ?? null;
    return new ArrayStep(
      number,
      names[step] ?? String(number),
      total_ns[step] ?? [],
      begin_ps[step] ?? [],
      hosts.flatMap((_, worker) => (present === null || present[worker] === true ? [worker] : [])),
      new Map(Object.entries(parts_ns).map(([id, column]) => [id, column[step] ?? []])),
      parts,
    );
  });
}

/** Negative numbers are steps that are cut off by the begin or end of the profile. */
export function stepLabel(number: number): string {
  return number < 0 ? `${-number} (incomplete)` : String(number);
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

const isTpu = (device: string): boolean => /tpu/i.test(device);

/** The pod of the time budget. */
export function podOf({ steps, groups, notes, device_type }: PodDocument): Pod {
  const parts = groups.map(({ id, name, parts: inner }): Part => ({ id, name, category: id, inner }));
  const workers = steps.hosts.map((host, core) => ({ core, host, chip: 0, node: 0, name: steps.labels[core] ?? "" }));
  return {
    device: device_type,
    parts,
    workers: labelled(workers, isTpu(device_type)),
    steps: budgetSteps(steps, parts),
    leftOut: steps.left_out,
    messages: notes.map((text) => ({ severity: "info", text })),
  };
}

/** XProf's categories. */
function readParts(pod: Dict): Part[] {
  return asList(pod["stepBreakdownEvents"], "the parts of a step").map((one): Part => {
    const part = asDict(one, "a part of a step");
    const name = asText(part["name"], "the name of a part");
    return { id: String(asNumber(part["id"], "the id of a part")), name, category: categoryOfName(name), inner: [] };
  });
}

/** Decodes XProf's answer; throws `bad_answer` naming the field if it is malformed. */
export function readPod(value: unknown): Pod {
  const pod = asDict(value, "the pod");
  const sequence: Dict = asDict(pod["podStatsSequence"] ?? {}, "the steps");
  const parts = readParts(pod);
  if (parts.length === 0) throw badAnswer("the parts of a step have no names");
  const device = typeof pod["deviceType"] === "string" ? pod["deviceType"] : "";
  const workersById = new Map<number, Omit<Worker, "label">>();
  const steps = asList(sequence["podStatsMap"] ?? [], "the steps").map((step) => readStep(step, parts, workersById));
  return {
    device,
    parts,
    workers: labelled(workersById.values(), isTpu(device)),
    steps,
    leftOut: 0,
    messages: readMessages(pod["diagnostics"]),
  };
}
