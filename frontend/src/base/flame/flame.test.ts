import { expect, it } from "vitest";
import { blocksOf, change, countAt, frameAt, frameOfPath, layoutFlame, neighbour, pathOf, searchFlame } from "./flame";
import type { Flame, FlameNode } from "./flame";
import { flameOfPaths } from "./paths";

const leaf = (name: string, value: number): FlameNode => ({ name, value, children: [] });
const TREE: FlameNode = {
  name: "all",
  value: 100,
  children: [
    { name: "eval", value: 30, children: [leaf("add", 30)] },
    { name: "train", value: 60, children: [leaf("add", 10), { name: "dot", value: 40, children: [leaf("dot.1", 40)] }] },
  ],
};
const FLAME = layoutFlame(TREE);
const named = (flame: Flame, name: string): number => flame.nodes.findIndex((node) => node.name === name);
const blocks = (flame: Flame, depth: number, left: number, right: number, width: number): [string, number, number, number][] => {
  const found: [string, number, number, number][] = [];
  blocksOf(flame, depth, { left, right }, width, (frame, count, x, wide) => found.push([flame.nodes[frame]?.name ?? "", count, x, wide]));
  return found;
};

it("places callers above what they call, siblings from the largest", () => {
  expect(blocks(FLAME, 1, 0, 100, 200)).toEqual([
    ["train", 1, 0, 120],
    ["eval", 1, 120, 60],
  ]);
  expect(blocks(FLAME, 2, 0, 100, 200)).toEqual([
    ["dot", 1, 0, 80],
    ["add", 1, 80, 20],
    ["add", 1, 120, 60],
  ]);
  expect([FLAME.self[named(FLAME, "train")], FLAME.self[0], FLAME.total]).toEqual([10, 10, 100]);
});

it("shows a window of it, clipped at the edges", () => {
  expect(blocks(FLAME, 2, 30, 70, 400)).toEqual([
    ["dot", 1, 0, 100],
    ["add", 1, 100, 100],
    ["add", 1, 300, 100],
  ]);
  expect(blocks(FLAME, 9, 0, 100, 100)).toEqual([]);
});

it("merges frames narrower than a pixel, counts them, and leaves no gap", () => {
  const many = layoutFlame({ name: "all", value: 1000, children: Array.from({ length: 1000 }, (_, i) => leaf(`f${i}`, 1)) });
  expect(blocks(many, 1, 0, 1000, 100)).toEqual([["f0", 1000, 0, 100]]);
  expect(countAt(many, 1, { left: 0, right: 1000 }, 100, 50)).toBe(1000);
  expect(countAt(many, 1, { left: 0, right: 10 }, 100, 50)).toBe(1);
  const mixed = layoutFlame({
    name: "all",
    value: 150,
    children: [leaf("big", 50), ...Array.from({ length: 100 }, (_, i) => leaf(`f${i}`, 1))],
  });
  expect(blocks(mixed, 1, 0, 150, 75)).toEqual([
    ["big", 1, 0, 25],
    ["f0", 100, 25, 50],
  ]);
});

it("draws at most two blocks a pixel, however many frames there are", () => {
  const count = 200_000;
  const flame = layoutFlame({
    name: "all",
    value: count,
    children: Array.from({ length: count }, (_, i) => leaf(`f${i}`, i % 7 === 0 ? 7 : 1e-3)),
  });
  for (const right of [count, count / 100, count / 5000]) expect(blocks(flame, 1, 0, right, 1000).length).toBeLessThanOrEqual(2000);
  const counted = blocks(flame, 1, 0, flame.end[flame.count - 1] ?? 0, 1000).reduce((sum, [, n]) => sum + n, 0);
  expect(counted).toBe(count);
});

it("finds the frame at a place", () => {
  expect([0, 39.9, 40, 60, 95].map((value) => FLAME.nodes[frameAt(FLAME, value, 2)]?.name ?? null)).toEqual([
    "dot",
    "dot",
    "add",
    "add",
    null,
  ]);
  expect(frameAt(FLAME, 5, 7)).toBe(-1);
});

it("searches in any case, and counts nested hits once", () => {
  expect(searchFlame(FLAME, "DOT")).toMatchObject({ count: 2, value: 40 });
  expect(searchFlame(FLAME, "add")).toMatchObject({ count: 2, value: 40 });
  expect(searchFlame(FLAME, " ")).toMatchObject({ count: 0, value: 0 });
});

it("follows paths of names, as far as they are known", () => {
  const dot = named(FLAME, "dot.1");
  expect(pathOf(FLAME, dot)).toEqual(["train", "dot", "dot.1"]);
  expect(frameOfPath(FLAME, ["train", "dot", "dot.1"])).toBe(dot);
  expect(frameOfPath(FLAME, ["train", "gone"])).toBe(named(FLAME, "train"));
});

it("moves by keys to callers, callees and neighbours", () => {
  const train = named(FLAME, "train");
  const names = (["caller", "callee", "before", "after"] as const).map((key) => FLAME.nodes[neighbour(FLAME, train, key)]?.name);
  expect(names).toEqual(["all", "dot", "train", "eval"]);
  expect(neighbour(FLAME, 0, "caller")).toBe(0);
});

it("adds up paths of a run and of a base", () => {
  const root = flameOfPaths(
    "all",
    [
      { names: ["f", "a"], value: 3, places: ["x.py:1", ""] },
      { names: ["f", "a"], value: 4 },
      { names: ["f", "zero"], value: 0 },
    ],
    [
      { names: ["f", "a"], value: 14 },
      { names: ["g"], value: 5 },
    ],
  );
  const flame = layoutFlame(root);
  expect(flame.nodes.map(({ name, value, base }) => [name, value, base])).toEqual([
    ["all", 7, 19],
    ["f", 7, 14],
    ["a", 7, 14],
    ["g", 0, 5],
  ]);
  expect(flame.nodes.map(({ place }) => place)).toEqual([undefined, "x.py:1", undefined, undefined]);
  expect(flame.nodes.map(change)).toEqual([-12 / 19, -0.5, -0.5, -1]);
  expect(flameOfPaths("all", [{ names: ["f"], value: 1 }]).children[0]).not.toHaveProperty("base");
});

it("survives very deep stacks", () => {
  let deep: FlameNode = leaf("end", 1);
  for (let i = 0; i < 5000; i++) deep = { name: `f${i}`, value: 1, children: [deep] };
  expect(layoutFlame(deep).rows.length).toBe(1024);
});
