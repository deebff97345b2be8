// Framework ops with idle time and without, as rows and as tables that mark what cannot be true. Pure.
import { numbersOf, textsOf } from "../../api/payload/fields";
import type { FrameworkOpStats, OpNotes } from "../../base/documents";
import { withDoubts } from "../../base/table/transform";
import type { TableData } from "../../base/table/table_data";
import { rateDoubt } from "../../page/op_request";

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
  /** The table to display. */
  table: TableData;
  ops: Op[];
}

export interface FrameworkOps {
  withIdle: OpStats;
  withoutIdle: OpStats;
  document: FrameworkOpStats;
}

export const IDLE = "IDLE";

/** Marks rates of device ops that exceed what the device can do. */
function marked(table: TableData, places: readonly string[], { limits }: OpNotes): TableData {
  const [flops, memory] = [
    rateDoubt(limits.gflops_per_s, "GFLOP/s", limits.what),
    rateDoubt(limits.memory_gib_per_s, "GiB/s", limits.what),
  ];
  const doubtful = withDoubts(table, { measured_flop_rate: flops, model_flop_rate: flops, measured_memory_bw: memory });
  return {
    ...doubtful,
    columns: doubtful.columns.map((column) =>
      column.doubts ? { ...column, doubts: column.doubts.map((doubt, row) => (places[row] === "Device" ? doubt : null)) } : column,
    ),
  };
}

function statsOf(table: TableData, notes: OpNotes): OpStats {
  const what = "the table of ops";
  const places = textsOf(table, "host_or_device", what);
  const [types, names] = [textsOf(table, "type", what), textsOf(table, "operation", what)];
  const [occurrences, selfUs, flopRate] = ["occurrences", "total_self_time", "measured_flop_rate"].map((id) =>
    numbersOf(table, id, what),
  ) as [number[], number[], number[]];
  const shown = marked(table, places, notes);
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

export const frameworkOpsOf = (document: FrameworkOpStats): FrameworkOps => ({
  withIdle: statsOf(document.with_idle, document.notes),
  withoutIdle: statsOf(document.without_idle, document.notes),
  document,
});
