// Charts, summary and details of the pod viewer. Pure.
import type { BandChart, StackChart } from "../../base/chart/chart_spec";
import { filledSeries } from "../../base/chart/chart_data";
import { formatPercent, formatQuantity, plural } from "../../base/format";
import { median } from "../../base/median";
import { lookOf } from "../../base/steps/step_category";
import type { Tone } from "../../base/steps/steps";
import type { SharePart } from "../../widgets/chart/share_bar";
import type { Pod, PodStep, Worker, WorkerStep } from "./pod";

/** A host or worker is slow if it takes longer than the median of the others by more than this share. */
export const SLOW = 0.1;

const us = (value: number): string => formatQuantity(value, "us");

/** The step in the address bar, else the first. */
export function chooseStep(pod: Pod, wanted: string | null): number {
  const stepIndex = wanted === null ? -1 : pod.steps.findIndex(({ number }) => String(number) === wanted);
  return Math.max(0, stepIndex);
}

/** The step breakdown, one bar per worker. */
export function workersChart(pod: Pod, step: PodStep): StackChart {
  const series = pod.parts.map((part, i) => ({
    name: part.name,
    ...lookOf(part.id),
    values: pod.workers.map(({ core }) => step.byCore.get(core)?.partsUs[i] ?? null),
  }));
  return {
    kind: "stack",
    x: {
      name: "Worker",
      unit: null,
      labels: pod.workers.map(({ core, label }) => (step.byCore.has(core) ? label : `${label} (takes no part)`)),
    },
    y: { name: "Time", unit: "us" },
    series: filledSeries(series),
    total: "Step time",
    unordered: true,
  };
}

/** Step time over all workers, by step: mean, minimum and maximum. */
export function stepsChart(pod: Pod): BandChart {
  const totals = pod.steps.map(({ totalsUs }) => totalsUs);
  const fold = (of: (values: readonly number[]) => number): (number | null)[] =>
    totals.map((values) => (values.length ? of(values) : null));
  return {
    kind: "band",
    x: { name: "Step", unit: null, labels: pod.steps.map(({ name }) => name) },
    y: { name: "Step time", unit: "us" },
    line: { name: "Mean over workers", colour: 0, values: fold((values) => values.reduce((a, b) => a + b, 0) / values.length) },
    low: fold((values) => values.reduce((a, b) => Math.min(a, b))),
    high: fold((values) => values.reduce((a, b) => Math.max(a, b))),
    cutsOutliers: true,
  };
}

interface Timed {
  worker: Worker;
  stats: WorkerStep;
}

function present(pod: Pod, step: PodStep): Timed[] {
  return pod.workers.flatMap((worker) => {
    const stats = step.byCore.get(worker.core);
    return stats ? [{ worker, stats }] : [];
  });
}

/** A sentence on the part of the step that differs most between workers; null if none differs. */
export function widest(pod: Pod, step: PodStep): string | null {
  const presentWorkers = present(pod, step);
  let best: { gap: number; text: string } | null = null;
  pod.parts.forEach((part, i) => {
    const sorted = [...presentWorkers].sort((a, b) => (a.stats.partsUs[i] ?? 0) - (b.stats.partsUs[i] ?? 0));
    const [least, most] = [sorted[0], sorted.at(-1)];
    if (!least || !most) return;
    const [low, high] = [least.stats.partsUs[i] ?? 0, most.stats.partsUs[i] ?? 0];
    if (high - low > (best?.gap ?? 0))
      best = {
        gap: high - low,
        text: `${part.name} differs most: ${us(low)} on ${least.worker.label}, ${us(high)} on ${most.worker.label}.`,
      };
  });
  return (best as { text: string } | null)?.text ?? null;
}

/** Time of each host: of its slowest worker. */
function hostTimes(found: readonly Timed[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { worker, stats } of found) times.set(worker.host, Math.max(times.get(worker.host) ?? 0, stats.totalUs));
  return times;
}

/** Excess of the largest over the median of the other values, as a share of it; with two, over the other one. */
function excess(values: readonly number[]): number {
  const [most = 0, ...others] = [...values].sort((a, b) => b - a);
  const middle = median(others);
  return others.length && middle > 0 ? most / middle - 1 : 0;
}

/** Parts in which a worker may wait for others. */
const WAITS: readonly string[] = ["collectives", "other", "exposed_copy", "idle_gap", "idle_other"];
/** Waits that are part of collectives. */
const IN_COLLECTIVES: readonly string[] = ["collectives"];
const WORK_FACTOR = 1.5;
const WAIT_SHARE = 0.1;

/** A worker that works longer while the others wait for it in collectives; null without one. */
function lateWorker(pod: Pod, step: PodStep): string | null {
  const presentWorkers = present(pod, step);
  if (presentWorkers.length < 2) return null;
  const sum = ({ stats }: Timed, chosen: (category: string) => boolean): number =>
    pod.parts.reduce((all, { id }, i) => all + (chosen(id) ? (stats.partsUs[i] ?? 0) : 0), 0);
  const work = presentWorkers.map((one) => sum(one, (category) => !WAITS.includes(category)));
  const waits = presentWorkers.map((one) => sum(one, (category) => IN_COLLECTIVES.includes(category)));
  const slowestIndex = work.indexOf(Math.max(...work));
  const others = (values: readonly number[]): number => median(values.filter((_, i) => i !== slowestIndex));
  const [own, rest, ownWait, restWait] = [work[slowestIndex] ?? 0, others(work), waits[slowestIndex] ?? 0, others(waits)];
  const late = presentWorkers[slowestIndex];
  if (!late || own < WORK_FACTOR * rest || restWait < 2 * ownWait || restWait - ownWait < WAIT_SHARE * late.stats.totalUs) return null;
  return `${late.worker.label} works for ${us(own)}, the others for ${us(rest)}: they wait for it in collectives, ${us(restWait)} against ${us(ownWait)}.`;
}

/** "GPU 1 takes no part in this step."; null if all do. */
function absentText(pod: Pod, step: PodStep): string | null {
  const absent = pod.workers.filter(({ core }) => !step.byCore.has(core)).map(({ label }) => label);
  if (absent.length === 0) return null;
  const named = absent.slice(0, 3).join(", ") + (absent.length > 3 ? ` and ${absent.length - 3} more` : "");
  return `${named} ${absent.length === 1 ? "takes" : "take"} no part in this step.`;
}

/** The summary of a step: the slowest worker and the part that differs most. */
export function podHeadline(pod: Pod, step: PodStep): { tone: Tone; title: string; sentences: string[] } {
  const presentWorkers = present(pod, step);
  const name = `Step ${step.name}`;
  const slowest = [...presentWorkers].sort((a, b) => b.stats.totalUs - a.stats.totalUs)[0];
  if (!slowest) return { tone: "none", title: `${name}: no worker took part`, sentences: [] };
  const largest = `Its largest part is ${slowest.stats.bottleneck.toLowerCase()}.`;
  if (presentWorkers.length === 1)
    return {
      tone: "none",
      title: `${name} takes ${us(slowest.stats.totalUs)} on the only worker`,
      sentences: [largest, absentText(pod, step)].filter((one): one is string => one !== null),
    };
  // The cores of a host share its step time, so that hosts are compared where there are several.
  const hosts = hostTimes(presentWorkers);
  const many = hosts.size > 1;
  const times = many ? [...hosts.values()] : presentWorkers.map(({ stats }) => stats.totalUs);
  const over = excess(times);
  const gap = widest(pod, step);
  const late = lateWorker(pod, step);
  const sentences = [late, gap, absentText(pod, step)].filter((one): one is string => one !== null);
  const kind = many ? "host" : "worker";
  if (over > SLOW) {
    const others = times.length === 2 ? `the other ${kind}` : `the median of the other ${kind}s`;
    return {
      tone: "bad",
      title:
        `${name}: ${many ? slowest.worker.host : slowest.worker.label} is slow, ${us(slowest.stats.totalUs)}, ` +
        `${formatPercent(100 * over)} longer than ${others}`,
      sentences,
    };
  }
  if (late !== null)
    return {
      tone: "bad",
      title: `${name}: all take about the same time, ${us(slowest.stats.totalUs)}, but wait for one worker`,
      sentences,
    };
  const fastest = Math.min(...presentWorkers.map(({ stats }) => stats.totalUs));
  const same = us(fastest) === us(slowest.stats.totalUs);
  return {
    tone: "good",
    title:
      `${name}: no straggler; ${plural(presentWorkers.length, "worker")} on ${plural(hosts.size, "host")} take ` +
      `${same ? us(fastest) : `${us(fastest)} to ${us(slowest.stats.totalUs)}`}`,
    sentences,
  };
}

interface CardLine {
  name: string;
  text: string;
  share: SharePart;
  /** Indented: a part of the line above. */
  inner: boolean;
}

const UNITS = [
  ["ns", 1e-3],
  ["us", 1],
  ["ms", 1e3],
  ["s", 1e6],
] as const;

/** Writes times in the unit and with the decimals that suit `largestUs`, so that a list of them adds up as printed. */
export function sameUnit(largestUs: number): (valueUs: number) => string {
  const [unit, factor] = UNITS.findLast(([, size]) => largestUs >= size) ?? UNITS[0];
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.max(1, largestUs / factor))));
  return (value) => `${(value / factor).toFixed(digits)} ${unit}`;
}

/** Details of one worker: every part with its share of the total. */
export function workerCard(
  pod: Pod,
  step: PodStep,
  core: number,
): { title: string; host: string | null; total: string; lines: CardLine[]; bottleneck: string; window: string | null } | null {
  const worker = pod.workers.find((one) => one.core === core);
  const stats = step.byCore.get(core);
  if (!worker || !stats) return null;
  const write = sameUnit(stats.totalUs);
  const line = (id: string, name: string, value: number, inner: boolean): CardLine => {
    const share = stats.totalUs > 0 ? value / stats.totalUs : 0;
    return { name, inner, text: `${write(value)} (${formatPercent(100 * share)})`, share: { name, share, text: us(value), ...lookOf(id) } };
  };
  const lines = pod.parts.flatMap((part, i): CardLine[] => {
    const taking = part.parts.filter(({ id }) => (stats.innerUs.get(id) ?? 0) > 0);
    return [
      line(part.id, part.name, stats.partsUs[i] ?? 0, false),
      ...(taking.length > 1 ? taking.map(({ id, name }) => line(id, name, stats.innerUs.get(id) ?? 0, true)) : []),
    ];
  });
  return {
    title: worker.label,
    host: worker.host === worker.label ? null : worker.host,
    total: write(stats.totalUs),
    lines,
    bottleneck: stats.bottleneck,
    window: stats.window,
  };
}
