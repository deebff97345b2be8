import { describe, expect, it } from "vitest";
import { ApiError } from "../../api/error";
import { fakeModules } from "./testing_client";
import { blocksChart, hidesCapacity, peakTreemap, spaceChart } from "./charts/charts";
import { chooseModule, loadModules } from "./choose";
import { readMemoryView } from "./decode";
import type { Buffer } from "./decode";
import { byCategory, card, edges, figures, groups, hasSeries, headline, isEmpty, lifetime, ordered, search, spacesOf } from "./model";
import { bufferTable, spaceTable } from "./tables";
import { readComparison } from "../../api/payload/comparison";
import { COMPARISON } from "../../page/compare/comparison_testing";
import { moduleOfBase, sizesTable, withBaseBuffers } from "./base_tables";
import { ANSWER, NO_TRACE } from "./testing";

const view = readMemoryView(ANSWER);
const [dot, copy, small] = view.buffers as [Buffer, Buffer, Buffer];

describe("the response", () => {
  it("is decoded to buffers with lifetimes", () => {
    expect(dot).toMatchObject({
      index: 0,
      id: 271,
      name: "dot.1",
      sizeMib: 2,
      unpaddedMib: 1,
      category: "Output",
      span: null,
      source: { place: "train.py:27", stack: "train.py:27:1\ntrain.py:40:1" },
    });
    expect(copy).toMatchObject({ index: 1, span: { begin: 1, end: 2 }, op: "", source: null });
    expect(view.blocks[1]).toEqual({ id: 14, name: "copy-start{0}", offset: 0, size: 4194304, begin: 1, end: 2 });
    expect(view.nonReusableMib).toBe(0);
  });

  it("may lack the heap simulation, or everything", () => {
    expect(hasSeries(readMemoryView(NO_TRACE))).toBe(false);
    expect(isEmpty(readMemoryView({}))).toBe(true);
    expect(isEmpty(view)).toBe(false);
    expect(() => readMemoryView("text")).toThrow(ApiError);
  });
});

describe("the summary", () => {
  it("gives size, time and contents of the peak", () => {
    const { title, sentences, parts } = headline(view, "jit_step(14)", "0");
    expect(title).toBe("jit_step(14) needs 6.500 MiB of HBM at its peak: fits");
    expect(sentences).toEqual([
      "With fragmentation it reserves 8.500 MiB, which fits into 32 MiB (TPU v6 Lite), 23.50 MiB to spare; other " +
        "programs and arrays on the device are not counted.",
      "The peak is at event 2 of 3, instruction copy-start.",
      "2.500 MiB of it (38.5%) is live for the whole program; temporaries take 4 MiB.",
      "Largest buffer: copy-start{0}, 4 MiB.",
      "Padding of shapes takes 1 MiB (15.4%).",
    ]);
    expect(parts.map(({ name }) => name)).toEqual(["Temporary", "Output", "Small (below 16 KiB)"]);
    expect(byCategory(view.buffers).map(({ mib }) => mib)).toEqual([4, 2, 0.5]);
  });

  it("does not judge a program that did not run", () => {
    const other = readMemoryView({ ...ANSWER, didNotRun: true, unknownMemory: "The program that ran has no HLO." });
    const { tone, title, sentences } = headline(other, "jit_step(14)", "0");
    expect([tone, title]).toEqual(["none", "jit_step(14) needs 6.500 MiB of HBM at its peak, but did not run in the recording"]);
    expect(sentences[0]).toBe("The program that ran has no HLO.");
    expect(sentences.join(" ")).not.toContain("fits");
  });

  it("distinguishes scratch memory from buffers", () => {
    const scoped = readMemoryView({ maxScopedVmemAllocationMib: 24, maxScopedVmemAllocationInstructionName: "fusion.2" });
    expect(headline(scoped, "jit_f(1)", "1")).toMatchObject({ title: "jit_f(1) has no buffers in VMEM", parts: [] });
    expect(headline(scoped, "jit_f(1)", "1").sentences[0]).toContain("24 MiB, by fusion.2");
    expect(figures(scoped, "1").at(-1)).toMatchObject({ name: "Maximum scoped VMEM", value: "24 MiB", detail: "fusion.2" });
  });

  it("says by how much a program fits or does not, fragmentation included", () => {
    const on = (memoryMib: number, hardware = "GPU", space = "0") =>
      headline(readMemoryView({ ...ANSWER, device: { hardware, memoryMib, source: "device" } }), "jit_step(14)", space);
    expect(on(8)).toMatchObject({
      tone: "bad",
      title: "jit_step(14) needs 6.500 MiB of device memory at its peak: does not fit by 512 KiB",
    });
    expect(on(8).sentences[0]).toContain("does not fit into 8 MiB by 512 KiB");
    expect(on(8.5)).toMatchObject({ tone: "none" });
    expect(on(0).title).toBe("jit_step(14) needs 6.500 MiB of device memory at its peak");
    expect(on(8, "TPU", "1").title).toBe("jit_step(14) needs 6.500 MiB of VMEM at its peak");
    const unknown = figures(readMemoryView({ ...ANSWER, device: { hardware: "GPU" } }), "0").find(({ name }) => name === "Device memory");
    expect([unknown?.value, unknown?.reason]).toEqual([null, expect.stringContaining("no allocator")]);
    expect(hidesCapacity({ ...view, device: { ...view.device, memoryMib: 32_000 } }, "0")).toBe(true);
  });

  it("says memory on CPUs, and offers memory spaces where there are any", () => {
    const cpu = readMemoryView({ ...ANSWER, device: { hardware: "CPU_ONLY" }, memorySpaces: [0] });
    expect(headline(cpu, "jit_step(14)", "0").title).toBe("jit_step(14) needs 6.500 MiB of memory at its peak");
    expect(figures(cpu, "0").some(({ name }) => name === "Device memory")).toBe(false);
    expect(spaceChart(cpu, "0").series).toHaveLength(2);
    const names = (hardware: string, memorySpaces: number[]) =>
      spacesOf(readMemoryView({ device: { hardware }, memorySpaces })).map(({ name }) => name);
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
    expect(figures(readMemoryView(NO_TRACE), "0").find(({ name }) => name === "Fragmentation")?.value).toBeNull();
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
    expect(ordered(view.buffers, "program")).toEqual([dot, copy, small]);
    expect(ordered(view.buffers, "size")).toEqual([copy, dot, small]);
    expect(ordered(view.buffers, "padding")).toEqual([dot]);
    expect([...edges([copy, dot, small], "size")].map((x) => Number(x.toFixed(4)))).toEqual([0, 0.6154, 0.9231, 1]);
  });

  it("place lifetimes on the points of the chart", () => {
    expect(lifetime(copy, 4)).toEqual({ begin: 2, end: 3 });
    expect(lifetime(dot, 4)).toEqual({ begin: 0, end: 4 });
  });

  it("group areas by category and by op", () => {
    expect(groups(view.buffers, "category").map(({ name, mib }) => [name, mib])).toEqual([
      ["Temporary", 4],
      ["Output", 2],
      ["Small buffers", 0.5],
    ]);
    expect(groups(view.buffers, "op").map(({ name }) => name)).toEqual(["copy-start", "jit(step)/dot", "Small buffers"]);
    const treemap = peakTreemap(view.buffers, "category", new Set([0]), "light");
    expect(treemap.groups.flatMap(({ tiles }) => tiles.map(({ place, faded }) => [place, faded]))).toEqual([
      [1, true],
      [0, false],
      [2, true],
    ]);
    expect(treemap.tip(0)?.lines[0]?.text).toBe("2 MiB");
  });

  it("follow memory and blocks over the program order", () => {
    const space = spaceChart(view, "0");
    expect([space.x.to, space.series.map(({ name }) => name)]).toEqual([view.sizes.length, ["Size", "Unpadded size", "Device memory"]]);
    expect(space.series[2]?.values).toEqual([32, 32, 32, 32]);
    expect(hidesCapacity(view, "0")).toBe(false);
    expect(space.tip(view.sizes.length - 1)?.title).toBe("After the last event");
    const drawn = [
      { id: 14, name: "copy-start", offset: 8, size: 4, begin: 1, end: 2 },
      { id: -1, name: "", offset: 0, size: 64, begin: 0, end: 3 },
    ];
    const blocks = blocksChart({ ...view, blocks: drawn }, new Map([[14, copy]]), "light");
    expect(blocks.blocks.map(({ x, y, opacity, colour }) => [x, y, opacity, colour === null])).toEqual([
      [[2, 3], [8, 12], 1, false],
      [[0, 4], [0, 64], 0.55, true],
    ]);
    expect(
      blocks
        .table()
        .columns.slice(3)
        .map(({ values }) => [...values]),
    ).toEqual([
      [2, 1],
      [3, 3],
    ]);
    expect(blocks.tip(0)?.lines.at(-1)?.text).toBe("2 to 3");
  });

  it("share one axis: a block begins and ends where its lifetime and the curve do", () => {
    const blocks = blocksChart(view, new Map([[14, copy]]), "light");
    expect(blocks.x).toEqual(spaceChart(view, "0").x);
    const { begin, end } = lifetime(copy, view.sizes.length);
    expect(blocks.blocks[1]?.x).toEqual([begin, end]);
    // The curve is higher by the buffer exactly there.
    expect(view.sizes.map((size) => size > 2.5)).toEqual(view.sizes.map((_, i) => i >= begin && i < end));
  });

  it("search names, ops, opcodes and shapes", () => {
    expect(search(view.buffers, "")).toBeNull();
    expect([...(search(view.buffers, "DOT f32") ?? [])]).toEqual([0]);
    expect([...(search(view.buffers, "copy-start temporary") ?? [])]).toEqual([1]);
    expect(search(view.buffers, "nothing")?.size).toBe(0);
  });

  it("fill the table", () => {
    expect(spaceTable(view).columns.map(({ values }) => values[2])).toEqual([3, "dot.1", 6.5, 5.5]);
    const table = bufferTable(view.buffers, view.instructions);
    const column = (id: string) => table.columns.find((one) => one.id === id)?.values;
    expect(column("size")).toEqual([2, 4, 0.5]);
    expect([column("alloc"), column("free")]).toEqual([
      [null, 2, null],
      [null, 3, null],
    ]);
    expect(column("freed_by")).toEqual([null, "dot.1", null]);
    expect(column("buffer_id")).toEqual([271, 14, null]);
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
    const found = readComparison(COMPARISON);
    expect(moduleOfBase(["jit_f(7)", "jit_f_again(9)"], "jit_f_again(9)", found)).toBe("jit_f_again(9)");
    expect(moduleOfBase(["jit_g(1)", "jit_f(7)"], "jit_f_again(9)", found)).toBe("jit_f(7)");
    expect(moduleOfBase(["jit_g(1)", "jit_f(7)"], "jit_f(9)", null)).toBe("jit_f(7)");
    expect(moduleOfBase(["jit_g(1)"], "jit_f(9)", found)).toBeNull();
  });

  it("has sizes beside those of the run", () => {
    const [names, run, base, delta] = sizesTable(view, { ...view, peakMib: view.peakMib - 1 }).columns.map(({ values }) => values[0]);
    expect([names, run, base, delta]).toEqual(["Peak memory usage", view.peakMib, view.peakMib - 1, 1]);
  });

  it("has the buffers of the same name, or of the same origin under another number", () => {
    const base = {
      ...view,
      buffers: [
        { ...dot, name: "dot.9", sizeMib: 1 },
        { ...copy, sizeMib: 5 },
      ],
    };
    const table = withBaseBuffers(view, base, [dot, copy], false);
    const values = (id: string) => table.columns.find((column) => column.id === id)?.values;
    expect([values("name"), values("base_size"), values("difference_size")]).toEqual([
      ["dot.1", copy.name],
      [1, 5],
      [dot.sizeMib - 1, copy.sizeMib - 5],
    ]);
  });
});
