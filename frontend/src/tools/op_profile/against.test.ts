import { describe, expect, it } from "vitest";
import { readComparison } from "../../api/payload/comparison";
import { COMPARISON } from "../../page/compare/comparison_testing";
import { against, differencePs } from "./against";
import type { NodeKind, OpNode } from "./decode";
import { visibleRows } from "./rows";

const op = (
  name: string,
  timePs: number,
  programId: string,
  children: OpNode[] = [],
  count = children.length,
  kind: NodeKind = "op",
): OpNode => ({
  name,
  label: name,
  kind,
  timePs,
  weightedFlops: 0,
  flops: 0,
  modelFlops: 0,
  bandwidth: [0, 0, 0],
  bytes: [0, 0, 0],
  runs: 1,
  averagePs: timePs,
  children,
  count,
  op:
    kind === "op"
      ? {
          expression: "",
          provenance: "",
          category: "loop fusion",
          programId,
          source: "",
          sourceOf: "",
          stack: "",
          layout: [],
          layoutUse: null,
        }
      : null,
  contains: false,
});
const group = (name: string, children: OpNode[], kind: NodeKind = "group", count = children.length): OpNode =>
  op(
    name,
    children.reduce((sum, { timePs }) => sum + timePs, 0),
    "",
    children,
    count,
    kind,
  );

const RUN = group(
  "root",
  [group("jit_f_again(9)", [group("loop fusion", [op("%fusion.11 = f32[8] fusion()", 320, "9"), op("fresh.13", 20, "9")])])],
  "root",
);
const BASE = group(
  "root",
  [group("jit_f(7)", [group("loop fusion", [op("%fusion.1 = f32[8] fusion()", 200, "7"), op("gone.3", 50, "7")])])],
  "root",
);
function named(root: OpNode, name: string): OpNode {
  const found = all(root).find((node) => node.name === name);
  if (!found) throw new Error(`no node ${name}`);
  return found;
}
const all = (node: OpNode): OpNode[] => [node, ...node.children.flatMap(all)];

describe("two op trees", () => {
  const { root, basePs } = against(RUN, BASE, readComparison(COMPARISON));
  const of = (name: string) => {
    const node = named(root, name);
    return [node.timePs, basePs.get(node), differencePs(node, basePs)];
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
      { flops: false, memory: [], hbm: null },
      { limit: 10, top90: false, order: "difference", basePs },
      new Set(),
      new Set(),
    ).map(({ node }) => node.name);
    expect(names).toEqual(["%fusion.11 = f32[8] fusion()", "gone.3", "fresh.13"]);
  });

  it("are divided by the steps of their recordings, means and rates not", () => {
    const found = against(RUN, BASE, readComparison(COMPARISON), { run: 10, base: 5 });
    const node = named(found.root, "loop fusion");
    expect([node.timePs, found.basePs.get(node), differencePs(node, found.basePs), node.runs, node.averagePs]).toEqual([
      34, 50, -16, 0.1, 340,
    ]);
  });

  it("do not call an op new if the server left out nodes of the base", () => {
    const cut = group("root", [group("loop fusion", [op("x.1", 5, "7")], "group", 40)], "root");
    const found = against(group("root", [group("loop fusion", [op("y.1", 7, "9")])], "root"), cut, null);
    const node = named(found.root, "y.1");
    expect([found.basePs.has(node), differencePs(node, found.basePs)]).toEqual([false, null]);
  });
});
