// The pod: per step and worker, its time and the parts of it.
import type { BudgetCategory, Pod as PodDocument, PodSteps } from "../../base/documents";
import { shownGroups } from "../../base/steps/decomposition";

export interface Worker {
  /** Its column in the document. */
  core: number;
  host: string;
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
  parts: readonly BudgetCategory[];
  workers: Worker[];
  steps: PodStep[];
  /** Number of marked steps that are not among `steps`. */
  leftOut: number;
  notes: readonly string[];
}

const NS_PER_US = 1000;

/** Margin on both sides of a step in the trace viewer, as a share of the step. */
const MARGIN = 0.05;

/** A step; the statistics of a worker are built on demand. */
class ArrayStep implements PodStep {
  #byCore: ReadonlyMap<number, WorkerStep> | null = null;

  constructor(
    readonly number: number,
    readonly name: string,
    private readonly totalNs: readonly number[],
    /** Null in XProf's reading. */
    private readonly beginPs: readonly number[] | null,
    /** Workers that take part. */
    private readonly present: readonly number[],
    /** By id, then by worker. */
    private readonly innerNs: ReadonlyMap<string, readonly number[]>,
    private readonly parts: readonly BudgetCategory[],
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
    const partsUs = this.parts.map(({ parts }) => parts.reduce((all, { id }) => all + (innerUs.get(id) ?? 0), 0));
    const most = partsUs.indexOf(Math.max(...partsUs));
    const [begin, length] = [this.beginPs?.[worker] ?? 0, (this.totalNs[worker] ?? 0) * 1000];
    const room = length * MARGIN;
    return {
      totalUs: (this.totalNs[worker] ?? 0) / NS_PER_US,
      partsUs,
      innerUs,
      bottleneck: this.parts[most]?.name ?? "",
      window: this.beginPs && `${Math.max(0, Math.round(begin - room))},${Math.round(begin + length + room)}`,
    };
  }
}

function budgetSteps(steps: PodSteps, parts: readonly BudgetCategory[]): PodStep[] {
  const { numbers, names, hosts, total_ns, begin_ps, takes_part, parts_ns } = steps;
  return numbers.map((number, step) => {
    const present = takes_part?.[step] ?? null;
    return new ArrayStep(
      number,
      names[step] ?? String(number),
      total_ns[step] ?? [],
      begin_ps && (begin_ps[step] ?? []),
      hosts.flatMap((_, worker) => (present === null || present[worker] === true ? [worker] : [])),
      new Map(Object.entries(parts_ns).map(([id, column]) => [id, column[step] ?? []])),
      parts,
    );
  });
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The pod with its workers in order of their hosts. */
export function podOf({ steps, groups, notes }: PodDocument): Pod {
  const parts = shownGroups(groups);
  const workers = steps.hosts.map((host, core) => ({ core, host, label: steps.labels[core] ?? "" }));
  return {
    parts,
    workers: workers.sort((a, b) => compare(a.host, b.host) || a.core - b.core),
    steps: budgetSteps(steps, parts),
    leftOut: steps.left_out,
    notes,
  };
}
