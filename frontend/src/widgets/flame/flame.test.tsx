import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { unmount } from "../../base/testing";
import { layoutFlame } from "../../base/flame/flame";
import type { FlameNode } from "../../base/flame/flame";
import { changeColour, depthAt, drawFlame, topOf } from "./draw";
import { FlameGraph, describe, zoomedWindow } from "./flame";
import { flameTable } from "./table";

const TREE: FlameNode = {
  name: "all",
  value: 100e9,
  base: 80e9,
  children: [
    { name: "loss", value: 75e9, base: 75e9, children: [{ name: "dot", value: 70e9, base: 35e9, children: [], place: "/src/a.py:3" }] },
    { name: "new", value: 25e9, base: null, children: [] },
  ],
};
const roots: HTMLElement[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) {
    unmount(root);
    root.remove();
  }
});
/** Does something and draws what follows, however slow the machine is. */
const drawn = (does: () => void): Promise<void> => act(does);

async function show(tree: FlameNode, keys: Record<string, string> = {}): Promise<{ root: HTMLElement; keys: Map<string, string> }> {
  const held = new Map(Object.entries(keys));
  const root = document.createElement("div");
  document.body.append(root);
  roots.push(root);
  const state = {
    get: (key: string) => held.get(key) ?? null,
    set: (patch: Readonly<Record<string, string | null>>) => {
      for (const [key, value] of Object.entries(patch))
        if (value === null) held.delete(key);
        else held.set(key, value);
    },
  };
  await drawn(() =>
    render(<FlameGraph root={tree} unit="ps" what="Self time" fileName="f" state={state} placeLink={(place) => ({ line: place })} />, root),
  );
  return { root, keys: held };
}

const press = (root: HTMLElement, key: string): Promise<void> =>
  drawn(() => void root.querySelector("canvas")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
const selected = (root: HTMLElement): string => root.querySelector(".flame-selected")?.textContent ?? "";

it("is moved and zoomed by keyboard, and the address keeps the frame", async () => {
  const { root, keys } = await show(TREE);
  expect(selected(root)).toBe("all 100 ms, 100.0% of all, 80 ms in the base, +20 ms");
  await press(root, "ArrowDown");
  await press(root, "ArrowDown");
  expect(selected(root)).toBe("dot 70 ms, 70.0% of all, 35 ms in the base, +35 ms a.py:3");
  await press(root, "Enter");
  expect(keys.get("frame")).toBe("loss\ndot");
  await press(root, "Escape");
  expect(keys.get("frame")).toBe("loss");
  await press(root, "ArrowRight");
  expect(selected(root)).toBe("new 25 ms, 25.0% of all, not in the base");
  await press(root, "Home");
  expect(keys.has("frame")).toBe(false);
});

it("opens at the frame and the search of the address", async () => {
  const { root } = await show(TREE, { frame: "loss\ndot", frames: "do", flip: "1" });
  expect(selected(root)).toContain("dot 70 ms");
  expect(root.textContent).toContain("1 frame, 70.0% of self time");
  await press(root, "ArrowDown");
  expect(selected(root)).toContain("loss 75 ms");
});

it("shows the same data as a table", async () => {
  const { root } = await show(TREE);
  await press(root, "t");
  expect(root.querySelector('[role="grid"]')).not.toBeNull();
  const table = flameTable(layoutFlame(TREE), "ps", "Self time");
  expect(table.columns.map(({ id, values }) => [id, ...values])).toEqual([
    ["name", "all", "loss", "dot", "new"],
    ["value", 100e9, 75e9, 70e9, 25e9],
    ["share", 1, 0.75, 0.7, 0.25],
    ["self", 0, 5e9, 70e9, 25e9],
    ["base", 80e9, 75e9, 35e9, null],
    ["difference", 20e9, 0, 35e9, 25e9],
    ["depth", 0, 1, 2, 1],
    ["path", null, "loss", "loss > dot", "new"],
  ]);
  expect(flameTable(layoutFlame(TREE), "ps", "Self time", 2).columns[0]?.values).toEqual(["all", "loss"]);
});

it("zooms around the pointer, within the graph", () => {
  expect(zoomedWindow({ left: 0, right: 100 }, 25, 0.5, 100)).toEqual({ left: 12.5, right: 62.5 });
  expect(zoomedWindow({ left: 50, right: 100 }, 75, 10, 100)).toEqual({ left: 0, right: 100 });
});

it("callers are on top, or below as flames", () => {
  const view = { height: 180, scroll: 0, flipped: false };
  expect([topOf(2, view), depthAt(37, view)]).toEqual([36, 2]);
  const flames = { ...view, flipped: true };
  expect([topOf(0, flames), depthAt(175, flames), depthAt(10, flames)]).toEqual([162, 0, 9]);
});

it("colours by change: blue less, orange more", () => {
  expect([changeColour(-1, "light"), changeColour(0, "light"), changeColour(1, "light")]).toEqual(["#0072b2", "#e4e8ee", "#d55e00"]);
  expect(describe(layoutFlame({ name: "all", value: 0, children: [] }), 0, "ps")).toBe("0 ns");
});

it("draws no more boxes than pixels in each row, of 200,000 frames", () => {
  const level = (count: number, depth: number): FlameNode[] =>
    Array.from({ length: count }, (_, i) => ({
      name: `frame_${depth}_${i}`,
      value: 10 ** (3 - depth),
      children: depth === 3 ? [] : level(10, depth + 1),
    }));
  // 180 x (1 + 10 + 100 + 1000) frames.
  const flame = layoutFlame({ name: "all", value: 180_000, children: level(180, 0) });
  expect(flame.count).toBe(199_981);
  const calls = { rect: 0 };
  const context = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, key) => (key === "measureText" ? () => ({ width: 7 }) : () => (key === "fillRect" ? (calls.rect += 1) : undefined)),
    set: () => true,
  });
  const colours = { theme: "light", ground: "#fff", text: "#000", dim: "#888", focus: "#00f", hatch: "#aaa" } as const;
  for (let i = 0; i < 20; i++) {
    calls.rect = 0;
    const right = 180_000 / 1.5 ** i;
    drawFlame(context, flame, { left: 0, right, width: 1400, height: 600, scroll: 0, flipped: false }, colours, {
      hovered: -1,
      selected: 0,
      hits: null,
    });
    expect(calls.rect).toBeGreaterThan(0);
    expect(calls.rect).toBeLessThan(5 * 1400);
  }
  vi.restoreAllMocks();
});
