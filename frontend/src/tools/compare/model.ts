// Bars, tables and links of a comparison. Pure.
import type { Comparison, Difference } from "../../api/payload/comparison";
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import { formatPercent, formatTime } from "../../base/format";
import { BUDGET_CATEGORIES, CATEGORIES } from "../../base/steps/step_category";
import { relabelled } from "../../base/table/transform";
import type { TableData } from "../../base/table/table_data";
import { writeFilters } from "../../widgets/table/model/saved";

const WHAT = "the table of contributions";
const COMPUTE = "compute";
const REST = "rest";

/** Kinds of change: what the page calls them, and what they mean. */
const KINDS: Readonly<Record<string, { name: string; help: string }>> = {
  slower: { name: "slower", help: "The same ops take more time per step." },
  faster: { name: "faster", help: "The same ops take less time per step." },
  more: { name: "more time", help: "The step has more of this part." },
  less: { name: "less time", help: "The step has less of this part." },
  added: { name: "new", help: "The base has no such ops." },
  removed: { name: "gone", help: "The run has no such ops." },
  split: { name: "split", help: "One op of the base became several: they are made of the same framework ops." },
  merged: { name: "merged", help: "Several ops of the base became one: it is made of the same framework ops." },
  changed: { name: "changed", help: "Ops made of the same framework ops, of another structure." },
  dtype_changed: { name: "other element types", help: "The same ops with operands or results of other element types." },
  shape_changed: { name: "other shapes", help: "The same ops with operands or results of other dimensions." },
  more_often: { name: "more often", help: "The op runs at least 1.1 times as often per step, and a run takes no longer." },
  fewer_often: { name: "less often", help: "The op runs less often per step, by a factor of 1.1 or more, and a run is no quicker." },
  renamed: { name: "renamed", help: "A program of another name with at least half of its ops the same." },
  same: { name: "same", help: "Nothing but the time differs." },
  rest: { name: "rest", help: "What is left of the difference of the step: smaller changes and roundings." },
};

/** The kind of a change as the page calls it: parts of the step are not slower or faster, but longer or shorter. */
export function kindOf(kind: string, where: string): { name: string; help: string } {
  const part = where !== "" && where !== COMPUTE;
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
]
  .map((id) => `${KINDS[id]?.name}: ${KINDS[id]?.help}`)
  .join("\n");

export interface Change {
  what: string;
  kind: string;
  deltaPs: number;
  basePs: number;
  runPs: number;
  interval: readonly [number, number] | null;
  certain: boolean;
  /** Part of the time budget; "" for the rest. */
  where: string;
  /** Instructions; none for parts of the step. */
  ops: readonly string[];
}

/** The contributions, the largest first, the rest last. */
export function changesOf({ contributions: table }: Comparison): Change[] {
  const text = (id: string): string[] => textsOf(table, id, WHAT);
  const number = (id: string): number[] => numbersOf(table, id, WHAT);
  const [what, kind, where, ops] = [text("what"), text("kind"), text("where"), text("ops")];
  const [delta, base, run] = [number("delta_ps_per_step"), number("base_ps_per_step"), number("run_ps_per_step")];
  const [low, high, certain] = [columnOf(table, "low_ps"), columnOf(table, "high_ps"), columnOf(table, "certain")];
  return what.map((name, row) => {
    const [from, to] = [low?.[row], high?.[row]];
    return {
      what: name,
      kind: kind[row] ?? "",
      deltaPs: delta[row] ?? 0,
      basePs: base[row] ?? 0,
      runPs: run[row] ?? 0,
      interval: typeof from === "number" && typeof to === "number" ? [from, to] : null,
      certain: certain?.[row] === true,
      where: where[row] ?? "",
      ops: (ops[row] ?? "").split(", ").filter(Boolean),
    };
  });
}

/** Times of a difference, with a sign. */
export const signedTime = (ps: number): string => `${ps > 0 ? "+" : ""}${formatTime(ps)}`;

/** The interval of a difference in words; what is missing without one. */
export function intervalText(interval: readonly [number, number] | null): string {
  return interval === null
    ? "one side has a single step: no interval"
    : `95% interval ${signedTime(interval[0])} to ${signedTime(interval[1])}`;
}

export interface Bar {
  change: Change;
  /** Length as a fraction of the longest bar, with the sign of the difference. */
  length: number;
  tip: string;
}

/** Bars of the largest changes. */
export function barsOf(changes: readonly Change[], most: number): Bar[] {
  const shown = changes.filter(({ kind }) => kind !== REST).slice(0, most);
  const longest = Math.max(1, ...shown.map(({ deltaPs }) => Math.abs(deltaPs)));
  return shown.map((change) => ({
    change,
    length: change.deltaPs / longest,
    tip: [
      change.what,
      `${formatTime(change.basePs)} in the base, ${formatTime(change.runPs)} in the run, per step and device`,
      `${intervalText(change.interval)}; ${change.certain ? "beyond noise" : "within noise"}`,
      `${kindOf(change.kind, change.where).name}: ${kindOf(change.kind, change.where).help}`,
    ].join("\n"),
  }));
}

/** What is not among the bars: the sum of the changes behind them and of the rest. */
export function remainder(changes: readonly Change[], bars: number): { count: number; deltaPs: number } {
  const others = changes.filter(({ kind }) => kind !== REST).slice(bars);
  const rest = changes.filter(({ kind }) => kind === REST);
  return { count: others.length, deltaPs: [...others, ...rest].reduce((sum, { deltaPs }) => sum + deltaPs, 0) };
}

/** The tool and keys that show a change in the run: its ops, or the part of the step; null for the rest. */
export function linkOf({
  kind,
  where,
  ops,
}: Pick<Change, "kind" | "where" | "ops">): { tool: string; keys: Record<string, string> } | null {
  if (kind === REST) return null;
  if (where === COMPUTE) return ops.length === 0 ? null : { tool: "hlo_stats", keys: { filter: opFilter(ops) } };
  return { tool: "time_budget", keys: {} };
}

/** The filter of the table of HLO ops for instructions. */
export function opFilter(ops: readonly string[]): string {
  const names = ops.map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  return writeFilters([{ id: "hlo_op_name", value: `/^(${names.join("|")})$/` }]) ?? "";
}

export interface StepPart {
  id: string;
  name: string;
  help: string;
  colour: (typeof CATEGORIES)[keyof typeof CATEGORIES]["colour"];
  striped: boolean;
  ps: number;
  /** Of the longer of both steps. */
  length: number;
}

export interface StepBar {
  name: string;
  totalPs: number;
  parts: StepPart[];
}

/** The average steps of both runs on one scale; null if a side has no steps. */
export function stepBars(found: Comparison): StepBar[] | null {
  const { base, run } = found.step;
  if (base === null || run === null) return null;
  const scale = Math.max(base, run, 1);
  const bar = (name: string, total: number, get: (one: Difference) => number | null): StepBar => ({
    name,
    totalPs: total,
    parts: [...found.parts].flatMap(([id, one]) => {
      const ps = get(one) ?? 0;
      const look = CATEGORIES[BUDGET_CATEGORIES[id] ?? "other"];
      const label = found.labels.get(id);
      return ps > 0
        ? [
            {
              id,
              name: label?.name ?? id,
              help: label?.help ?? "",
              colour: look.colour,
              striped: look.striped ?? false,
              ps,
              length: ps / scale,
            },
          ]
        : [];
    }),
  });
  return [bar("Base", base, (one) => one.base), bar("Run", run, (one) => one.run)];
}

/** The difference of the step in percent of the base's; null if unknown. */
export function percentOf({ base, delta }: Difference): string | null {
  return base === null || delta === null || base === 0 ? null : `${delta > 0 ? "+" : ""}${formatPercent((100 * delta) / base)}`;
}

const UNSIGNED = new Set(["base_ps_per_step", "run_ps_per_step", "base_bytes", "run_bytes"]);

/** A table of the answer as the page shows it: kinds and parts by name, differences with a sign. */
export function shownTable(table: TableData, found: Comparison): TableData {
  const where = columnOf(table, "where");
  const columns = table.columns.map((column) => {
    if (column.id === "kind")
      return {
        ...column,
        help: KINDS_HELP,
        values: column.values.map((value, row) => kindOf(String(value ?? ""), String(where?.[row] ?? "")).name),
      };
    if (column.id === "where")
      return {
        ...column,
        label: "Part of the step",
        help: "Part of the time budget.",
        values: column.values.map((value) => found.labels.get(String(value))?.name ?? (value || null)),
      };
    return column.unit !== null && !UNSIGNED.has(column.id) ? { ...column, signed: true } : column;
  });
  return relabelled(
    { ...table, columns: columns.map((column) => ({ ...column, values: column.values.map((value) => (value === "" ? null : value)) })) },
    {},
  );
}

/** Why a table is empty. */
export const NO_MEMORY = "No program of either run has a buffer assignment: profiles of GPUs and of captures without HLO protos have none.";
export const NO_PROGRAMS = "No op of a compiled program ran in the steps of either run.";
export const NO_CONTRIBUTIONS = "Contributions divide the difference of the step, which is unknown: a run has no device with steps.";
