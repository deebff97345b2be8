import { expect, it } from "vitest";
import type { Source } from "../../base/documents";
import { tableOf } from "../../base/testing";
import { searchOf } from "./card";
import { summaryOf, treeTable } from "./model";
import { answerOf } from "./testing";
import {
  difference,
  firstOpen,
  leavesOf,
  linesOf,
  nodeOfLine,
  opsOf,
  parentOfOp,
  pathTo,
  sameFiles,
  scopePath,
  sourceTree,
  visibleRows,
} from "./tree";
import type { Node } from "./tree";

const RUN = answerOf({ dot: 60e6, add: 30e6, lost: 10e6 });
const BASE = answerOf({ dot: 40e6, add: 0, lost: 10e6, file: "/old/src/train.py" });
const view = (root: Node, more = {}) =>
  visibleRows(root, { measure: "time", byDifference: false, open: firstOpen(root, "time"), search: "", ...more }).map(
    ({ node, depth }) => [depth, node.label, node.sums.time / 1e6] as const,
  );

it("has files, functions, lines and ops, the largest first, and what has no location", () => {
  expect(view(sourceTree(RUN, "line"))).toEqual([
    [0, "/src/train.py", 90],
    [1, "loss", 90],
    [2, "line 12", 60],
    [3, "dot", 60],
    [2, "line 10", 30],
    [0, "no location", 10],
  ]);
});

it("has name scopes, with arguments by their path", () => {
  const root = sourceTree(RUN, "scope");
  expect(root.children.map(({ label, sums }) => [label, sums.time / 1e6, sums.peak])).toEqual([
    ["jit(f)", 90, 400],
    ["no scope", 10, 0],
    ["params['w']", 0, 640],
  ]);
  expect(scopePath("a/b//c").map(({ label }) => label)).toEqual(["a", "b", "c"]);
});

/** The ops of the run with another text in a column. */
const opsWith = (id: string, textOf: (text: string) => string): Source["ops"] => ({
  ...RUN.ops,
  columns: RUN.ops.columns.map((column) =>
    column.id === id ? { ...column, values: column.values.map((value) => textOf(String(value))) } : column,
  ),
});

it("names of a framework's ops are their scopes", () => {
  const ops = opsWith("name", (name) => `model/${name}`);
  const host: Source = { ...RUN, place: "framework host", ops, buffers: { ...RUN.buffers, rowCount: 0 } };
  expect(view(sourceTree(host, "scope"))).toEqual([
    [0, "model", 100],
    [1, "model/dot", 60],
    [1, "model/add", 30],
    [1, "model/lost", 10],
  ]);
});

it("sums of every node are those of its children, and of the root those of the ops and buffers", () => {
  const root = sourceTree(RUN, "line");
  const check = (node: Node): void => {
    if (node.children.length === 0) return;
    for (const key of ["time", "peak", "flops", "bytes"] as const)
      expect(node.children.reduce((sum, child) => sum + child.sums[key], 0)).toBe(node.sums[key]);
    node.children.forEach(check);
  };
  check(root);
  expect(root.sums).toMatchObject({ time: 100e6, peak: 1040, flops: 100, bytes: 96 });
});

it("searches in names, scopes and shapes, and shows what is around the hits", () => {
  expect(view(sourceTree(RUN, "line"), { search: "dot_general", open: new Set() }).map(([, label]) => label)).toEqual([
    "/src/train.py",
    "loss",
    "line 12",
    "dot",
  ]);
  expect(view(sourceTree(RUN, "line"), { search: "nothing" })).toEqual([]);
});

it("finds the node of a line by the end of its path, and of an op by either name", () => {
  const root = sourceTree(RUN, "line");
  expect(nodeOfLine(root, "train.py:10")?.label).toBe("line 10");
  expect(nodeOfLine(root, "/src/train.py")?.kind).toBe("file");
  expect([nodeOfLine(root, "rain.py:10"), nodeOfLine(root, "train.py:1")]).toEqual([null, null]);
  expect(parentOfOp(root, "jit(f)/dense/add:add")?.label).toBe("line 10");
  expect(parentOfOp(root, "lost")?.label).toBe("no location");
  const line = nodeOfLine(root, "train.py:10");
  expect(pathTo(root, line?.id ?? "").map(({ label }) => label)).toEqual(["/src/train.py", "loss", "line 10"]);
  expect(pathTo(root, "file:gone")).toEqual([]);
  expect([...linesOf(root, "/src/train.py").keys()].sort()).toEqual([10, 12]);
  expect(leavesOf(root).buffers.map(({ name }) => name)).toEqual(["w", "add"]);
});

it("shows both sides of a base by file, function, line and op, per step where asked", () => {
  const root = sourceTree(RUN, "line", BASE, { run: 2, base: 1 });
  const line = nodeOfLine(root, "train.py:12") as Node;
  expect([line.sums.time, line.base?.time, difference(line, "time")]).toEqual([30e6, 40e6, -10e6]);
  expect([line.sums.peak, root.sums.peak, root.base?.peak]).toEqual([0, 1040, 1040]);
  const rows = visibleRows(root, { measure: "time", byDifference: true, open: new Set(root.children.map(({ id }) => id)), search: "" });
  // Both differ by 5 us; the larger part of the memory comes first.
  expect(rows.filter(({ depth }) => depth === 0).map(({ node }) => node.label)).toEqual(["no location", "/src/train.py"]);
  const lost = root.children.find(({ kind }) => kind === "none") as Node;
  expect(difference(lost, "time")).toBe(-5e6);
});

it("matches files of other checkouts only where that is certain", () => {
  const file = sameFiles(["/a/x/m.py", "/a/y/m.py", "/a/z/n.py"], ["/b/x/m.py", "/b/q/m.py", "/b/n.py", "/a/y/m.py"]);
  expect(["/b/x/m.py", "/b/q/m.py", "/b/n.py", "/a/y/m.py"].map(file)).toEqual(["/a/x/m.py", "/b/q/m.py", "/a/z/n.py", "/a/y/m.py"]);
});

it("says where the time goes and what the memory is for", () => {
  expect(summaryOf(RUN)).toEqual({
    headline: "60.0% of the device time comes from train.py:12 (loss)",
    lines: [
      '100 us of device time over 4 cores. 10.0% has no location: its ops are in the row "no location".',
      "Memory peak of jit_f(7): 1.016 KiB, 38.5% of it for train.py:10 (loss).",
    ],
  });
  const lines = tableOf({ file: ["", "", ""], function: ["", "", ""], line: [null, null, null] });
  const bare: Source = { ...RUN, lines, memory: null };
  expect(summaryOf(bare)).toEqual({
    headline: "No op has a source line: device time by name scope",
    lines: ["100 us of device time over 4 cores."],
  });
  const pytorch: Source = { ...bare, ops: opsWith("category", () => "aten::mm") };
  expect(summaryOf(pytorch).lines.at(-1)).toBe("PyTorch's profiler records lines with with_stack=True.");
});

it("makes a table of the whole tree with exact values", () => {
  const table = treeTable(sourceTree(RUN, "line", BASE), ["time", "peak"], true);
  const column = (id: string) => table.columns.find((one) => one.id === id)?.values;
  expect(column("name")?.slice(0, 4)).toEqual(["/src/train.py", "loss", "line 12", "dot"]);
  expect(column("line")?.slice(0, 3)).toEqual([null, null, 12]);
  expect(column("difference_time")?.slice(0, 4)).toEqual([50e6, 50e6, 20e6, 20e6]);
});

it("finds the ops of a line in the timeline, whatever letters their names have", () => {
  const found = new RegExp(searchOf(opsOf(RUN).map((op) => ({ ...op, name: `${op.name}.1` }))));
  expect(["dot.1", "%add.1 = f32[] add()", "dot.12", "dotx1"].map((name) => found.test(name))).toEqual([true, true, false, false]);
});
