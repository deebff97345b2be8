import { describe, expect, it } from "vitest";
import { NOTES, ON_CPU } from "../../page/testing";
import { adviceOf } from "./advice";
import { readOpProfile } from "./decode";
import type { OpNode } from "./decode";
import { framesOf } from "./frames";
import { fit, flopsUse, frameworkOp, memoryUse, peaksOf, share, wasted } from "./formulas";
import { firstOpen, pathTo, treeTable, visibleRows } from "./rows";
import type { Options } from "./rows";
import { node, sample } from "./sample";
import { readView, writeView } from "./view_state";

const read = (more = {}) => readOpProfile(sample(more), "program");
const all: Options = { limit: 10, top90: false, order: "time" };
const find = (root: OpNode, name: string): OpNode => {
  const queue = [root];
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (next.name === name) return next;
    queue.push(...next.children);
  }
  throw new Error(name);
};

describe("the response", () => {
  it("is decoded to a tree of programs, ops, duplicates, parts and idle time", () => {
    const { whole, device, notes } = read();
    expect(device).toBe("TPU");
    expect(notes).toEqual(NOTES);
    expect(
      ["by_program", "jit_f(7)", "fusion.1", "add.1", "copy.1 and its duplicate(s)", "copy.2", "IDLE"].map(
        (name) => find(whole, name).kind,
      ),
    ).toEqual(["root", "group", "op", "part", "duplicates", "op", "idle"]);
    expect(find(whole, "fusion.1").op).toMatchObject({
      source: "f.py:3",
      sourceOf: "",
      stack: "f.py:3",
      layoutUse: 0.78125,
      programId: "7",
    });
  });

  it("accepts 64-bit integers as texts and fused instructions outside the children", () => {
    const op = {
      ...node("f", { time: 1, category: "loop fusion" }),
      metrics: { rawTime: "9007199254740993" },
      fused: [node("a", { category: "add" })],
    };
    const profile = readOpProfile(
      {
        byCategory: node("r", { time: 2 }, [op]),
        byCategoryExcludeIdle: node("r", {}),
        deviceType: "GPU",
        notes: { ...ON_CPU, unattributed_share: 0.25 },
      },
      "category",
    );
    expect(find(profile.whole, "f").timePs).toBe(9007199254740992);
    expect(find(profile.whole, "a").kind).toBe("part");
    expect(profile.notes).toMatchObject({ on_cpu: true, unattributed_share: 0.25 });
  });

  it("shortens kernels in the names of ops, as little as tells them apart", () => {
    const kernel = (type: string) => `void at::native::vectorized_kernel<4, at::native::${type}Functor<float> >(int, float)`;
    const op = (name: string) => node(name, { time: 1, category: "aten::add" });
    const ops = [
      op(`Net_0/aten::add/${kernel("Add")}`),
      op(`aten::add/${kernel("Mul")}`),
      op(`aten::add/${kernel("Mul")} and its duplicate(s)`),
    ];
    const answer = { byCategory: node("r", { time: 3 }, ops), byCategoryExcludeIdle: node("r", {}), deviceType: "GPU", notes: NOTES };
    const { whole } = readOpProfile(answer, "category");
    expect(whole.children.map(({ label }) => label)).toEqual([
      "Net_0/aten::add/vectorized_kernel<AddFunctor>",
      "aten::add/vectorized_kernel<MulFunctor>",
      "aten::add/vectorized_kernel<MulFunctor> and its duplicate(s)",
    ]);
    expect(whole.children[0]?.name).toContain("void at::native::");
    expect(framesOf(whole, null).children?.[0]?.name).toBe("Net_0/aten::add/vectorized_kernel<AddFunctor>");
  });

  it("reports malformed responses", () => {
    expect(() => readOpProfile([], "program")).toThrow(/op profile is not an object/);
    expect(() => readOpProfile(sample(), "category")).toThrow(/no tree byCategory/);
    expect(() => readOpProfile({ ...sample(), byProgramExcludeIdle: { name: "r", metrics: { rawTime: "x" } } }, "program")).toThrow(
      /rawTime of r is not a number/,
    );
  });
});

describe("numbers of a node", () => {
  const { busy, whole } = read();
  const peaks = peaksOf(read());
  const fusion = find(busy, "fusion.1");

  it("are shares and utilisations of the shown tree", () => {
    expect(share(fusion, busy)).toBe(0.5);
    expect(flopsUse(fusion, busy, peaks)).toBeCloseTo(0.2);
    expect(memoryUse(fusion, 0, peaks)).toBe(0.25);
    expect(wasted(fusion, busy, peaks)).toBeCloseTo(0.5 * 0.75);
  });

  it("are null where they are undefined", () => {
    const [part, idle] = [find(busy, "add.1"), find(whole, "IDLE")];
    expect([share(part, busy), flopsUse(part, busy, peaks), memoryUse(part, 0, peaks)]).toEqual([null, null, null]);
    expect([flopsUse(idle, whole, peaks), memoryUse(idle, 0, peaks)]).toEqual([null, null]);
    expect(wasted({ ...fusion, bandwidth: [0, 0, 0] }, busy, peaks)).toBeNull();
    const unknown = { ...fusion, flops: 0, weightedFlops: 0 };
    expect([flopsUse(unknown, busy, peaks), flopsUse({ ...unknown, bytes: [0, 0, 0] }, busy, peaks)]).toEqual([0, null]);
  });

  it("have no utilisation without a peak", () => {
    const cpu = readOpProfile(sample({ deviceType: "CPU_ONLY", notes: ON_CPU }), "program");
    expect(peaksOf(cpu)).toEqual({ flops: false, memory: [false, false, false], hbm: null });
    expect(flopsUse(cpu.busy, cpu.busy, peaksOf(cpu))).toBeNull();
    const bare = readOpProfile({ ...sample(), byProgram: node("r", { time: 5 }) }, "program");
    expect(peaksOf(bare).flops).toBe(false);
  });

  it("name the framework op by its last part", () => {
    expect(["jit(f)/jit(main)/add:", "model/dense/MatMul:MatMul", "a/b", "", "x/y:deep/Op"].map(frameworkOp)).toEqual([
      "add",
      "MatMul",
      "b",
      null,
      "Op",
    ]);
  });

  it("describe how a dimension fits the tiles", () => {
    expect(fit({ size: 128, alignment: 128, semantics: "" })).toEqual({ hint: "Exact fit", padded: 128, used: 1 });
    expect(fit({ size: 256, alignment: 128, semantics: "" }).hint).toBe("Exact fit: 2 x 128");
    expect(fit({ size: 100, alignment: 128, semantics: "" })).toEqual({ hint: "Pad to 128", padded: 128, used: 0.78125 });
    expect(fit({ size: 130, alignment: 128, semantics: "" }).hint).toBe("Pad to 256: 2 x 128");
    expect(fit({ size: 7, alignment: 0, semantics: "" }).hint).toBe("No padding");
  });
});

describe("visible rows", () => {
  const { busy, whole } = read();
  const peaks = peaksOf(read());
  const names = (root: OpNode, options: Partial<Options>, open: readonly string[] = [], full: readonly string[] = []) =>
    visibleRows(root, peaks, { ...all, ...options }, new Set(open), new Set(full)).map((row) =>
      row.kind === "node" ? `${" ".repeat(row.depth)}${row.node.name}` : `${row.kind} ${row.left}`,
    );

  it("expand to the first level with several nodes, with ops that contain others", () => {
    expect(names(busy, {}, firstOpen(busy))).toEqual(["jit_f(7)", " loop fusion", "  fusion.1", " copy", " while.1"]);
    const program = find(busy, "jit_f(7)");
    expect(program.children.reduce((sum, child) => sum + child.timePs, 0)).toBe(program.timePs);
    const loop = find(busy, "while.1");
    expect([loop.kind, loop.contains, share(loop, busy), flopsUse(loop, busy, peaks), memoryUse(loop, 0, peaks)]).toEqual([
      "op",
      true,
      0.25,
      null,
      null,
    ]);
    expect(names(busy, { limit: 2 }, firstOpen(busy))).toEqual(["jit_f(7)", " loop fusion", "  fusion.1", " copy", "hidden 1"]);
  });

  it("respect limit, top 90 % and order", () => {
    const many = readOpProfile(
      {
        ...sample(),
        byProgram: node(
          "r",
          { time: 100, bytes: 10 },
          [node("a", { time: 60, hbm: 1, bytes: 1 }), node("b", { time: 31, hbm: 0.1, bytes: 9 }), node("c", { time: 9 })],
          5,
        ),
      },
      "program",
    ).whole;
    expect(names(many, {})).toEqual(["a", "b", "c", "hidden 2"]);
    expect(names(many, { top90: true })).toEqual(["a", "b", "hidden 3"]);
    expect(names(many, { limit: 1 })).toEqual(["a", "hidden 4"]);
    expect(names(many, { limit: 1 }, [], ["root"])).toEqual(["a", "b", "c", "hidden 2"]);
    expect(names(many, { order: "wasted" }).slice(0, 2)).toEqual(["b", "a"]);
    expect(names(many, { order: "traffic" }).slice(0, 2)).toEqual(["b", "a"]);
  });

  it("keep their ids with and without idle time, and lead back to the node", () => {
    const id = visibleRows(busy, peaks, all, new Set(firstOpen(busy)), new Set()).find((row) => row.node.name === "fusion.1")?.id ?? "";
    expect(pathTo(whole, id).map((step) => step.node.name)).toEqual(["jit_f(7)", "loop fusion", "fusion.1"]);
    expect(pathTo(whole, "nothing")).toEqual([]);
  });

  it("are a table too", () => {
    const table = treeTable(busy, peaks);
    expect(table.rowCount).toBe(10);
    const column = (name: string) => table.columns.find(({ id }) => id === name)?.values;
    expect(column("path")?.[2]).toBe("jit_f(7) > loop fusion > fusion.1");
    expect(column("time")?.[3]).toBeNull();
  });
});

describe("advice", () => {
  it("gives utilisation, data movement and the largest saving", () => {
    const advice = adviceOf(read());
    expect(advice.headline).toBe("Overall TPU FLOPS utilisation is 10.0%, HBM bandwidth utilisation 25.0% of the busy time");
    expect(advice.tone).toBe("none");
    expect(adviceOf(read(), { fired: true, sentence: "Limited by memory bandwidth." })).toMatchObject({ tone: "good" });
    expect(adviceOf(read(), { fired: false, sentence: "No limit." }).lines[0]).toBe("No limit.");
    expect(advice.lines[0]).toMatch(/^25\.0% of the busy time \(80 ms over 8 cores\) is data movement, most of it in copy/);
    expect(advice.lines[1]).toMatch(/^Largest potential saving: fusion\.1 takes 50\.0%.*at peak it would save 37\.5% of the busy time/);
  });

  it("starts with the idle time of a mostly idle device", () => {
    const idle = readOpProfile({ ...sample(), byProgram: node("by_program", { time: 800e9 }) }, "program");
    expect(adviceOf(idle).headline).toMatch(/^The TPU is idle for 90\.0% of the time/);
    expect(adviceOf(idle).tone).toBe("bad");
  });

  it("gives no utilisation on a CPU", () => {
    const advice = adviceOf(readOpProfile(sample({ deviceType: "CPU_ONLY", notes: ON_CPU }), "program"));
    expect(advice.headline).toBe("Ops on the CPU: 80 ms of op time");
    expect(advice.tone).toBe("none");
  });
});

it("keeps the view in the address", () => {
  const keys = new Map<string, string>();
  const put = (patch: Record<string, string | null>): void => {
    for (const [k, v] of Object.entries(patch))
      if (v === null) keys.delete(k);
      else keys.set(k, v);
  };
  const now = () => readView({ get: (key) => keys.get(key) ?? null });
  expect(now()).toMatchObject({ groupBy: "program", limit: 10, idle: false, open: null, pinned: null });
  put(writeView({ order: "wasted", limit: 50, top90: true, idle: true, open: new Set(["a", "b"]), pinned: "b" }));
  expect(Object.fromEntries(keys)).toEqual({ order: "wasted", limit: "50", top90: "1", idle: "1", open: "a.b", node: "b" });
  expect(now()).toMatchObject({ order: "wasted", limit: 50, top90: true, idle: true, open: new Set(["a", "b"]), pinned: "b" });
  put(writeView({ groupBy: "category" }));
  expect([keys.get("group_by"), now().open, now().pinned]).toEqual(["category", null, null]);
  put(writeView({ open: new Set() }));
  expect(now().open).toEqual(new Set());
});
