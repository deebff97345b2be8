import { describe, expect, it } from "vitest";
import { fakeModules } from "./testing_client";
import { blocksChart, hidesCapacity, peakTreemap, spaceChart } from "./charts/charts";
import { chooseModule, loadModules } from "./choose";
import {
  bufferTable,
  buffersOf,
  byCategory,
  card,
  edges,
  figures,
  groups,
  hasSeries,
  headline,
  heapOf,
  isEmpty,
  keyOf,
  lifetime,
  ordered,
  search,
  spacesOf,
} from "./model";
import type { Buffer } from "./model";
import { COMPARISON } from "../../page/compare/comparison_testing";
import { moduleOfBase, sizesTable, withBaseBuffers } from "./base_tables";
import type { ProgramMemory } from "../../base/documents";
import { pickRows } from "../../base/table/transform";
import { tableOf } from "../../base/testing";
import { MIB, NOTHING, NO_TRACE, TPU, VIEW } from "./testing";

const view = VIEW;
const buffers = buffersOf(view);
const [dot, copy, small] = buffers as [Buffer, Buffer, Buffer];
type Hardware = ProgramMemory["device"]["hardware"];

describe("the document", () => {
  it("has buffers with lifetimes in program order", () => {
    expect(dot).toMatchObject({ index: 0, buffer_id: 271, name: "dot.1", size: 2 * MIB, alloc: null, source: "train.py:27" });
    expect(copy).toMatchObject({ index: 1, alloc: 2, free: 3, op: null, source: null });
    expect(buffers.map(keyOf)).toEqual(["271", "14", "-1"]);
  });

  it("may lack the heap simulation, or everything", () => {
    expect([hasSeries(view), hasSeries(NO_TRACE)]).toEqual([true, false]);
    expect([isEmpty(view), isEmpty(NOTHING)]).toEqual([false, true]);
  });
});

describe("the summary", () => {
  it("gives size, time and contents of the peak", () => {
    const { title, sentences, parts } = headline(view, "jit_step(14)", "0");
    expect(title).toBe("jit_step(14) needs 6.500 MiB of HBM at its peak: 20.3% of 32 MiB");
    expect(sentences).toEqual([
      "With fragmentation it reserves 8.500 MiB; 23.50 MiB of 32 MiB (TPU v6 Lite) are left for other programs and arrays on the device.",
      "The peak is at event 2 of 3, instruction copy-start.",
      "2.500 MiB of it (38.5%) is live for the whole program; temporaries take 4 MiB.",
      "Largest buffer: copy-start{0}, 4 MiB.",
      "Padding of shapes takes 1 MiB (15.4%).",
    ]);
    expect(parts.map(({ name }) => name)).toEqual(["Temporary", "Output", "Small (below 16 KiB)"]);
    expect(byCategory(buffers).map(({ size }) => size / MIB)).toEqual([4, 2, 0.5]);
  });

  it("does not judge a program that did not run", () => {
    const other = { ...view, did_not_run: true, unknown_memory: "The program that ran has no HLO." };
    const { tone, title, sentences } = headline(other, "jit_step(14)", "0");
    expect([tone, title]).toEqual(["none", "jit_step(14) needs 6.500 MiB of HBM at its peak, but did not run in the recording"]);
    expect(sentences[0]).toBe("The program that ran has no HLO.");
    expect(sentences.join(" ")).not.toContain("reserves");
  });

  it("distinguishes scratch memory from buffers", () => {
    const scoped = { ...NOTHING, scoped_bytes: 24 * MIB, scoped_instruction: "fusion.2" };
    expect(headline(scoped, "jit_f(1)", "1")).toMatchObject({ title: "jit_f(1) has no buffers in VMEM", parts: [] });
    expect(headline(scoped, "jit_f(1)", "1").sentences[0]).toContain("24 MiB, by fusion.2");
    expect(figures(scoped, "1").at(-1)).toMatchObject({ name: "Maximum scoped VMEM", value: "24 MiB", detail: "fusion.2" });
  });

  it("says what a program takes of the device, and by how much it does not fit, fragmentation included", () => {
    const on = (mib: number, hardware: Hardware = "GPU", space = "0") =>
      headline({ ...view, device: { hardware, model: "", bytes: mib * MIB, source: "device" } }, "jit_step(14)", space);
    expect(on(8)).toMatchObject({
      tone: "bad",
      title: "jit_step(14) needs 6.500 MiB of device memory at its peak: does not fit by 512 KiB",
    });
    expect(on(8).sentences[0]).toContain("does not fit into 8 MiB by 512 KiB");
    expect(on(8.5).tone).toBe("none");
    expect(on(8.5).title).toMatch(/: 76\.5% of 8\.500 MiB$/);
    expect(on(0).title).toBe("jit_step(14) needs 6.500 MiB of device memory at its peak");
    expect(on(8, "TPU", "1").title).toBe("jit_step(14) needs 6.500 MiB of VMEM at its peak");
    const unknown = figures({ ...view, device: { ...TPU, hardware: "GPU", bytes: 0 } }, "0").find(({ name }) => name === "Device memory");
    expect([unknown?.value, unknown?.reason]).toEqual([null, expect.stringContaining("no allocator")]);
    expect(hidesCapacity({ ...view, device: { ...TPU, bytes: 32_000 * MIB } }, "0")).toBe(true);
  });

  it("says memory on CPUs, and offers memory spaces where there are any", () => {
    const cpu = { ...view, device: { ...TPU, hardware: "CPU_ONLY" as const }, spaces: [0] };
    expect(headline(cpu, "jit_step(14)", "0").title).toBe("jit_step(14) needs 6.500 MiB of memory at its peak");
    expect(figures(cpu, "0").some(({ name }) => name === "Device memory")).toBe(false);
    expect(spaceChart(cpu, "0").series).toHaveLength(2);
    const names = (hardware: Hardware, spaces: number[]) => spacesOf({ device: { ...TPU, hardware }, spaces }).map(({ name }) => name);
    expect(names("CPU_ONLY", [0])).toEqual(["memory"]);
    expect(names("GPU", [0, 1, 5])).toEqual(["device memory", "memory space 1", "host memory"]);
    expect(names("TPU", [0])).toHaveLength(7);
  });

  it("follows the documented formulas", () => {
    const values = Object.fromEntries(figures(view, "0").map(({ name, value }) => [name, value]));
    expect(values).toMatchObject({
      "Peak memory allocation": "6.500 MiB",
      "Device memory": "32 MiB",
      "With fragmentation": "8.500 MiB",
      "Padding overhead": "1 MiB",
      Arguments: "1 MiB",
      "HLO temporaries": "4 MiB",
      Fragmentation: "33.3%",
    });
    expect(figures(NO_TRACE, "0").find(({ name }) => name === "Fragmentation")?.value).toBeNull();
  });

  it("describes a buffer by nine properties", () => {
    expect(card(dot).map(({ name, value }) => [name, value])).toEqual([
      ["Name", "dot.1"],
      ["Category", "dot"],
      ["Size", "2 MiB"],
      ["Unpadded size", "1 MiB"],
      ["Expansion", "2.0x"],
      ["Extra memory", "1 MiB"],
      ["Shape", "f32[512,512]{1,0}"],
      ["Framework op", "jit(step)/dot"],
      ["Allocation type", "Output"],
    ]);
    expect(
      card(copy)
        .filter(({ value }) => value === null)
        .map(({ name }) => name),
    ).toEqual(["Expansion", "Extra memory", "Framework op"]);
    expect(card(small)[0]?.value).toContain("16 KiB");
  });
});

describe("the charts", () => {
  it("order and weigh buffers", () => {
    expect(ordered(buffers, "program")).toEqual([dot, copy, small]);
    expect(ordered(buffers, "size")).toEqual([copy, dot, small]);
    expect(ordered(buffers, "padding")).toEqual([dot]);
    expect([...edges([copy, dot, small], "size")].map((x) => Number(x.toFixed(4)))).toEqual([0, 0.6154, 0.9231, 1]);
  });

  it("place lifetimes on the points of the chart", () => {
    expect(lifetime(copy, 4)).toEqual({ begin: 2, end: 3 });
    expect(lifetime(dot, 4)).toEqual({ begin: 0, end: 4 });
  });

  it("group areas by category and by op", () => {
    expect(groups(buffers, "category").map(({ name, size }) => [name, size / MIB])).toEqual([
      ["Temporary", 4],
      ["Output", 2],
      ["Small buffers", 0.5],
    ]);
    expect(groups(buffers, "op").map(({ name }) => name)).toEqual(["copy-start", "jit(step)/dot", "Small buffers"]);
    const treemap = peakTreemap(view, "category", new Set([0]), "light");
    expect(treemap.groups.flatMap(({ tiles }) => tiles.map(({ place, faded }) => [place, faded]))).toEqual([
      [1, true],
      [0, false],
      [2, true],
    ]);
    expect(treemap.tip(0)?.lines[0]?.text).toBe("2 MiB");
  });

  it("follow memory and blocks over the program order", () => {
    const space = spaceChart(view, "0");
    expect([space.x.to, space.series.map(({ name }) => name)]).toEqual([view.heap.rowCount, ["Size", "Unpadded size", "Device memory"]]);
    expect(space.series[2]?.values).toEqual(Array(4).fill(32 * MIB));
    expect(hidesCapacity(view, "0")).toBe(false);
    expect(space.tip(view.heap.rowCount - 1)?.title).toBe("After the last event");
    const drawn = {
      ...{ buffer_id: [14, null], name: ["copy-start", ""], offset: [8, 0], size: [4, 64] },
      ...{ begin: [2, 1], end: [3, 3] },
    };
    const blocks = blocksChart({ ...view, blocks: tableOf(drawn) }, new Map([[14, copy]]), "light");
    expect(blocks.blocks.map(({ x, y, opacity, colour }) => [x, y, opacity, colour === null])).toEqual([
      [[2, 3], [8, 12], 1, false],
      [[0, 4], [0, 64], 0.55, true],
    ]);
    expect(blocks.tip(0)?.lines.at(-1)?.text).toBe("2 to 3");
  });

  it("share one axis: a block begins and ends where its lifetime and the curve do", () => {
    const blocks = blocksChart(view, new Map([[14, copy]]), "light");
    expect(blocks.x).toEqual(spaceChart(view, "0").x);
    const { begin, end } = lifetime(copy, view.heap.rowCount);
    expect(blocks.blocks[1]?.x).toEqual([begin, end]);
    // The curve is higher by the buffer exactly there.
    const { sizes } = heapOf(view);
    expect(sizes.map((size) => size > 2.5 * MIB)).toEqual(sizes.map((_, i) => i >= begin && i < end));
  });

  it("search names, ops, opcodes and shapes", () => {
    expect(search(buffers, "")).toBeNull();
    expect([...(search(buffers, "DOT f32") ?? [])]).toEqual([0]);
    expect([...(search(buffers, "copy-start temporary") ?? [])]).toEqual([1]);
    expect(search(buffers, "nothing")?.size).toBe(0);
  });

  it("fill the table", () => {
    const table = bufferTable(view, buffers);
    const column = (id: string) => table.columns.find((one) => one.id === id)?.values;
    expect([column("size"), column("stack")]).toEqual([[2 * MIB, 4 * MIB, MIB / 2], undefined]);
    expect(bufferTable(view, [copy]).columns[0]?.values).toEqual(["copy-start{0}"]);
  });
});

describe("the choice of a module", () => {
  it("takes the one with the largest peak, unless the address names one", async () => {
    const modules = await loadModules(
      fakeModules({ "a(1)": 1, "b(12)": 5, "c(2)": null }),
      "run",
      "host",
      "0",
      new AbortController().signal,
    );
    expect(modules.names).toEqual(["a(1)", "b(12)", "c(2)"]);
    expect([...modules.peaks]).toEqual([
      ["a(1)", 1],
      ["b(12)", 5],
    ]);
    expect(chooseModule(modules, null, null)).toBe("b(12)");
    expect(chooseModule(modules, "c(2)", null)).toBe("c(2)");
    // A program id is matched whole, never as a part.
    expect(chooseModule(modules, null, "2")).toBe("c(2)");
    expect(chooseModule({ names: [], peaks: new Map() }, null, null)).toBeNull();
  });
});

describe("a base", () => {
  it("has the program of the same name, the one that the comparison found, or the same name with another id", () => {
    const found = COMPARISON;
    expect(moduleOfBase(["jit_f(7)", "jit_f_again(9)"], "jit_f_again(9)", found)).toBe("jit_f_again(9)");
    expect(moduleOfBase(["jit_g(1)", "jit_f(7)"], "jit_f_again(9)", found)).toBe("jit_f(7)");
    expect(moduleOfBase(["jit_g(1)", "jit_f(7)"], "jit_f(9)", null)).toBe("jit_f(7)");
    expect(moduleOfBase(["jit_g(1)"], "jit_f(9)", found)).toBeNull();
  });

  it("has sizes beside those of the run", () => {
    const [names, run, base, delta] = sizesTable(view, { ...view, peak_bytes: view.peak_bytes - 1 }).columns.map(({ values }) => values[0]);
    expect([names, run, base, delta]).toEqual(["Peak memory usage", view.peak_bytes, view.peak_bytes - 1, 1]);
  });

  it("has the buffers of the same name, or of the same origin under another number", () => {
    const other: Record<string, readonly (string | number)[]> = { name: ["dot.9", copy.name], size: [1, 5] };
    const theirs = pickRows(view.buffers, [0, 1]);
    const columns = theirs.columns.map((column) => ({ ...column, values: other[column.id] ?? column.values }));
    const base = { ...view, buffers: { ...theirs, columns } };
    const table = withBaseBuffers(view, base, [dot, copy], false);
    const values = (id: string) => table.columns.find((column) => column.id === id)?.values;
    expect([values("name"), values("base_size"), values("difference_size")]).toEqual([
      ["dot.1", copy.name],
      [1, 5],
      [dot.size - 1, copy.size - 5],
    ]);
  });
});
