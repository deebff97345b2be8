// Summary and charts of communication. Pure.
import { clocksText } from "../../page/clocks";
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import { partsOfCollective, shortNamesWithin } from "../../base/kernel_name";
import type { BandChart, StackChart } from "../../base/chart/chart_spec";
import { joinBy, joinTables, keysOf, pairRows, withoutNumber } from "../../base/table/difference";
import { shortening } from "../../base/table/transform";
import type { TableData } from "../../base/table/table_data";
import { filledSeries } from "../../base/chart/chart_data";
import { formatPercent, formatRatio, formatTime, mostIn, plural } from "../../base/format";
import { CATEGORIES } from "../../base/steps/step_category";
import type { Communication, CommunicationStep } from "../../base/documents";

const WHAT = "the table of collectives";
/** Share of the step that exposed communication costs, from which it matters, and from which it is severe. */
const MATTERS = 0.03;
const SEVERE = 0.1;
/** Less of a step than this is shown as 0.0%. */
const NOTHING = 0.0005;
/** Share of the communication, in percent, that may be exposed for it to count as hidden. */
const HIDDEN = 20;

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

export interface Headline {
  tone: "good" | "fair" | "bad" | "none";
  title: string;
  sentences: string[];
}

/** Severity by what communication costs of the step, not by how much of itself is exposed. */
function toneOf(lost: number | null): Headline["tone"] {
  if (lost === null) return "none";
  return lost >= SEVERE ? "bad" : lost >= MATTERS ? "fair" : "good";
}

/** Names the late device if there is one, else the collective with most exposed time of its own; its severity is what communication costs. */
export function headline(found: Communication): Headline {
  const lost = found.cost?.share ?? null;
  const total = numbersOf(found.ops, "total_ps", WHAT);
  const exposed = numbersOf(found.ops, "exposed_ps", WHAT);
  const waits = numbersOf(found.ops, "wait_ps", WHAT);
  const all = sum(total);
  const names = textsOf(found.ops, "op", WHAT);
  const share = (part: number, of: number): string => formatPercent(of > 0 ? (100 * part) / of : 0);
  const sentences: string[] =
    lost === null
      ? []
      : [
          `Communication takes ${formatPercent(100 * lost)} of the ${found.cost?.base}: what computation does not hide, and waits for late devices.`,
        ];
  if (all > 0)
    sentences.push(
      `${plural(names.length, "collective")}, ${formatTime(all)} over all devices; computation hides ` +
        `${share(all - sum(exposed), all)} of it, and ${share(sum(waits), all)} is waiting for the last device.`,
    );
  if (found.early_ends > 0)
    sentences.push(`${plural(found.early_ends, "run")} of collectives ended before the last device began: the clocks disagree.`);
  const [late] = found.stragglers;
  if (late) {
    const ratio = late.work_ratio === null ? "much longer than" : `${formatRatio(late.work_ratio)} times as long as`;
    const [host] = found.late_hosts;
    const caused = sum(found.stragglers.map((one) => one.caused_percent));
    const what = host === undefined ? late.device : `Host ${host}`;
    return {
      tone: lost === null ? "fair" : toneOf(lost),
      title: late.more_work
        ? `${what} is late: it computes ${ratio} the median device, and the others wait for it`
        : `${what} arrives late at collectives: ${formatPercent(caused)} of all waits are for it`,
      sentences,
    };
  }
  if (all === 0)
    return {
      tone: "none",
      title: "No collectives were recorded",
      sentences: ["Either the devices do not communicate, or the recording has no collectives."],
    };
  const open = (100 * sum(exposed)) / all;
  // Collectives outside of the steps cost no step, however exposed they are.
  if (lost !== null && lost < NOTHING)
    return {
      tone: "none",
      title: `Communication costs the steps nothing: ${formatPercent(open)} of it is exposed, outside of them`,
      sentences,
    };
  if (open < HIDDEN) return { tone: "good", title: `Computation hides ${formatPercent(100 - open)} of the communication`, sentences };
  // As the finding about exposed communication ranks them, so that both name the same collective.
  const own = numbersOf(found.ops, "own_exposed_ps", WHAT);
  const first = own.reduce((best, value, i) => (value > (own[best] ?? 0) ? i : best), 0);
  const name = shortNames(names).get(names[first] ?? "") ?? "";
  const least = sum(exposed) > sum(own) ? ", without waits for late devices" : "";
  const most = mostIn(name, (own[first] ?? 0) / Math.max(sum(own), 1), least);
  return { tone: toneOf(lost), title: `${formatPercent(open)} of the communication is exposed${most}`, sentences };
}

/** Names of collectives with their kernels shortened, by full name. */
export const shortNames = (names: readonly string[]): ReadonlyMap<string, string> => shortNamesWithin(names.map(partsOfCollective));

/** The table of collectives with short names. */
export function withShortNames(ops: TableData): TableData {
  const short = shortNames(textsOf(ops, "op", WHAT));
  return shortening(ops, "op", (name) => short.get(name) ?? name);
}

/** Time of collectives by step: hidden by computation, and exposed. */
export function stepsChart(steps: readonly CommunicationStep[]): StackChart {
  return {
    kind: "stack",
    x: { name: "Step", unit: null, labels: steps.map(({ name }) => name) },
    y: { name: "Time over all devices", unit: "ps" },
    series: filledSeries([
      {
        name: "Hidden by computation",
        colour: CATEGORIES.device_compute.colour,
        values: steps.map(({ communication_ps, exposed_ps }) => communication_ps - exposed_ps),
      },
      { name: "Exposed", colour: CATEGORIES.collectives.colour, values: steps.map(({ exposed_ps }) => exposed_ps), striped: true },
    ]),
    total: "Communication",
    cutsOutliers: true,
  };
}

/** Share of communication that computation hides, by step, in percent. */
export function hiddenChart(steps: readonly CommunicationStep[]): BandChart {
  const values = steps.map(({ hidden_percent }) => hidden_percent);
  return {
    kind: "band",
    x: { name: "Step", unit: null, labels: steps.map(({ name }) => name) },
    y: { name: "Hidden share", unit: "percent", max: 100 },
    line: { name: "Hidden share", colour: CATEGORIES.device_compute.colour, values },
  };
}

/** The window of a collective's longest run in the trace viewer, with some room around it: "from,to" in ps. */
export function windowOf(found: Communication, row: number): { window: string; host: string } | null {
  const [begin, end] = [columnOf(found.ops, "begin_ps")?.[row], columnOf(found.ops, "end_ps")?.[row]];
  if (typeof begin !== "number" || typeof end !== "number") return null;
  const room = Math.max(end - begin, 1000);
  return {
    window: `${Math.max(0, Math.round(begin - room))},${Math.round(end + room)}`,
    host: textsOf(found.ops, "host", WHAT)[row] ?? "",
  };
}

/** Columns that say nothing in this profile, and times of the longest run, which the link to the trace viewer uses. */
export function hiddenColumns(found: Communication): string[] {
  const empty = found.ops.columns.filter(({ values }) => values.every((value) => value === null || value === "")).map(({ id }) => id);
  const hosts = new Set(textsOf(found.ops, "host", WHAT));
  return [...new Set([...empty, "begin_ps", "end_ps", ...(hosts.size < 2 ? ["host"] : [])])];
}

/** The clocks of hosts as the trace viewer takes them: `HOST:PS` joined by commas; "" if none differs. */
export function clocksOf(found: Communication): string {
  return clocksText(found.host_offsets_ps);
}

/** Compared numbers that are shown at first. */
export const SHOWN_WITH_BASE = ["total_ps", "exposed_ps", "wait_ps", "work_ps", "communication_ps"];
const SUMS = ["count", "total_ps", "exposed_ps", "own_exposed_ps", "stall_ps", "wait_ps"];
const RATES = ["hidden_percent", "algorithm_gbps", "bus_gbps"];

/** The table of collectives with those of a base: by name and kind, else by kind, ranks and name without its number. */
export function withBaseOps(ops: TableData, base: TableData): TableData {
  const kindless = (table: TableData): string[] => {
    const rest = keysOf(table, ["kind", "ranks"]);
    return keysOf(table, ["op"]).map((name, row) => `${withoutNumber(name)}\0${rest[row] ?? ""}`);
  };
  const names = ["op", "kind"];
  const pairs = pairRows([
    { run: keysOf(ops, names), base: keysOf(base, names) },
    { run: kindless(ops), base: kindless(base), unique: true },
  ]);
  return joinTables(ops, base, pairs, { sums: SUMS, rates: RATES });
}

/** The table of devices with those of a base. */
export const withBaseRanks = (ranks: TableData, base: TableData): TableData =>
  joinBy(ranks, base, ["device"], { sums: [], rates: ["work_ps", "communication_ps", "exposed_ps", "wait_ps", "work_ratio"] });
