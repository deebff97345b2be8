import { describe, expect, it } from "vitest";
import { TimeScale } from "../../base/time_scale";
import { NODE_HEIGHT, NODE_WIDTH, layOut, treeOf } from "./graph/layout";
import {
  analysisOf,
  choosePipeline,
  headline,
  iteratorsTable,
  nameParts,
  nodeLines,
  describeNode,
  settingLines,
  sinceBegin,
  slowest,
} from "./model";
import { neighbour } from "./graph/key_navigation";
import { chooseRank } from "./pickers";
import { EVERYTHING, tiles, within } from "../../widgets/graph/viewport";
import { barsPath, extent, spanAt, executionRows, wholeWindow } from "./executions/rows";
import { answer, runAnswer } from "./testing";
import { drawnNodes } from "./graph/tree";
import type { PipelineIterator } from "../../base/documents";

const node = (id: string, parent: string, more: Partial<PipelineIterator> = {}): PipelineIterator => ({
  id,
  parent,
  name: "Map",
  long_name: "Iterator::Root::Map",
  dataset: "",
  begin_ps: 0,
  duration_ps: 10,
  self_ps: 5,
  calls: 1,
  role: 0,
  settings: {},
  ...more,
});

describe("the document", () => {
  it("has pipelines with their bottlenecks", () => {
    const { pipelines } = analysisOf(answer());
    expect(pipelines.map((one) => [one.host, one.name, one.kind, one.maxPs, one.runs, one.slow, one.bottleneck?.name ?? null])).toEqual([
      ["vm", "Host:0", "host", 71e6, 10, 3, "Range"],
      ["vm", "Host:1", "host", 53809e6, 10, 10, "Map"],
      ["vm", "Device:0", "device", 9e6, 10, 0, null],
      ["b", "Host:0", "host", 60e6, 4, 1, null],
    ]);
    expect(pipelines[1]).toMatchObject({ row: 1, requestHost: "vm-1", meanPs: 52316e6, bottleneck: { name: "Map", selfPs: 43450e6 } });
  });
});

describe("summary and tables", () => {
  const analysis = analysisOf(answer());

  it("names the slowest pipeline and its bottleneck", () => {
    expect(slowest(analysis)?.name).toBe("Host:1");
    expect(headline(analysis)).toEqual({
      tone: "bad",
      title: "Input pipeline Host:1 of vm is slow: Map is its bottleneck",
      sentences: [
        "A call takes up to 53.81 ms; 43.45 ms of that is the self time of Map.",
        "10 of 10 calls took longer than 50 us; 52.32 ms on average.",
      ],
    });
  });

  it("does not relate a longer self time to the call", () => {
    const ahead = analysis.pipelines
      .slice(0, 1)
      .map((one) => ({ ...one, bottleneck: one.bottleneck && { ...one.bottleneck, selfPs: 95e6 } }));
    expect(headline({ ...analysis, pipelines: ahead }).sentences[0]).toBe(
      "A call takes up to 71 us; Range ran for 95 us, partly ahead of the call or on several threads.",
    );
  });

  it("accepts fast pipelines, and names no bottleneck of device pipelines alone", () => {
    const quick = {
      found: { ...analysis.found, input_bound: false },
      pipelines: analysis.pipelines.slice(0, 1).map((one) => ({ ...one, maxPs: 41e6 })),
    };
    expect(headline(quick)).toMatchObject({
      tone: "good",
      title: "No input pipeline is slow: the slowest call, of Host:0 of vm, takes 41 us",
    });
    expect(headline({ ...analysis, pipelines: analysis.pipelines.slice(2, 3) }).title).toBe("Only device pipelines were recorded");
  });

  it("chooses by the address, else the slowest, else any pipeline", () => {
    const name = (host: string | null, pipeline: string | null): string => {
      const one = choosePipeline(analysis, host, pipeline);
      return `${one?.host} ${one?.name}`;
    };
    expect([
      name(null, null),
      name("vm", "Host:0"),
      name("b", null),
      name("vm", "Host:7"),
      name("gone", null),
      name(null, "Device:0"),
    ]).toEqual(["vm Host:1", "vm Host:0", "b Host:0", "vm Host:1", "vm Host:1", "vm Device:0"]);
    expect(choosePipeline({ ...analysis, pipelines: [] }, null, null)).toBeNull();
    expect([
      chooseRank(null, 10),
      chooseRank("3", 10),
      chooseRank("99", 10),
      chooseRank("x", 10),
      chooseRank("-2", 10),
      chooseRank("1.5", 10),
    ]).toEqual([0, 3, 9, 0, 0, 0]);
  });

  it("lists the iterators of a run", () => {
    const iterators = iteratorsTable(runAnswer());
    expect(iterators.columns.slice(0, 6).map(({ label, values }) => [label, values[1]])).toEqual([
      ["Iterator", "Map"],
      ["Role", "bottleneck"],
      ["Start time", 100.5],
      ["Total duration", 80],
      ["Self duration", 60],
      ["Calls", 2],
    ]);
  });

  it("names the recorded settings of an iterator, and nothing else", () => {
    const [root, map, range] = runAnswer().iterators;
    expect(root && settingLines(root)).toEqual([["CPUs for tf.data", "8"]]);
    expect(map && settingLines(map)).toEqual([
      ["Parallelism", "2"],
      ["Autotune", "off: fixed by the program"],
      ["Order", "kept (deterministic)"],
    ]);
    expect(range && settingLines(range)).toEqual([]);
    expect(
      settingLines({
        settings: {
          autotune: true,
          buffer_limit: 1,
          buffer_size: 1000,
          cycle_length: 2,
          batch_size: 4,
          deterministic: false,
          passed: 3,
          filtered: 1,
        },
      }).map((line) => line.join(" ")),
    ).toEqual([
      "Autotune on",
      "Shuffle buffer 1,000 elements",
      "Prefetch buffer 1 element",
      "Cycle length 2 inputs",
      "Batch size 4 elements",
      "Order not kept",
      "Kept so far 3 elements",
      "Dropped so far 1 element",
    ]);
    expect(iteratorsTable(runAnswer()).columns.find(({ id }) => id === "settings")?.values).toEqual([
      "CPUs for tf.data: 8",
      "Parallelism: 2; Autotune: off: fixed by the program; Order: kept (deterministic)",
      null,
    ]);
  });

  it("reads long names and nodes", () => {
    expect(nameParts("Iterator::Batch::Repeat::Map::Range")).toEqual([
      { name: "Range", after: 0 },
      { name: "Map", after: 1 },
      { name: "Repeat", after: 2 },
      { name: "Batch", after: 3 },
    ]);
    const run = runAnswer();
    const [, map] = drawnNodes(run.iterators, new Set());
    expect(map && nodeLines(map, run)).toEqual([
      ["Start time", "+500 ns"],
      ["Total duration", "80 us"],
      ["Self duration", "60 us"],
      ["Calls", "2"],
    ]);
    expect(map && describeNode(map, run)).toBe("Map, bottleneck: start time +500 ns, total duration 80 us, self duration 60 us, calls 2.");
    expect(sinceBegin(90e6, run)).toBe("−10 us");
  });
});

describe("the tree", () => {
  it("makes roots of nodes without a parent, with an unknown one, or in cycles", () => {
    expect(treeOf([node("a", ""), node("b", "gone"), node("c", "d"), node("d", "c"), node("e", "e"), node("f", "a")])).toEqual({
      children: [[5], [], [3], [], [], []],
      roots: [0, 1, 2, 4],
    });
    expect(drawnNodes([node("c", "d"), node("d", "c")], new Set())).toHaveLength(2);
  });

  it("centres parents above their children, without overlap", () => {
    const nodes = [
      node("r", ""),
      node("a", "r"),
      node("b", "r"),
      node("c", "r"),
      ...Array.from({ length: 30 }, (_, i) => node(`x${i}`, ["a", "b", "c"][i % 3] ?? "", { long_name: `n${i}` })),
    ];
    const { places, width, height, edges, order } = layOut(nodes);
    expect(edges).toHaveLength(33);
    expect(order.slice(0, 3)).toEqual([0, 1, 4]);
    expect(places[0]?.x).toBeCloseTo(places[2]?.x ?? -1);
    places.forEach((a, i) => {
      expect(a.x).toBeGreaterThanOrEqual(0);
      expect(a.x + NODE_WIDTH).toBeLessThanOrEqual(width);
      expect(a.y + NODE_HEIGHT).toBeLessThanOrEqual(height);
      for (const b of places.slice(i + 1)) if (a.y === b.y) expect(Math.abs(a.x - b.x)).toBeGreaterThanOrEqual(NODE_WIDTH);
    });
    expect(layOut([])).toEqual({ width: 0, height: 0, places: [], edges: [], order: [] });
  });

  it("handles a thousand levels and two thousand siblings", () => {
    const deep = Array.from({ length: 1000 }, (_, i) => node(String(i), i ? String(i - 1) : ""));
    expect(layOut(deep).places[999]?.depth).toBe(999);
    const wide = layOut(Array.from({ length: 2001 }, (_, i) => node(String(i), i ? "0" : "")));
    expect(wide.places[2000]?.x).toBe(12 + 1999 * (NODE_WIDTH + 24));
  });

  it("groups similar siblings, never the bottleneck, and expands them again", () => {
    const nodes = [
      node("r", "", { long_name: "Iterator::Root" }),
      ...Array.from({ length: 9 }, (_, i) => node(`m${i}`, "r", { role: i === 8 ? 2 : i === 7 ? 1 : 0, self_ps: i })),
      node("below", "m0", { long_name: "x" }),
    ];
    const drawn = drawnNodes(nodes, new Set());
    expect(drawn.map(({ id, grouped }) => [id, grouped])).toEqual([
      ["r", 0],
      ["m8", 0],
      ["m7", 0],
      ["m6", 0],
      ["m5", 0],
      ["more r Iterator::Root::Map", 5],
    ]);
    expect(drawn[5]).toMatchObject({ name: "5 more Map", duration_ps: 50, self_ps: 10, calls: 5, role: 0 });
    expect([...(drawn[5]?.nodes ?? [])].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 10]);
    expect(drawnNodes(nodes, new Set(["more r Iterator::Root::Map"]))).toHaveLength(11);
    expect(drawnNodes(nodes.slice(0, 6), new Set())).toHaveLength(6);
  });

  it("moves between nodes by keys", () => {
    const drawn = drawnNodes(
      [node("r", ""), node("a", "r", { long_name: "1", role: 2 }), node("b", "r", { long_name: "2" }), node("c", "b", { long_name: "3" })],
      new Set(),
    );
    const layout = layOut(drawn);
    const to = (key: string, at: number): string | null => {
      const next = neighbour(key, at, drawn, layout);
      return next === null ? null : (drawn[next]?.id ?? "");
    };
    expect([
      to("ArrowDown", -1),
      to("ArrowDown", 0),
      to("ArrowRight", 1),
      to("ArrowLeft", 2),
      to("ArrowUp", 3),
      to("ArrowUp", 0),
      to("b", 3),
      to("Home", 3),
      to("End", 0),
      to("x", 0),
    ]).toEqual(["a", "a", "b", "a", "b", null, "a", "r", "c", null]);
  });
});

describe("the viewport", () => {
  it("is rounded outwards, a tile more on every side", () => {
    const sight = tiles(310, 0, 500, 299);
    expect(sight).toEqual({ left: 0, top: -300, right: 1200, bottom: 600 });
    expect([
      within(sight, -100, 0, 0, 10),
      within(sight, -100, 0, 1, 10),
      within(sight, 1200, 0, 1300, 10),
      within(EVERYTHING, 1e9, 1e9, 2e9, 2e9),
    ]).toEqual([false, true, false, true]);
  });
});

describe("the executions chart", () => {
  const run = runAnswer();

  it("covers the run and executions ahead of it", () => {
    expect(extent(run)).toEqual({ begin: 90e6, end: 200e6 });
    expect(wholeWindow(run)).toEqual([90e6 - 2.2e6, 200e6 + 2.2e6]);
  });

  it("puts overlapping executions on separate lanes", () => {
    const rows = executionRows(run.spans, [0, 1, 2], 3);
    expect(rows.map(({ spans, lanes, laneCount }) => [spans, lanes, laneCount])).toEqual([
      [[0], [0], 1],
      [[1, 2], [0, 1], 2],
      [[3], [0], 1],
    ]);
    const scale = new TimeScale(90e6, 200e6, 110);
    const [, map] = rows;
    expect(map && barsPath(map, run.spans, scale, 18)).toBe("M10.5 20.0h40.0v7.0h-40.0zM30.0 27.0h40.0v7.0h-40.0z");
    expect(map && barsPath(map, run.spans, scale, 18, (span) => span === 2)).toBe("M30.0 27.0h40.0v7.0h-40.0z");
    expect(
      map && [
        spanAt(map, run.spans, 125e6, 0, 0),
        spanAt(map, run.spans, 125e6, 1, 0),
        spanAt(map, run.spans, 195e6, null, 1e6),
        spanAt(map, run.spans, 162e6, null, 3e6),
      ],
    ).toEqual([1, 2, -1, 2]);
  });

  it("draws executions shorter than a pixel, one bar for all within a pixel", () => {
    const spans = {
      iterator: [0, 0, 0],
      thread: [0, 0, 0],
      begin_ps: [0, 10, 500],
      duration_ps: [1, 1, 1],
      blocking: [true, true, true],
      count: [1, 1, 1],
    };
    const [row] = executionRows(spans, [0], 1);
    expect(row && barsPath(row, spans, new TimeScale(0, 1000, 10), 0)).toBe("M0.0 2.0h1.0v14.0h-1.0zM5.0 2.0h1.0v14.0h-1.0z");
  });
});
