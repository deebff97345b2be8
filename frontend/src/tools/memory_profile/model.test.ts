import { describe, expect, it } from "vitest";
import { ApiError } from "../../api/error";
import { readMemoryProfile } from "./decode";
import type { Memory } from "./decode";
import {
  breakdown,
  figures,
  fullest,
  headline,
  hidesFree,
  history,
  historyChart,
  moduleTable,
  modulesOf,
  peakMark,
  peaksTable,
  popUp,
} from "./model";
import { ANSWER, NOTHING } from "./testing";

const profile = readMemoryProfile(ANSWER);
const memory = profile.memories[0] as Memory;

describe("the response", () => {
  it("is decoded to numbers and known texts", () => {
    expect(memory.snapshots).toHaveLength(3);
    expect(memory.snapshots[0]).toMatchObject({
      timePs: 1e9,
      stack: 100,
      heap: 200,
      free: 700,
      release: false,
      requested: 199,
      allocated: 200,
      op: "model/conv/Conv2D",
      step: "7",
      dataType: "float",
    });
    expect(memory.snapshots[2]).toMatchObject({ release: true, dataType: "", shape: "" });
    expect(memory.peak).toEqual({
      timePs: 2e9,
      stack: 100,
      heap: 500,
      free: 400,
      fragmentation: 0.5,
      used: 600,
      capacity: 1000,
      lifetime: 900,
    });
    expect(profile.modules).toEqual([{ id: "3", name: "jit_f(12)", device: "TPU:0", beginPs: 1.5e9, endPs: 1.7e9 }]);
  });

  it("joins the rows at the peak with their events and with the special rows", () => {
    expect(memory.live.map(({ op, allocated, occurrences, special }) => [op, allocated, occurrences, special])).toEqual([
      ["", 300, 1, false],
      ["model/conv/Conv2D", 200, 2, false],
      ["stack", 100, 1, true],
    ]);
    expect(memory.live[2]).toMatchObject({ dataType: "", shape: "", region: "stack" });
  });

  it("may be empty, but not malformed", () => {
    expect(readMemoryProfile(NOTHING)).toEqual({ memories: [], modules: [] });
    expect(() => readMemoryProfile([])).toThrow(ApiError);
    expect(() => readMemoryProfile({ ...NOTHING, memoryIds: ["7"] })).toThrow(/memory 7/);
  });
});

describe("texts of unknown ops", () => {
  it("count as no text", () => {
    const event = { tfOpName: "(null)", regionType: "(null)", memoryActivity: "ALLOCATION" };
    const one = {
      ...ANSWER.memoryProfilePerAllocator["0"],
      sampledTimelineSnapshots: [{ timeOffsetPs: "1", aggregationStats: {}, activityMetadata: event }],
    };
    const [snapshot] =
      readMemoryProfile({ ...ANSWER, memoryProfilePerAllocator: { ...ANSWER.memoryProfilePerAllocator, "0": one } }).memories.find(
        ({ id }) => id === "0",
      )?.snapshots ?? [];
    expect(snapshot).toMatchObject({ op: "", region: "" });
  });
});

describe("the summary", () => {
  it("gives usage, time and contents of the peak", () => {
    const { title, sentences, tone, parts } = headline(profile, memory);
    expect(title).toBe("Memory is not full: at the peak 600 B of 1,000 B (60.0%) is in use");
    expect(tone).toBe("good");
    expect(sentences.join(" ")).toContain(
      "The peak is 2 ms after the start of the recording, with a fragmentation of the free memory of 50.0%",
    );
    expect(sentences.join(" ")).toContain("66.7% of the memory in use belongs to model/conv/Conv2D (400 B)");
    expect(sentences.join(" ")).toContain("900 B, was outside this profile");
    expect(sentences.join(" ")).toContain("Of 2 memories, this one has the highest usage");
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
    expect(hidesFree(profile.memories[1] as Memory)).toBe(true);
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
    const fields = new Map(memory.snapshots[2] ? popUp(memory.snapshots[2]) : []);
    expect(fields.get("Event")).toBe("deallocation");
    expect(fields.get("Allocation size")).toBe("-300 B");
    expect(fields.get("Op")).toBe("-");
    expect(fields.get("Memory in use")).toBe("300 B");
  });
});

describe("the tables", () => {
  it("have seven columns, missing names as null", () => {
    const table = breakdown(memory.live);
    expect(table.columns.map(({ label }) => label)).toEqual([
      "Op name",
      "Allocation size",
      "Requested size",
      "Occurrences",
      "Region type",
      "Data type",
      "Shape",
    ]);
    expect(table.columns[0]?.values).toEqual([null, "model/conv/Conv2D", "stack"]);
    expect(history(memory.snapshots).columns[3]?.values).toEqual([200, 300, -300]);
  });

  it("choose the runs of the memory's device", () => {
    expect(modulesOf(profile.modules, "0")).toHaveLength(1);
    expect(modulesOf([...profile.modules, { id: "4", name: "g", device: "TPU:1", beginPs: 0, endPs: 1 }], "1").map(({ id }) => id)).toEqual(
      ["4"],
    );
    expect(modulesOf(profile.modules, "GPU_0_bfc")).toHaveLength(1);
    expect(moduleTable(profile.modules).columns.map(({ values }) => values[0])).toEqual(["jit_f(12)", "TPU:0", 1.5e9, 1.7e9, 2e8, "3"]);
  });
});

it("shows the peak of a base beside its own", () => {
  const base: Memory = { ...memory, peak: { ...memory.peak, used: 450, heap: 350 } };
  const table = peaksTable(memory, base);
  expect(table.columns.map(({ values }) => values.slice(0, 3))).toEqual([
    ["Peak memory usage", "Stack reservation", "Heap allocation"],
    [600, 100, 500],
    [450, 100, 350],
    [150, 0, 150],
  ]);
});
