// Bars, tables and links of a comparison. Pure.
import type { ComparedRuns, Difference } from "../../base/documents";
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import { formatPercent, formatTime } from "../../base/format";
import { stepBarsOf } from "../../base/steps/step_bars";
import type { BarTime, StepBar } from "../../base/steps/step_bars";
import { relabelled } from "../../base/table/transform";
import type { Cell, TableData } from "../../base/table/table_data";
import { writeFilters } from "../../widgets/table/model/saved";

const WHAT = "the table of contributions";
/** A smaller rest is what rounding the rows leaves. */
const PS_PER_NS = 1000;
const DELTA = "delta_ps_per_step";
const BETWEEN = "between_steps";
const REST = "rest";

/** Kinds of change: what the page calls them, and what they mean. */
const KINDS: Readonly<Record<string, { name: string; help: string }>> = {
  slower: { name: "slower", help: "The same ops take more time." },
  faster: { name: "faster", help: "The same ops take less time." },
  more: { name: "more time", help: "The step has more of this part." },
  less: { name: "less time", help: "The step has less of this part." },
  added: { name: "new", help: "The base has no such ops." },
  removed: { name: "gone", help: "The run has no such ops." },
  split: { name: "split", help: "One op of the base became several, from the same framework ops." },
  merged: { name: "merged", help: "Several ops of the base became one, from the same framework ops." },
  changed: { name: "changed", help: "The same framework ops were compiled to other ops." },
  dtype_changed: { name: "other element types", help: "The same ops with operands or results of other element types." },
  shape_changed: { name: "other shapes", help: "The same ops with operands or results of other dimensions." },
  more_often: { name: "more often", help: "At least 1.1 times as many runs per step, each as long as before." },
  fewer_often: { name: "less often", help: "Fewer runs per step, by a factor of 1.1 or more, each as long as before." },
  more_executions: { name: "more executions", help: "At least 1.1 times as many executions of the program per step." },
  fewer_executions: { name: "fewer executions", help: "Fewer executions of the program per step, by a factor of 1.1 or more." },
  single_steps: { name: "single steps", help: "What steps far above the median add to the average step." },
  machine: {
    name: "machine",
    help: "Unchanged ops that all became slower, or faster, by about the same factor: the machine is busier, slower or another.",
  },
  renamed: { name: "renamed", help: "Another name, and at least half of the ops the same." },
  same: { name: "same", help: "Nothing but the time differs." },
  rest: { name: "rest", help: "Smaller changes and roundings." },
};

/** The kind of a change as the page calls it: ops are slower or faster, parts of the step take more or less time. */
export function kindOf(kind: string, part: string): { name: string; help: string } {
  const id = part && kind === "slower" ? "more" : part && kind === "faster" ? "less" : kind;
  return KINDS[id] ?? { name: kind, help: "" };
}

export const KINDS_HELP = [
  "slower",
  "faster",
  "more",
  "less",
  "added",
  "removed",
  "split",
  "merged",
  "dtype_changed",
  "shape_changed",
  "more_often",
  "fewer_often",
  "more_executions",
  "fewer_executions",
  "single_steps",
  "machine",
]
  .map((id) => `${KINDS[id]?.name}: ${KINDS[id]?.help}`)
  .join("\n");

export interface Change {
  what: string;
  kind: string;
  deltaPs: number;
  /** Part of the time budget; "" for ops and the rest. */
  part: string;
  /** Instructions; none for parts of the step. */
  ops: readonly string[];
  /** What the recordings of the run and the base call it; "" where it is not. */
  event: string;
  baseEvent: string;
}

/** The contributions, the largest first, the rest last. */
export function changesOf({ contributions: table }: ComparedRuns): Change[] {
  const text = (id: string): string[] => textsOf(table, id, WHAT);
  const number = (id: string): number[] => numbersOf(table, id, WHAT);
  const [what, kind, part, ops] = [text("what"), text("kind"), text("part"), text("ops")];
  const [event, baseEvent, delta] = [text("event"), text("base_event"), number(DELTA)];
  return what.map((name, row) => {
    return {
      what: name,
      kind: kind[row] ?? "",
      deltaPs: delta[row] ?? 0,
      part: part[row] ?? "",
      ops: (ops[row] ?? "").split(", ").filter(Boolean),
      event: event[row] ?? "",
      baseEvent: baseEvent[row] ?? "",
    };
  });
}

/** Times of a difference, with a sign. */
export const signedTime = (ps: number): string => `${ps > 0 ? "+" : ""}${formatTime(ps)}`;

/** The interval of a difference; null with too few steps. */
export const intervalOf = (low: Cell | undefined, high: Cell | undefined): readonly [number, number] | null =>
  typeof low === "number" && typeof high === "number" ? [low, high] : null;

/** The interval of a difference in words; what is missing without one. */
export function intervalText(interval: readonly [number, number] | null): string {
  return interval === null ? "too few steps for an interval" : `95% interval ${signedTime(interval[0])} to ${signedTime(interval[1])}`;
}

/** Why the difference is called noise, beside the interval; "" if it is not. */
export function noiseText({ tone, length, floor_ps }: Pick<ComparedRuns, "tone" | "length" | "floor_ps">): string {
  if (tone !== "same" || length.delta === null || length.delta === 0) return "";
  if (Math.abs(length.delta) <= floor_ps) return `; within noise: captures of one program differ by up to ${formatTime(floor_ps)}`;
  const interval = intervalOf(length.low, length.high);
  if (interval === null) return "";
  if (interval[0] <= 0 && interval[1] >= 0) return "; within noise: the interval has 0 in it";
  return "; within noise all the same: a few steps make the difference, most do not differ that way";
}

/** Where the number of a change stands: a row of a table of this page, as text that marks it, or a part of the time budget. */
export type Target = { table: "ops" | "programs"; row: number; mark: string } | { part: string; mark: string };

/** Rows of both tables are rounded by themselves. */
const ROUNDING_PS = 2;

/** The place with the same number as a change; null if there is none. */
export function targetOf(change: Change, found: ComparedRuns): Target | null {
  if (change.kind === REST || change.part === BETWEEN) return null;
  if (change.part !== "") return { part: change.part, mark: writeFilters([{ id: "part", value: nameOf(found, change.part) }]) ?? "" };
  const place = (table: "ops" | "programs", id: string, matches: (name: string) => boolean): Target | null => {
    const names = textsOf(found[table], id, `the table of ${table}`);
    const deltas = numbersOf(found[table], DELTA, `the table of ${table}`);
    const row = deltas.findIndex((ps, at) => Math.abs(ps - change.deltaPs) <= ROUNDING_PS && matches(names[at] ?? ""));
    const texts = [id, DELTA].map((column) => ({ id: column, value: String(column === id ? names[row] : deltas[row]) }));
    return row < 0 ? null : { table, row, mark: writeFilters(texts) ?? "" };
  };
  // Ops of no program are a row without a name.
  const ofProgram = (name: string): boolean => name === "" || change.what.startsWith(`${name}: `);
  return (
    place("ops", "name", (name) => name === change.ops.join(", ")) ??
    place("programs", "program", ofProgram) ??
    place("programs", "base_program", ofProgram)
  );
}

/** The name of a part of a category. */
function nameOf({ groups }: ComparedRuns, id: string): string {
  return groups.flatMap(({ parts }) => parts).find((part) => part.id === id)?.name ?? "";
}

/** The compared times of both runs by category, on one scale; null if a side has no steps. */
export function stepBars(found: ComparedRuns): StepBar[] | null {
  const { base, run } = found.length;
  if (base === null || run === null) return null;
  const bar = (name: string, totalPs: number, get: (one: Difference) => number | null): BarTime => ({
    name,
    totalPs,
    time: (id) => {
      const part = found.parts[id];
      return part === undefined ? 0 : (get(part) ?? 0);
    },
  });
  return stepBarsOf(found.groups, [bar("Base", base, (one) => one.base), bar("Run", run, (one) => one.run)]);
}

/** A difference in percent of the base's; null if unknown. */
export function percentOf({ base, delta }: Difference): string | null {
  return base === null || delta === null || base === 0 ? null : `${delta > 0 ? "+" : ""}${formatPercent((100 * delta) / base)}`;
}

const UNSIGNED = new Set(["base_ps_per_step", "run_ps_per_step", "base_bytes", "run_bytes"]);

/** Why a share of the difference is above 100%. */
export const OTHER_WAY = "Shares above 100%: other rows changed the other way, below 0.";

/** A table as the page shows it: kinds of change by name, differences with a sign. */
export function shownTable(table: TableData): TableData {
  const [parts, kinds] = [columnOf(table, "part"), columnOf(table, "kind")];
  const columns = table.columns.map((column) => {
    if (column.id === "kind")
      return {
        ...column,
        help: KINDS_HELP,
        values: column.values.map((value, row) => kindOf(String(value ?? ""), String(parts?.[row] ?? "")).name),
      };
    if (column.id === "percent") return { ...column, help: `${column.help ?? ""}\n${OTHER_WAY}` };
    if (column.unit === null || column.unit === "%") return column;
    // What roundings leave is no time.
    const values = column.values.map((value, row) => (kinds?.[row] === REST && Math.abs(Number(value)) < PS_PER_NS ? 0 : value));
    return {
      ...column,
      values,
      like: table.columns.find(({ id }) => UNSIGNED.has(id))?.values ?? column.values,
      signed: !UNSIGNED.has(column.id),
    };
  });
  return relabelled({ ...table, columns }, {});
}

/** Why a table is empty. */
export const NO_MEMORY = "No buffer assignments: profiles of GPUs and captures without HLO protos have none.";
export const NO_PROGRAMS = "No compiled program ran in the steps of either run.";
export const NO_CONTRIBUTIONS = "No contributions: a run has no device with steps.";
