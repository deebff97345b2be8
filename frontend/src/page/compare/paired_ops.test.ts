import { describe, expect, it } from "vitest";
import { columnsOf, makeTable } from "../../base/table/columns";
import type { TableData } from "../../base/table/table_data";
import { hostOfBase } from "./base_run";
import { COMPARISON } from "./comparison_testing";
import { knownOps, pairOps } from "./paired_ops";
import type { ToolInfo } from "../../api/types";

const ops = (rows: [string, string, string, string][]): TableData => {
  const { text } = columnsOf(rows);
  return makeTable([
    text("program_id", "Program", null, ([program]) => program),
    text("name", "Op", null, ([, name]) => name),
    text("category", "Category", null, ([, , category]) => category),
    text("tf_op", "Framework op", null, ([, , , op]) => op),
  ]);
};
const COLUMNS = { name: "name", program: "program_id", kind: ["category"], origin: ["tf_op"] };
const found = COMPARISON;

describe("ops of two runs", () => {
  it("are those of the comparison, one by one where an entry has as many on both sides", () => {
    const { run, gone, programs } = knownOps(found);
    expect(Object.fromEntries([...run].map(([mine, theirs]) => [mine.replace("\0", " "), theirs.replace("\0", " ")]))).toEqual({
      "9 fusion.11": "7 fusion.1",
      "9 fresh.13": "",
      "9 b.1": "7 b.5",
      "9 b.2": "7 b.6",
    });
    expect([...gone]).toEqual(["7\0gone.3"]);
    expect([...programs]).toEqual([["jit_f_again", "jit_f"]]);
  });

  it("are paired as the comparison found, whatever their numbers", () => {
    const run = ops([
      ["9", "fusion.11", "loop fusion", "mul"],
      ["9", "fusion.1", "loop fusion", "other"],
      ["9", "fresh.13", "loop fusion", ""],
    ]);
    const base = ops([
      ["7", "fusion.1", "loop fusion", "mul"],
      ["7", "gone.3", "loop fusion", ""],
    ]);
    expect(pairOps(run, base, COLUMNS, found)).toEqual({ counterpart: [0, null, null], rest: [1] });
  });

  it("are paired by name and origin, then by what is unique, where the comparison does not know them", () => {
    const run = ops([
      ["9", "copy.5", "copy", "c"],
      ["9", "all-reduce.8", "all-reduce", "sum"],
      ["9", "x.1", "copy", "new"],
      ["9", "y.2", "copy", "u"],
      ["9", "y.4", "copy", "u"],
    ]);
    const base = ops([
      ["7", "all-reduce.3", "all-reduce", "sum"],
      ["7", "copy.5", "copy", "c"],
      ["7", "x.1", "copy", "old"],
      ["7", "y.7", "copy", "u"],
    ]);
    for (const comparison of [found, null]) {
      expect(pairOps(run, base, COLUMNS, comparison)).toEqual({ counterpart: [1, 0, 2, null, null], rest: [3] });
    }
  });
});

it("finds the host of the base", () => {
  const tool = (names: string[], hosts: ToolInfo["hosts"] = "one_or_all"): ToolInfo => ({
    id: "t",
    title: "",
    group: "",
    summary: "",
    hosts,
    host_names: names,
    available: true,
    reason: null,
    params: [],
  });
  expect(hostOfBase(tool(["ALL_HOSTS", "a", "b"]), "b")).toBe("b");
  expect(hostOfBase(tool(["ALL_HOSTS", "a", "b"]), "ALL_HOSTS")).toBe("ALL_HOSTS");
  expect(hostOfBase(tool(["a"]), "ALL_HOSTS")).toBe("a");
  expect(hostOfBase(tool(["vm2"]), "vm1")).toBe("vm2");
  expect(hostOfBase(tool(["a", "b"]), "c")).toBeUndefined();
});
