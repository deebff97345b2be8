import { expect, it } from "vitest";
import { NOTES, ON_CPU } from "../../../page/testing";
import { edgePath } from "../../../widgets/graph/edge_path";
import { drawnAs, findNodes, neighbour } from "./drawing";
import { colouringOf, fillOf, programOf, readTimes, readingOf, scaleOf, timeLines } from "../times";
import { TIMES, SHORT, drawingOf } from "../testing";
import { readHlo } from "../text/hlo_text";
import { readView, toggled } from "../view_state";

const closed = drawingOf(false);
const open = drawingOf(true);
const times = readTimes(TIMES, "jit_step(7)");

it("draws an instruction as a node, or as the box that it is open as", () => {
  expect(drawnAs(closed, "fusion")).toMatchObject({ id: 9, opcode: "fusion" });
  expect(drawnAs(open, "fusion")).toMatchObject({ caller: 9, fusion: true });
  expect(drawnAs(open, "nope")).toBeNull();
});

it("moves with the arrow keys: up to an operand, down to a user, sideways in the layer", () => {
  expect(["ArrowUp", "ArrowDown", "ArrowLeft", "x"].map((key) => neighbour(closed, "fusion", key))).toEqual(["p0", "reduce", null, null]);
  expect(["ArrowRight", "ArrowLeft", "ArrowUp"].map((key) => neighbour(closed, "p0", key))).toEqual(["p1", null, null]);
  expect(neighbour(closed, null, "ArrowDown")).toBe("p0");
  expect(neighbour(drawingOf(false, { center: "reduce" }), null, "ArrowDown")).toBe("reduce");
});

it("finds nodes by name, opcode, shape, framework op and source", () => {
  expect(["REDUCE", "f32[4]", "step)/p", "train.py:7", " ", "nope"].map((query) => findNodes(closed, query).length)).toEqual([
    1, 4, 2, 4, 0, 0,
  ]);
});

it("reads the times of a module, and what they say about a node", () => {
  expect(programOf("a(b)(12)")).toBe("12");
  expect([...times.byName.keys()]).toEqual(["fusion", "reduce"]);
  expect([times.totalUs, times.longestUs]).toEqual([100, 80]);
  expect(readingOf(times, "fusion", "time")).toEqual({ text: "80 us", place: 1 });
  expect(readingOf(times, "reduce", "time")).toEqual({ text: "20 us", place: 0.5 });
  expect(readingOf(times, "fusion", "flops")).toEqual({ text: "25.0%", place: 0.25 });
  expect(readingOf(times, "fusion", "memory")).toEqual({ text: "30.0%", place: 0.3 });
  expect([readingOf(times, "reduce", "flops"), readingOf(times, "p0", "time"), readingOf(null, "fusion", "time")]).toEqual([
    null,
    null,
    null,
  ]);
  const one = times.byName.get("fusion");
  expect(one && timeLines(times, one)).toEqual([
    ["Self time", "80 us, 80.0% of the module's"],
    ["Occurrences", "4, on average 22.50 us"],
    ["FLOP rate", "250 GFLOP/s, 25.0% of the peak of the device"],
    ["Bandwidth", "30 GiB/s, 30.0% of the peak of the device"],
    ["Closest limit", "HBM"],
  ]);
  const wild = readTimes({ ...TIMES, notes: { ...NOTES, limits: { ...NOTES.limits, hbm_gib_per_s: 3 } } }, "jit_step(7)");
  expect(readingOf(wild, "fusion", "memory")).toBeNull();
  const far = wild.byName.get("fusion");
  expect(far && timeLines(wild, far)[3]).toEqual([
    "Bandwidth",
    "⚠ more than the peak of the device (3 GiB/s). Work of this op is done outside its recorded time.",
  ]);
  const unknown = readTimes({ ...TIMES, notes: ON_CPU }, "jit_step(7)");
  expect([readingOf(unknown, "fusion", "flops"), scaleOf(unknown, "flops").base]).toEqual([
    null,
    "the profile has no peak to compare with",
  ]);
});

it("has a scale per colouring, whose base it names", () => {
  expect([colouringOf("flops"), colouringOf("x"), colouringOf(null)]).toEqual(["flops", "kind", "kind"]);
  expect(scaleOf(times, "time")).toMatchObject({ low: "0", high: "80 us" });
  expect(scaleOf(times, "memory")).toEqual({ low: "0%", high: "100%", base: "of the peak of the device, 100 GiB/s" });
  expect([fillOf(0, "time", "light"), fillOf(1, "time", "light"), fillOf(1, "flops", "light")]).toEqual(["#fdf3dc", "#b5342b", "#2aa585"]);
});

it("reads the view from the address", () => {
  const hlo = readHlo(SHORT);
  const view = (keys: Record<string, string>) => readView((key) => keys[key] ?? null, hlo);
  expect(view({})).toMatchObject({
    name: null,
    instruction: -1,
    computation: 2,
    selected: null,
    steps: 2,
    merged: true,
    opened: [],
    nodes: 1000,
    colouring: "kind",
    parts: "both",
  });
  expect(view({ node_name: "%reduce", graph_width: "99", expand: "a,b", merge_fusion: "false", view: "graph" })).toMatchObject({
    name: "reduce",
    instruction: hlo.byName.get("reduce"),
    computation: -1,
    selected: "reduce",
    steps: 10,
    merged: false,
    opened: ["a", "b"],
    parts: "graph",
  });
  expect(view({ node_name: "add", sel: "sum" })).toMatchObject({ computation: 1, instruction: -1, selected: "sum" });
  expect(view({ node_name: "nope", sel: "nope" })).toMatchObject({ instruction: -1, computation: -1, selected: null });
  expect([toggled([], "a"), toggled(["a"], "a"), toggled(["a"], "b")]).toEqual(["a", null, "a,b"]);
});

it("draws smooth edges", () => {
  expect(
    edgePath([
      [0, 0],
      [10, 20],
    ]),
  ).toBe("M0 0C0 10 10 10 10 20");
});
