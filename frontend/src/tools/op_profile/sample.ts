// A small op profile for tests: one program with two categories, a fusion, duplicates, idle time.
import type { OpNode, OpProfile } from "../../base/documents";
import { NOTES } from "../../page/testing";

type Given = Partial<Omit<OpNode, "memory_use" | "bytes" | "flops_use">> & { use?: number | null; hbm?: number | null; bytes?: number };

/** A node; an op if it has a category. Without `use` and `hbm` its use of the peaks is unknown. */
export function node(name: string, { use = null, hbm = null, bytes = 0, ...more }: Given = {}, children: OpNode[] = []): OpNode {
  const op = more.category !== undefined;
  return {
    name,
    kind: op ? "op" : "group",
    time_ps: 0,
    normalized_ps: 0,
    flops: (use ?? 0) * 1e6,
    model_flops: (use ?? 0) * 1e6,
    bytes: [bytes, 0, 0],
    runs: 0,
    flops_use: use,
    memory_use: [hbm, hbm === null ? null : 0, hbm === null ? null : 0],
    category: "",
    program_id: op ? "7" : "",
    framework_op: op ? `jit(f)/${name}:` : "",
    expression: op ? `%${name} = f32[8]` : "",
    source_file: op ? "f.py" : "",
    source_line: op ? 3 : 0,
    source_stack: op ? "f.py:3\n" : "",
    source_of: "",
    layout: [],
    layout_use: null,
    contains: false,
    count: children.length,
    children,
    ...more,
  };
}

export const root = (more: Given, children: OpNode[] = []): OpNode => node("by_program", { kind: "root", ...more }, children);

const LAYOUT = {
  layout: [
    { size: 100, alignment: 128, semantics: "feature" },
    { size: 256, alignment: 8, semantics: "batch" },
  ],
  layout_use: 0.78125,
};

/** Times in ps: 100 in all, 80 busy. */
function program(): OpNode {
  const part = (name: string, use: number, category: string): OpNode => node(name, { kind: "part", use, category, runs: 1 });
  const fusion = node(
    "fusion.1",
    { time_ps: 40e9, use: 0.2, hbm: 0.25, bytes: 4000, runs: 4, category: "loop fusion", ...LAYOUT },
    [part("add.1", 0.01, "add"), part("constant.1", 0, "constant")].map((one) => ({ ...one, flops_use: null })),
  );
  const copy = { hbm: 0.5, category: "copy" };
  const twin = (name: string, time_ps: number): OpNode => node(name, { time_ps, ...copy, use: 0, bytes: 500, runs: 1 });
  const copies = node("copy.1", { kind: "duplicates", time_ps: 20e9, use: 0, ...copy, bytes: 1000, runs: 2 }, [
    twin("copy.1", 15e9),
    twin("copy.2", 5e9),
  ]);
  return node("jit_f(7)", { time_ps: 80e9, use: 0.1, hbm: 0.25, bytes: 5000 }, [
    node("loop fusion", { time_ps: 40e9, use: 0.2, hbm: 0.25, bytes: 4000, runs: 4 }, [fusion]),
    node("copy", { time_ps: 20e9, use: 0, hbm: 0.5, bytes: 1000, runs: 2 }, [copies]),
    node("while.1", { time_ps: 20e9, runs: 1, category: "while", contains: true }),
  ]);
}

export function sample(more: Partial<OpProfile> = {}): OpProfile {
  return {
    device: "TPU",
    total_ps: 100e9,
    time_scale: 1,
    ops: root({ time_ps: 80e9, use: 0.1, hbm: 0.25, bytes: 5000 }, [program()]),
    idle: [node("IDLE", { kind: "idle", time_ps: 20e9, category: "IDLE", program_id: "", framework_op: "" })],
    notes: NOTES,
    left_out: [],
    ...more,
  };
}
