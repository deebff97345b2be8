import { expect, it } from "vitest";
import { framesOf } from "./frames";
import type { Op } from "./ops";

const op = (place: Op["place"], name: string, selfUs: number): Op => ({ place, name, selfUs, type: "MatMul", occurrences: 1, flopRate: 0 });

it("has device and host, then the scopes of the names; times per step beside those of a base", () => {
  const ops = [op("Device", "model/dense/MatMul", 4), op("Device", "model/relu", 2), op("Host", "Iterator::Batch", 1)];
  const root = framesOf(ops, [op("Device", "model/relu", 6)], { run: 2, base: 3 });
  expect([root.value, root.base]).toEqual([3.5e6, 2e6]);
  expect(root.children.map(({ name, value }) => [name, value])).toEqual([
    ["Device", 3e6],
    ["Host", 0.5e6],
  ]);
  expect(root.children[0]?.children[0]?.children.map(({ name, value, base }) => [name, value, base])).toEqual([
    ["dense", 2e6, null],
    ["relu", 1e6, 2e6],
  ]);
});
