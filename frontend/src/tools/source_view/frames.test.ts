import { expect, it } from "vitest";
import { layoutFlame } from "../../base/flame/flame";
import { framesOf } from "./frames";
import { answerOf } from "./testing";

const RUN = answerOf({ dot: 60e6, add: 30e6, lost: 10e6 });
const BASE = answerOf({ dot: 20e6, add: 30e6, lost: 0, file: "/old/src/train.py" });
const shown = (root: Parameters<typeof layoutFlame>[0]): [number, string, number][] => {
  const flame = layoutFlame(root);
  return flame.nodes.map(({ name, value }, i) => [flame.depth[i] ?? 0, name, value]);
};

it("has the call stack of each op, the outermost call first", () => {
  expect(shown(framesOf(RUN, "line", "time"))).toEqual([
    [0, "all", 100e6],
    [1, "main (main.py:5)", 90e6],
    [2, "loss (train.py:12)", 60e6],
    [3, "dot", 60e6],
    [2, "loss (train.py:10)", 30e6],
    [3, "add", 30e6],
    [1, "no location", 10e6],
    [2, "lost", 10e6],
  ]);
  expect(framesOf(RUN, "line", "time").children[0]?.place).toBe("/src/main.py:5");
});

it("has the memory at the peak, arguments by their path", () => {
  const peak = shown(framesOf(RUN, "line", "peak"));
  expect(peak[0]).toEqual([0, "all", 1040]);
  expect(peak.slice(1, 3)).toEqual([
    [1, "no location", 640],
    [2, "params['w']", 640],
  ]);
});

it("has name scopes", () => {
  expect(shown(framesOf(RUN, "scope", "flops"))).toEqual([
    [0, "all", 100],
    [1, "jit(f)", 100],
    [2, "dense", 100],
    [3, "dot_general", 100],
    [4, "dot", 100],
  ]);
});

it("has both sides of a base whose files lie elsewhere, per step, memory excepted", () => {
  const root = framesOf(RUN, "line", "time", BASE, { run: 2, base: 1 });
  const flame = layoutFlame(root);
  expect(flame.nodes.map(({ name, value, base }) => [name, value / 1e6, (base ?? 0) / 1e6])).toContainEqual(["dot", 30, 20]);
  expect(framesOf(RUN, "line", "peak", BASE, { run: 2, base: 1 })).toMatchObject({ value: 1040, base: 1040 });
});
