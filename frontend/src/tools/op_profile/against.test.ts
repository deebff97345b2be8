import { describe, expect, it } from "vitest";
import type { OpNode } from "../../base/documents";
import { COMPARISON } from "../../page/compare/comparison_testing";
import { against, differencePs } from "./against";
import { treesOf } from "./nodes";
import type { TreeNode } from "./nodes";
import { visibleRows } from "./rows";
import { node, sample } from "./sample";

const op = (name: string, time_ps: number, program_id: string): OpNode =>
  node(name, { time_ps, program_id, runs: 1, category: "loop fusion" });
const group = (name: string, children: OpNode[], more: { kind?: "root"; count?: number } = {}): OpNode =>
  node(name, { time_ps: children.reduce((sum, { time_ps }) => sum + time_ps, 0), runs: 1, ...more }, children);
const treeOf = (...programs: OpNode[]): TreeNode => treesOf(sample({ ops: group("root", programs, { kind: "root" }), idle: [] })).busy;

const RUN = treeOf(
  group("jit_f_again(9)", [group("loop fusion", [op("%fusion.11 = f32[8] fusion()", 320, "9"), op("fresh.13", 20, "9")])]),
);
const BASE = treeOf(group("jit_f(7)", [group("loop fusion", [op("%fusion.1 = f32[8] fusion()", 200, "7"), op("gone.3", 50, "7")])]));
function named(root: TreeNode, name: string): TreeNode {
  const found = all(root).find((node) => node.name === name);
  if (!found) throw new Error(`no node ${name}`);
  return found;
}
const all = (node: TreeNode): TreeNode[] => [node, ...node.children.flatMap(all)];

describe("two op trees", () => {
  const { root, basePs } = against(RUN, BASE, COMPARISON);
  const of = (name: string) => {
    const node = named(root, name);
    return [node.time_ps, basePs.get(node), differencePs(node, basePs)];
  };

  it("correspond by renamed programs and renumbered ops", () => {
    expect(of("jit_f_again(9)")).toEqual([340, 250, 90]);
    expect(of("%fusion.11 = f32[8] fusion()")).toEqual([320, 200, 120]);
    expect(of("fresh.13")).toEqual([20, null, 20]);
  });

  it("list what only the base has, without time", () => {
    expect(of("gone.3")).toEqual([0, 50, -50]);
  });

  it("are ordered by difference on request", () => {
    const names = visibleRows(
      named(root, "loop fusion"),
      { limit: 10, top90: false, order: "difference", basePs },
      new Set(),
      new Set(),
    ).map(({ node }) => node.name);
    expect(names).toEqual(["%fusion.11 = f32[8] fusion()", "gone.3", "fresh.13"]);
  });

  it("are divided by the steps of their recordings, means and rates not", () => {
    const found = against(RUN, BASE, COMPARISON, { run: 10, base: 5 });
    const node = named(found.root, "loop fusion");
    expect([node.time_ps, found.basePs.get(node), differencePs(node, found.basePs), node.runs]).toEqual([34, 50, -16, 0.1]);
  });

  it("do not call an op new if the server left out nodes of the base", () => {
    const cut = treeOf(group("loop fusion", [op("x.1", 5, "7")], { count: 40 }));
    const found = against(treeOf(group("loop fusion", [op("y.1", 7, "9")])), cut, null);
    const node = named(found.root, "y.1");
    expect([found.basePs.has(node), differencePs(node, found.basePs)]).toEqual([false, null]);
  });
});
