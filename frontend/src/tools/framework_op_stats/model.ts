// Charts, sums and the summary of the op statistics. Pure.
import { joinBy, joinTables, keysOf, pairRows } from "../../base/table/difference";
import type { Steps } from "../../base/table/difference";
import { columnsOf as columnsOfRows, makeTable } from "../../base/table/columns";
import type { BarsChart, PieChart, Slice } from "../../base/chart/chart_spec";
import { cutMiddle, formatPercent, formatQuantity } from "../../base/format";
import { overCores } from "../../page/op_request";
import { COLUMNS } from "../../page/op_columns";
import { CATEGORIES } from "../../base/steps/step_category";
import type { TableData } from "../../base/table/table_data";
import { IDLE } from "./ops";
import type { FrameworkOps, Op, Place } from "./ops";

/** Smallest share and largest number of slices; the rest is the slice "Other". */
const MIN_SHARE = 0.01;
const MAX_SLICES = 10;
const MAX_BARS = 15;
export const OTHER = "Other";
/** The type of ops that have none. */
const UNKNOWN = "Unknown";

/** Names in sentences are truncated to this length. */
const MAX_CHARS = 60;
/** Ops below this share of the time have no meaningful rate: the work of their costs runs elsewhere or later. */
const MIN_TIME = 0.001;

/** What a row of PyTorch's ops is: an op with its modules, a kind of op, or a kind with the shapes of its operands. */
export const GROUPS = { name: "Op in module", op: "Op", shape: "Op and input shapes" } as const;
export type Group = keyof typeof GROUPS;
export const groupOf = (text: string | null): Group => (text === "op" || text === "shape" ? text : "name");

/** The columns of the table; shapes stand beside the op if they tell rows apart. */
export function columnsOf(group: Group): readonly string[] {
  const [operation, ...others] = COLUMNS.framework_op_stats;
  return group === "shape" ? [operation, "shapes", ...others] : COLUMNS.framework_op_stats;
}

/** Whether the profiler recorded what operands ops have. */
export const hasShapes = (table: TableData): boolean => table.columns.some(({ id }) => id === "shapes");

type Key = "type" | "name";

/** Self time by type or by name, largest first. */
export function sumsBy(ops: readonly Op[], key: Key): { name: string; occurrences: number; selfUs: number }[] {
  const sums = new Map<string, { name: string; occurrences: number; selfUs: number }>();
  for (const op of ops) {
    const sum = sums.get(op[key]) ?? { name: op[key], occurrences: 0, selfUs: 0 };
    sum.occurrences += op.occurrences;
    sum.selfUs += op.selfUs;
    sums.set(op[key], sum);
  }
  return [...sums.values()].sort((a, b) => b.selfUs - a.selfUs || (a.name < b.name ? -1 : 1));
}

/** The slices of one pie. */
export function slicesOf(ops: readonly Op[], key: Key): Slice[] {
  const sums = sumsBy(ops, key).filter(({ selfUs }) => selfUs > 0);
  const total = sums.reduce((all, { selfUs }) => all + selfUs, 0);
  const large = sums.filter(({ selfUs }, i) => selfUs / total >= MIN_SHARE && i < MAX_SLICES);
  const rest = total - large.reduce((all, { selfUs }) => all + selfUs, 0);
  let hue = 0;
  const slices = large.map(({ name, selfUs }): Slice => ({ name, value: selfUs, colour: name === IDLE ? CATEGORIES.idle.colour : hue++ }));
  return large.length < sums.length ? [...slices, { name: OTHER, value: rest, colour: CATEGORIES.other.colour }] : slices;
}

export interface Pie {
  title: string;
  place: Place;
  key: Key;
  spec: PieChart;
}

/** Up to four pies: by type and by op, on the device and on the host; sides without time are omitted. */
export function piesOf(ops: readonly Op[], idle = false): Pie[] {
  const pies: Pie[] = [];
  for (const place of ["Device", "Host"] as const) {
    for (const key of ["type", "name"] as const) {
      const slices = slicesOf(
        ops.filter((op) => op.place === place),
        key,
      );
      if (slices.length)
        pies.push({
          title: `${idle ? "All" : "Busy"} ${place.toLowerCase()} time, by ${key === "type" ? "op type" : "op"}`,
          place,
          key,
          spec: { kind: "pie", name: "Self time", unit: "us", slices },
        });
    }
  }
  return pies;
}

/** FLOP rate of the device ops with known FLOPs, highest first; null if there are none. */
export function ratesOf(ops: readonly Op[]): BarsChart | null {
  const device = ops.filter((op) => op.place === "Device" && op.name !== IDLE);
  const total = device.reduce((all, { selfUs }) => all + selfUs, 0);
  const sideRows = device
    .filter((op) => op.flopRate > 0 && op.selfUs >= MIN_TIME * total)
    .sort((a, b) => b.flopRate - a.flopRate)
    .slice(0, MAX_BARS);
  if (sideRows.length === 0) return null;
  return {
    kind: "bars",
    x: { name: "Device op", unit: null, labels: sideRows.map(({ name }) => name) },
    y: { name: "FLOP rate", unit: "GFLOP/s" },
    colour: 0,
    values: sideRows.map(({ flopRate }) => flopRate),
  };
}

/** A chart of the page: one of the pies, the FLOP rates or the flame graph. */
interface ChartChoice {
  id: string;
  label: string;
  pie?: Pie;
}

/** The charts that the ops allow. */
export function chartsOf(pies: readonly Pie[], rates: boolean, group: Group): ChartChoice[] {
  return [
    ...pies.map((pie) => ({
      id: `${pie.place.toLowerCase()}_${pie.key}`,
      label: `${pie.place} by ${pie.key === "type" ? "type" : "op"}`,
      pie,
    })),
    ...(rates ? [{ id: "rates", label: "FLOP rates" }] : []),
    ...(group === "name" ? [{ id: "scopes", label: "Name scopes" }] : []),
  ];
}

/** The first chart whose largest part has a name. */
export const telling = (charts: readonly ChartChoice[]): ChartChoice | undefined =>
  charts.find(({ pie }) => pie?.spec.slices[0]?.name !== UNKNOWN) ?? charts[0];

/** Sums by op type on the device and on the host, as a table. */
export function typeTable(ops: readonly Op[]): TableData {
  const sums = (["Device", "Host"] as const).flatMap((place) => {
    const found = sumsBy(
      ops.filter((op) => op.place === place),
      "type",
    );
    const total = found.reduce((all, { selfUs }) => all + selfUs, 0);
    return found.map((sum) => ({ ...sum, place, total }));
  });
  const { text, number } = columnsOfRows(sums);
  return makeTable([
    text("type", "Operation type", "Type of the framework op.", ({ name }) => name),
    text("place", "Where", "Device or host.", ({ place }) => place),
    number("occurrences", "Runs", null, "Number of runs of ops of this type.", ({ occurrences }) => occurrences),
    number("self", "Self time", "us", "Total time of these ops, excluding the ops nested in them.", ({ selfUs }) => selfUs),
    number(
      "share",
      "Share of its side",
      "fraction",
      "Part of the self time of all ops on the device, or on the host.",
      ({ selfUs, total }) => (total > 0 ? selfUs / total : null),
    ),
  ]);
}

export interface Summary {
  title: string;
  sentences: string[];
}

function share(ops: readonly Op[], of: (op: Op) => boolean): number {
  const total = ops.reduce((all, { selfUs }) => all + selfUs, 0);
  return total > 0 ? ops.filter(of).reduce((all, { selfUs }) => all + selfUs, 0) / total : 0;
}

/** The summary: the op with the most self time, and the idle share of the devices; `idle` says what percentages are of. */
export function summary({ withIdle, withoutIdle, document: { notes } }: FrameworkOps, idle = false): Summary {
  const chosen = idle ? withIdle : withoutIdle;
  const side = (place: Place, ops: readonly Op[]): Op[] => ops.filter((op) => op.place === place);
  const describe = (place: Place): string | null => {
    const ops = side(place, chosen.ops);
    const first = sumsBy(ops, "name").find(({ name }) => name !== IDLE);
    if (!first || first.selfUs <= 0) return null;
    const over = place === "Device" ? overCores(notes.cores) : "";
    return (
      `On the ${place.toLowerCase()}, ${cutMiddle(first.name, MAX_CHARS)} has the most self time: ` +
      `${formatPercent(100 * share(ops, (op) => op.name === first.name))} of ${idle ? "all" : "the busy"} time (` +
      `${formatQuantity(first.selfUs, "us")}${over})`
    );
  };
  const [device, host] = [describe("Device"), describe("Host")];
  const onDevice = side("Device", withIdle.ops);
  const idleShare = share(onDevice, (op) => op.name === IDLE);
  return {
    title: device ?? host ?? "No op has measurable self time",
    sentences: [
      device && host ? `${host}.` : "",
      onDevice.length
        ? `The devices are idle for ${formatPercent(100 * idleShare)} of the observed time, from the first op to the last.`
        : "No op of a device was recorded.",
    ].filter(Boolean),
  };
}

/** The table of ops with those of a base: by place, type and name, else by name without the compiled functions around it. */
export function withBaseOps(table: TableData, base: TableData, perStep: Steps | null = null): TableData {
  const names = (one: TableData): string[] => {
    const rest = keysOf(one, ["host_or_device", "type"]);
    return keysOf(one, ["operation"]).map((name, row) => `${rest[row] ?? ""}\0${name.replace(SCOPES, "")}`);
  };
  const repeated = (one: TableData): boolean => new Set(keysOf(one, ["host_or_device", "operation"])).size < one.rowCount;
  const byShape = repeated(table) || repeated(base);
  const keys = ["host_or_device", "type", "operation", ...(byShape ? ["shapes", "dtypes"] : [])];
  const pairs = pairRows([
    { run: keysOf(table, keys), base: keysOf(base, keys) },
    { run: names(table), base: names(base), unique: true },
  ]);
  return joinTables(table, base, pairs, {
    sums: ["total_self_time", "total_time", "occurrences"],
    rates: ["avg_time", "avg_self_time", "measured_flop_rate"],
    perStep,
  });
}

const SCOPES = /^(?:(?:jit|pjit|pmap|xmap)\([^()]*\)\/)+/;

export const withBaseTypes = (table: TableData, base: TableData, perStep: Steps | null = null): TableData =>
  joinBy(table, base, ["place", "type"], { sums: ["self", "occurrences"], rates: ["share"], perStep });
