// Decodes the framework op stats: ops with idle time and without.
import { asList, asTable, badAnswer, numbersOf, textsOf } from "../../api/payload/fields";
import { COLUMNS, labelled } from "../../page/op_columns";
import { readNotes, overCores, rateDoubt } from "../../page/op_request";
import type { OpNotes } from "../../page/op_request";
import { withDoubts, withUnits, withoutUnitLabels } from "../../base/table/transform";
import type { Cell, TableData } from "../../base/table/table_data";

export type Place = "Device" | "Host";

export interface Op {
  place: Place;
  type: string;
  name: string;
  occurrences: number;
  selfUs: number;
  /** GFLOP/s; 0 if unknown or beyond what the device can do. */
  flopRate: number;
}

interface OpStats {
  /** The table to display: fractions as percentages, null where a number has no meaning. */
  table: TableData;
  ops: Op[];
}

export interface FrameworkOps {
  withIdle: OpStats;
  withoutIdle: OpStats;
  task: string;
  architecture: string;
  /** Why rows cannot be grouped by op and input shapes, of a recording of PyTorch; "" otherwise. */
  inputsNote: string;
  notes: OpNotes;
}

export const IDLE = "IDLE";

const UNITS: Readonly<Record<string, string>> = {
  device_total_self_time_percent: "fraction",
  device_cumulative_total_self_time_percent: "fraction",
  host_total_self_time_percent: "fraction",
  Host_cumulative_total_self_time_percent: "fraction",
  gpu_tensorcore_utilization: "fraction",
  operational_intensity: "FLOP/B",
};
/** Zero means that the costs of the op are unknown. */
const COSTS = new Set(["measured_flop_rate", "model_flop_rate", "measured_memory_bw", "operational_intensity"]);

/** Sets numbers of the other side (host or device) and unknown costs to null. */
function honest(table: TableData, places: readonly string[]): TableData {
  const blank = (id: string, value: Cell, row: number): Cell => {
    const place = places[row];
    if (/^device_.*percent$/.test(id) && place !== "Device") return null;
    if (/^host_.*percent$/i.test(id) && place !== "Host") return null;
    if (id === "gpu_tensorcore_utilization" && place !== "Device") return null;
    return COSTS.has(id) && value === 0 ? null : value;
  };
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, values: column.values.map((value, row) => blank(column.id, value, row)) })),
  };
}

/** Labels and help that name what the shares are parts of. */
function based(table: TableData, idle: boolean, over: string): TableData {
  const columns = table.columns.map((column) => {
    const matched = /^(device|host)_(cumulative_)?total_self_time_percent$/i.exec(column.id);
    if (!matched) return column;
    const side = (matched[1] ?? "").toLowerCase();
    const base = idle
      ? `all recorded time of the ${side}${side === "device" ? over : ""}, idle time included`
      : `the time in which ops ran on the ${side}${side === "device" ? over : ""}`;
    return {
      ...column,
      label: `${idle ? "All" : "Busy"} ${side} share${matched[2] ? ", cumulative" : ""}`,
      help: `${matched[2] ? "Self time of this row and those above it" : "Total self time"} divided by ${base}.`,
    };
  });
  return { ...table, columns };
}

/** Marks rates of device ops that exceed what the device can do. */
function marked(table: TableData, places: readonly string[], { limits }: OpNotes): TableData {
  const [flops, memory] = [rateDoubt(limits.flops, "GFLOP/s", limits.what), rateDoubt(limits.memory, "GiB/s", limits.what)];
  const doubtful = withDoubts(table, { measured_flop_rate: flops, model_flop_rate: flops, measured_memory_bw: memory });
  return {
    ...doubtful,
    columns: doubtful.columns.map((column) =>
      column.doubts ? { ...column, doubts: column.doubts.map((doubt, row) => (places[row] === "Device" ? doubt : null)) } : column,
    ),
  };
}

function readStats(value: unknown, idle: boolean): OpStats {
  const what = "the table of ops";
  const table = asTable(value, what);
  if (table.columns.length === 0) return { table, ops: [] };
  const places = textsOf(table, "host_or_device", what);
  const [types, names] = [textsOf(table, "type", what), textsOf(table, "operation", what)];
  const [occurrences, selfUs, flopRate] = ["occurrences", "total_self_time", "measured_flop_rate"].map((id) =>
    numbersOf(table, id, what),
  ) as [number[], number[], number[]];
  const notes = readNotes(table.properties);
  const shown = marked(
    honest(labelled(based(withoutUnitLabels(withUnits(table, UNITS)), idle, overCores(notes.cores)), COLUMNS.framework_op_stats), places),
    places,
    notes,
  );
  const doubts = shown.columns.find(({ id }) => id === "measured_flop_rate")?.doubts;
  const ops = places.map((place, row): Op => ({
    place: place === "Device" ? "Device" : "Host",
    type: types[row] ?? "",
    name: names[row] ?? "",
    occurrences: occurrences[row] ?? 0,
    selfUs: selfUs[row] ?? 0,
    flopRate: doubts?.[row] ? 0 : (flopRate[row] ?? 0),
  }));
  return { table: shown, ops };
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readFrameworkOps(value: unknown): FrameworkOps {
  const parts = asList(value, "the op statistics");
  if (parts.length < 2) throw badAnswer("the op statistics have no table without idle time");
  const [withIdle, withoutIdle] = [readStats(parts[0], true), readStats(parts[1], false)];
  const { properties } = withIdle.table;
  return {
    withIdle,
    withoutIdle,
    task: properties["task_type"] ?? "",
    architecture: properties["architecture_type"] ?? "",
    inputsNote: properties["inputs_note"] ?? "",
    notes: readNotes(properties),
  };
}
