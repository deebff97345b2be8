import { describe, expect, it } from "vitest";
import { ON_CPU } from "../../page/testing";
import { adviceOf } from "./advice";
import { framesOf } from "./frames";
import { fit, frameworkOp, share, wasted } from "./formulas";
import { sourceOf, treesOf } from "./nodes";
import type { TreeNode } from "./nodes";
import { firstOpen, pathTo, treeTable, visibleRows } from "./rows";
import type { Options } from "./rows";
import { node, root, sample } from "./sample";
import { readView, writeView } from "./view_state";

const read = (more: Parameters<typeof sample>[0] = {}) => treesOf(sample(more));
const all: Options = { limit: 10, top90: false, order: "time" };
const find = (tree: TreeNode, title: string): TreeNode => {
  const queue = [tree];
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (next.title === title) return next;
    queue.push(...next.children);
  }
  throw new Error(title);
};

describe("the trees", () => {
  it("are one with and one without idle time", () => {
    const { whole, busy } = read();
    expect([whole.time_ps, whole.count, whole.children.map(({ name }) => name)]).toEqual([100e9, 2, ["jit_f(7)", "IDLE"]]);
    expect([busy.time_ps, busy.count, busy.children.map(({ name }) => name)]).toEqual([80e9, 1, ["jit_f(7)"]]);
    expect(find(whole, "copy.1 and its duplicate(s)").kind).toBe("duplicates");
  });

  it("tell where an op is written", () => {
    expect(sourceOf(find(read().busy, "fusion.1"))).toBe("f.py:3");
    expect(sourceOf(node("a", { category: "add", source_line: -1 }))).toBe("f.py");
  });

  it("shorten kernels in the names of ops, as little as tells them apart", () => {
    const kernel = (type: string) => `void at::native::vectorized_kernel<4, at::native::${type}Functor<float> >(int, float)`;
    const op = (name: string, kind: "op" | "duplicates" = "op") => node(name, { kind, time_ps: 1, category: "aten::add" });
    const ops = [op(`Net_0/aten::add/${kernel("Add")}`), op(`aten::add/${kernel("Mul")}`), op(`aten::add/${kernel("Mul")}`, "duplicates")];
    const { busy } = read({ ops: root({ time_ps: 3 }, ops) });
    expect(busy.children.map(({ label }) => label)).toEqual([
      "Net_0/aten::add/vectorized_kernel<AddFunctor>",
      "aten::add/vectorized_kernel<MulFunctor>",
      "aten::add/vectorized_kernel<MulFunctor> and its duplicate(s)",
    ]);
    expect(busy.children[0]?.title).toContain("void at::native::");
    expect(framesOf(busy, null).children?.[0]?.name).toBe("Net_0/aten::add/vectorized_kernel<AddFunctor>");
  });

  it("are flame graphs down to ops", () => {
    const program = framesOf(read().busy, null).children?.[0];
    expect(program?.children?.map(({ name, children }) => [name, children?.[0]?.children?.length])).toEqual([
      ["loop fusion", 0],
      ["copy", 2],
      ["while.1", undefined],
    ]);
  });
});

describe("numbers of a node", () => {
  const { busy } = read();
  const fusion = find(busy, "fusion.1");

  it("are shares of the shown tree, and what peak rates would save", () => {
    expect(share(fusion, busy)).toBe(0.5);
    expect(wasted(fusion, busy)).toBeCloseTo(0.5 * 0.75);
  });

  it("are null where they are undefined", () => {
    expect(share(find(busy, "add.1"), busy)).toBeNull();
    expect(wasted({ ...fusion, memory_use: [0, 0, 0] }, busy)).toBeNull();
    expect(wasted({ ...fusion, memory_use: [null, null, null] }, busy)).toBeNull();
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
  const names = (tree: TreeNode, options: Partial<Options>, open: readonly string[] = [], full: readonly string[] = []) =>
    visibleRows(tree, { ...all, ...options }, new Set(open), new Set(full)).map((row) =>
      row.kind === "node" ? `${" ".repeat(row.depth)}${row.node.title}` : `${row.kind} ${row.left}`,
    );

  it("expand to the first level with several nodes, with ops that contain others", () => {
    expect(names(busy, {}, firstOpen(busy))).toEqual(["jit_f(7)", " loop fusion", "  fusion.1", " copy", " while.1"]);
    const program = find(busy, "jit_f(7)");
    expect(program.children.reduce((sum, child) => sum + child.time_ps, 0)).toBe(program.time_ps);
    const loop = find(busy, "while.1");
    expect([loop.kind, loop.contains, share(loop, busy)]).toEqual(["op", true, 0.25]);
    expect(names(busy, { limit: 2 }, firstOpen(busy))).toEqual(["jit_f(7)", " loop fusion", "  fusion.1", " copy", "hidden 1"]);
  });

  it("respect limit, top 90 % and order", () => {
    const ops = root({ time_ps: 100, bytes: 10, count: 5 }, [
      node("a", { time_ps: 60, hbm: 1, bytes: 1 }),
      node("b", { time_ps: 31, hbm: 0.1, bytes: 9 }),
      node("c", { time_ps: 9 }),
    ]);
    const many = read({ ops }).busy;
    expect(names(many, {})).toEqual(["a", "b", "c", "hidden 2"]);
    expect(names(many, { top90: true })).toEqual(["a", "b", "hidden 3"]);
    expect(names(many, { limit: 1 })).toEqual(["a", "hidden 4"]);
    expect(names(many, { limit: 1 }, [], ["root"])).toEqual(["a", "b", "c", "hidden 2"]);
    expect(names(many, { order: "wasted" }).slice(0, 2)).toEqual(["b", "a"]);
    expect(names(many, { order: "traffic" }).slice(0, 2)).toEqual(["b", "a"]);
  });

  it("keep their ids with and without idle time, and lead back to the node", () => {
    const id = visibleRows(busy, all, new Set(firstOpen(busy)), new Set()).find((row) => row.node.name === "fusion.1")?.id ?? "";
    expect(pathTo(whole, id).map((step) => step.node.name)).toEqual(["jit_f(7)", "loop fusion", "fusion.1"]);
    expect(pathTo(whole, "nothing")).toEqual([]);
  });

  it("are a table too", () => {
    const table = treeTable(busy);
    expect(table.rowCount).toBe(10);
    const column = (name: string) => table.columns.find(({ id }) => id === name)?.values;
    expect(column("path")?.[2]).toBe("jit_f(7) > loop fusion > fusion.1");
    expect(column("time")?.[3]).toBeNull();
  });
});

describe("advice", () => {
  it("gives utilisation, transfers and the largest saving", () => {
    const advice = adviceOf(read());
    expect(advice.headline).toBe("Overall TPU FLOPS utilisation is 10.0%, HBM bandwidth utilisation 25.0% of the busy time");
    expect(advice.tone).toBe("none");
    expect(adviceOf(read(), { fired: true, sentence: "Limited by memory bandwidth." })).toMatchObject({ tone: "good" });
    expect(adviceOf(read(), { fired: false, sentence: "No limit." }).lines[0]).toBe("No limit.");
    expect(advice.lines[0]).toMatch(
      /^25\.0% of the busy time \(80 ms over 8 cores\) is spent in transfers, most of it in the category copy/,
    );
    expect(advice.lines[1]).toMatch(/^Largest potential saving: fusion\.1 takes 50\.0%.*at peak it would save 37\.5% of the busy time/);
  });

  it("starts with the idle time of a mostly idle device", () => {
    const idle = read({ total_ps: 800e9 });
    expect(adviceOf(idle).headline).toMatch(/^The TPU is idle for 90\.0% of the observed time/);
    expect(adviceOf(idle).tone).toBe("bad");
  });

  it("gives no utilisation on a CPU", () => {
    const advice = adviceOf(read({ device: "CPU_ONLY", notes: ON_CPU }));
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
