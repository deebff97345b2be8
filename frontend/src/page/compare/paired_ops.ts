// Which op of a base an op of the run corresponds to: as the comparison found, else by what the tables show of both.
import type { ComparedRuns } from "../../base/documents";
import { textsOf } from "../../api/payload/fields";
import { keysOf, pairRows, withoutNumber } from "../../base/table/difference";
import type { Keys, Pairs } from "../../base/table/difference";
import type { TableData } from "../../base/table/table_data";

/** What the columns of an op table are called; null: it has no such column. */
export interface OpColumns {
  name: string;
  /** The id of the program. */
  program: string | null;
  /** What else tells ops of one name apart, such as the category. */
  kind: readonly string[];
  /** Where the op comes from: framework op, source. */
  origin: readonly string[];
}

/** Ops as `program id, name`, which differ between two compilations. */
interface Known {
  /** Of the run -> of the base; "": it is new. */
  run: ReadonlyMap<string, string>;
  /** Of the base that are gone. */
  gone: ReadonlySet<string>;
  /** Names of renamed programs without ids, of the run -> of the base. */
  programs: ReadonlyMap<string, string>;
}

const key = (program: string, name: string): string => `${program}\0${name}`;
const idOf = (module: string): string => /\((\d+)\)$/.exec(module)?.[1] ?? "";
const listOf = (names: string): string[] => names.split(", ").filter(Boolean);
const GONE = new Set(["removed"]);

/** What the comparison says about single ops; of split and merged ones nothing. */
export function knownOps(found: ComparedRuns | null): Known {
  const run = new Map<string, string>();
  const gone = new Set<string>();
  if (found === null) return { run, gone, programs: new Map() };
  const text = (id: string): string[] => textsOf(found.ops, id, "the table of ops");
  const [names, bases, modules, baseModules, kinds] = [text("name"), text("base_name"), text("module"), text("base_module"), text("kind")];
  names.forEach((list, row) => {
    const [mine, theirs] = [listOf(list), listOf(bases[row] ?? "")];
    const [here, there] = [idOf(modules[row] ?? ""), idOf(baseModules[row] ?? "")];
    if (GONE.has(kinds[row] ?? "")) theirs.forEach((name) => gone.add(key(there, name)));
    else if (theirs.length === 0) mine.forEach((name) => run.set(key(here, name), ""));
    else if (mine.length === theirs.length) mine.forEach((name, i) => run.set(key(here, name), key(there, theirs[i] ?? "")));
  });
  const before = textsOf(found.programs, "base_program", "the table of programs");
  const programs = new Map(
    textsOf(found.programs, "program", "the table of programs")
      .map((name, row) => [name, before[row] ?? ""] as const)
      .filter(([name, old]) => name !== "" && old !== "" && name !== old),
  );
  return { run, gone, programs };
}

/** Pairs the rows of two op tables. */
export function pairOps(run: TableData, base: TableData, columns: OpColumns, found: ComparedRuns | null): Pairs {
  const known = knownOps(found);
  const ids = (table: TableData): string[] =>
    keysOf(table, [...(columns.program === null ? [] : [columns.program]), columns.name]).map((one) =>
      columns.program === null ? key("", one) : one,
    );
  const [mine, theirs] = [ids(run), ids(base)];
  const told = known.run.size > 0;
  const open = (keys: readonly string[], from: readonly string[], closed: (id: string) => boolean): string[] =>
    keys.map((one, row) => (closed(from[row] ?? "") ? "" : one));
  const level = (of: (table: TableData) => string[], unique = false): Keys => ({
    run: open(of(run), mine, (id) => known.run.get(id) === ""),
    base: open(of(base), theirs, (id) => known.gone.has(id)),
    unique,
  });
  const by =
    (names: readonly string[]) =>
    (table: TableData): string[] =>
      keysOf(table, names);
  const kindless = (table: TableData): string[] => {
    const rest = keysOf(table, [...columns.kind, ...columns.origin]);
    return keysOf(table, [columns.name]).map((name, row) => `${withoutNumber(name)}\0${rest[row] ?? ""}`);
  };
  return pairRows([
    ...(told ? [{ run: mine.map((id) => known.run.get(id) ?? ""), base: theirs }] : [{ run: mine.map(() => ""), base: theirs }]),
    level(by([columns.name, ...columns.kind, ...columns.origin])),
    level(kindless, true),
    level(by([columns.name, ...columns.kind])),
  ]);
}
