// A small op profile as the server sends it, for tests: one program with two categories, a fusion, duplicates, idle time.
import { NOTES } from "../../page/testing";

type Json = Record<string, unknown>;

interface Given {
  time?: number;
  flops?: number;
  hbm?: number;
  bytes?: number;
  runs?: number;
  category?: string;
  more?: Json;
}

export function node(
  name: string,
  { time = 0, flops = 0, hbm = 0, bytes = 0, runs = 0, category, more = {} }: Given,
  children: Json[] = [],
  count = children.length,
): Json {
  return {
    name,
    metrics: {
      rawTime: time,
      uncappedFlops: flops,
      flops,
      bandwidthUtils: [hbm, 0, 0],
      rawFlops: flops * 1e6,
      bf16Flops: flops * 1e6,
      rawBytesAccessedArray: [bytes, 0, 0],
      occurrences: runs,
      avgTimePs: runs ? time / runs : 0,
    },
    children,
    numChildren: count,
    ...(category === undefined
      ? {}
      : {
          xla: {
            expression: `%${name} = f32[8]`,
            provenance: `jit(f)/${name}:`,
            category,
            programId: "7",
            sourceInfo: { fileName: "f.py", lineNumber: 3, stackFrame: "f.py:3\n" },
            ...more,
          },
        }),
  };
}

const LAYOUT = {
  layout: {
    dimensions: [
      { size: 100, alignment: 128, semantics: "feature" },
      { size: 256, alignment: 8, semantics: "batch" },
    ],
    utilization: 0.78125,
  },
};

/** Times in ps: 100 in all, 80 busy; `total` is the denominator of the weighted FLOPS. */
function program(): Json {
  const fusion = node("fusion.1", { time: 40e9, flops: 0.1, hbm: 0.25, bytes: 4000, runs: 4, category: "loop fusion", more: LAYOUT }, [
    node("add.1", { flops: 0.01, category: "add" }),
    node("constant.1", { category: "constant" }),
  ]);
  const twin = (name: string, time: number): Json => node(name, { time, hbm: 0.5, bytes: 500, runs: 1, category: "copy" });
  const copies = node("copy.1 and its duplicate(s)", { time: 20e9, hbm: 0.5, bytes: 1000, runs: 2, category: "copy" }, [
    twin("copy.1", 15e9),
    twin("copy.2", 5e9),
  ]);
  const around = { selfTimeOps: [node("while.1", { time: 20e9, runs: 1, category: "while" })] };
  return {
    ...around,
    ...node("jit_f(7)", { time: 80e9, flops: 0.1, hbm: 0.25, bytes: 5000 }, [
      node("loop fusion", { time: 40e9, flops: 0.1, hbm: 0.25, bytes: 4000, runs: 4 }, [fusion]),
      node("copy", { time: 20e9, hbm: 0.5, bytes: 1000, runs: 2 }, [copies]),
    ]),
  };
}

export function sample(more: Json = {}): Json {
  const idle = node("IDLE", { time: 20e9, category: "IDLE", more: { provenance: "" } });
  return {
    byProgram: node("by_program", { time: 100e9, flops: 0.1, hbm: 0.2, bytes: 5000 }, [program(), idle]),
    byProgramExcludeIdle: node("by_program", { time: 80e9, flops: 0.1, hbm: 0.25, bytes: 5000 }, [program()]),
    deviceType: "TPU",
    aggDvfsTimeScaleMultiplier: 1,
    notes: NOTES,
    ...more,
  };
}
