import { describe, expect, it } from "vitest";
import type { AllocatorMemory } from "../../base/documents";
import { tableOf } from "../../base/testing";
import {
  figures,
  fullest,
  headline,
  hidesFree,
  historyChart,
  isUnnamed,
  linesTable,
  modulesOf,
  peakMark,
  peaksTable,
  popUp,
} from "./model";
import { MEMORY, PROFILE } from "./testing";

const [profile, memory] = [PROFILE, MEMORY];

describe("the summary", () => {
  it("gives usage, time and contents of the peak", () => {
    const { title, sentences, tone, parts } = headline(profile, memory);
    expect(title).toBe("Memory is not full: at the peak 600 B of 1,000 B (60.0%) is in use");
    expect(tone).toBe("good");
    expect(sentences.join(" ")).toContain("The peak is at 2 ms of the recording, with a fragmentation of 50.0%");
    expect(sentences.join(" ")).toContain("66.7% of the memory in use belongs to model/conv/Conv2D (400 B)");
    expect(sentences.join(" ")).toContain("900 B, was outside this profile");
    expect(sentences.join(" ")).toContain("It is the fullest of 2 memories");
    expect(parts.map(({ name, text }) => [name, text])).toEqual([
      ["Stack", "100 B"],
      ["Heap", "500 B"],
      ["Free", "400 B"],
    ]);
  });

  it("does not compare with an unknown capacity", () => {
    const unknown = { ...memory, peak: { ...memory.peak, free: 0, capacity: 0 } };
    expect(headline({ ...profile, memories: [unknown] }, unknown)).toMatchObject({
      tone: "good",
      title: "600 B is in use at the peak; the allocator does not say how much there is",
    });
    expect(figures(unknown).find(({ name }) => name === "Memory capacity")?.value).toBe("unknown");
  });

  it("warns if the memory is full", () => {
    const full = { ...memory, peak: { ...memory.peak, used: 990 } };
    expect(headline({ ...profile, memories: [full] }, full)).toMatchObject({ tone: "bad" });
    expect(fullest(profile.memories)?.id).toBe("0");
    expect(fullest([])).toBeNull();
  });

  it("draws stack red, heap orange and free memory green", () => {
    expect(headline(profile, memory).parts.map(({ name, colour }) => [name, colour])).toEqual([
      ["Stack", { light: "#c8321f", dark: "#f2664f" }],
      ["Heap", 1],
      ["Free", 2],
    ]);
  });

  it("counts the events and adds up the sizes", () => {
    const values = Object.fromEntries(figures(memory).map(({ name, value }) => [name, value]));
    expect(values).toMatchObject({
      Allocations: "2",
      Deallocations: "1",
      "Memory capacity": "1,000 B",
      "Time of the peak": "2 ms",
      Fragmentation: "50.0%",
      "Stack reservation": "100 B",
    });
  });

  it("hides free memory only if the usage is low", () => {
    expect(hidesFree(memory)).toBe(false);
    expect(hidesFree(profile.memories[1] as AllocatorMemory)).toBe(true);
  });
});

describe("the series", () => {
  it("become a chart over time", () => {
    const chart = historyChart(memory);
    expect(chart.series.map(({ name, draw, values }) => [name, draw, values])).toEqual([
      ["Stack", "area", [100, 100, 100]],
      ["Heap", "area", [200, 500, 200]],
      ["Free", "area", [700, 400, 700]],
      ["Fragmentation (right axis)", "line", [25, 50, 25]],
    ]);
    expect([chart.x.from, chart.x.to, chart.at]).toEqual([1e9, 5e9, [1e9, 2e9, 5e9]]);
    expect(chart.tip(2)?.lines.find(({ name }) => name === "Event")?.text).toBe("deallocation");
    expect([chart.tip(3), chart.table().rowCount, peakMark(memory).from]).toEqual([null, 3, 2e9]);
  });

  it("name the ten fields, sizes of releases negative", () => {
    const fields = new Map(popUp(memory.timeline, 2));
    expect(fields.get("Event")).toBe("deallocation");
    expect(fields.get("Allocation size")).toBe("-300 B");
    expect(fields.get("Op")).toBe("-");
    expect(fields.get("Memory in use")).toBe("300 B");
  });
});

describe("the tables", () => {
  it("of live allocations may lack the names of all ops", () => {
    const unnamed = { ...memory, live: tableOf({ op: [null, "stack"], allocation: [1, 2], occurrences: [1, 1] }) };
    expect([memory, unnamed, { ...memory, live: tableOf({ op: [] }) }].map((one) => one.live.rowCount > 0 && isUnnamed(one))).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("choose the runs of the memory's device", () => {
    const runs = tableOf({ device: ["Chip 4, TPU core 0", "Chip 5, TPU core 0"], id: ["3", "4"] });
    expect(["Chip 4, TPU core 0", "Chip 5, TPU core 0", ""].map((device) => modulesOf(runs, { device }).columns[1]?.values)).toEqual([
      ["3"],
      ["4"],
      ["3", "4"],
    ]);
  });
});

it("shows the peak of a base beside its own", () => {
  const base: AllocatorMemory = { ...memory, peak: { ...memory.peak, used: 450, heap: 350 } };
  const table = peaksTable(memory, base);
  expect(table.columns.map(({ values }) => values.slice(0, 3))).toEqual([
    ["Peak memory usage", "Stack reservation", "Heap allocation"],
    [600, 100, 500],
    [450, 100, 350],
    [150, 0, 150],
  ]);
});

describe("an allocator with segments", () => {
  const segments: AllocatorMemory = {
    ...memory,
    peak: { ...memory.peak, free: 0, capacity: 0, segments: 1000, largest_free: 300 },
    timeline: tableOf({
      time: [1e9, 2e9],
      event: ["allocation", "allocation"],
      stack: [0, 0],
      heap: [300, 600],
      free: [0, 0],
      fragmentation: [0, 0.25],
      segments: [900, 1000],
    }),
    live: tableOf({ op: ["f", "g", "f"], allocation: [300, 200, 100], occurrences: [1, 1, 1], source: ["a.py:1", "a.py:2", "a.py:1"] }),
  };

  it("says what they hold, and draws it", () => {
    expect(headline(profile, segments).sentences).toContain(
      "Segments take 1,000 B of the device: 400 B (40.0%) of it is free for reuse, the largest block 300 B.",
    );
    expect(historyChart(segments).series.map(({ name }) => name)).toEqual(["Heap", "Segments", "Fragmentation (right axis)"]);
    expect(figures(segments).find(({ name }) => name === "Largest free block")?.value).toBe("300 B");
  });

  it("is compared by line", () => {
    const base = { ...segments, live: tableOf({ op: ["f"], allocation: [150], occurrences: [2], source: ["a.py:2"] }) };
    expect(linesTable(segments, base)?.columns.map(({ values }) => values)).toEqual([
      ["a.py:1", "a.py:2"],
      [400, 200],
      [null, 300],
      [null, -100],
    ]);
    expect(linesTable(memory, memory)).toBeNull();
  });
});
