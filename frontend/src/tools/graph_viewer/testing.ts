// The text of a small module, for the tests of this page.
import type { GraphBox, GraphNode, HloGraph, HloStats } from "../../base/documents";
import { tableOf } from "../../base/testing";
import { NOTES } from "../../page/testing";

export const SHORT = `HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[4,2]{1,0}, f32[2]{0})->f32[4]{0}}

fused_computation {
  param_0.1 = f32[4,2]{1,0} parameter(0)
  param_1.2 = f32[2]{0} parameter(1)
  broadcast.3 = f32[4,2]{1,0} broadcast(param_1.2), dimensions={1}
  ROOT multiply.4 = f32[4,2]{1,0} multiply(param_0.1, broadcast.3)
}

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

ENTRY main {
  p0 = f32[4,2]{1,0} parameter(0)
  p1 = f32[2]{0} parameter(1)
  fusion = f32[4,2]{1,0} fusion(p0, p1), kind=kLoop, calls=fused_computation
  zero = f32[] constant(0)
  pair = (f32[4,2]{1,0}, f32[]) tuple(fusion, zero)
  ROOT reduce = f32[4]{0} reduce(fusion, zero), dimensions={1}, to_apply=add, metadata={op_name="jit(step)/add p0"}
}
`;

export const LONG = `HloModule jit_f, is_scheduled=true

%fused (param_0: f32[5]) -> f32[5] {
  %param_0 = f32[5]{0:T(256)} parameter(0)
  ROOT %add.1 = f32[5]{0:T(256)} add(f32[5]{0:T(256)} %param_0, f32[5]{0:T(256)} %param_0), metadata={op_name="jit(f)/add"}
}

ENTRY %main.22 (p: f32[5]) -> f32[5] {
  %p = f32[5]{0:T(256)} parameter(0)
  %copy-start = (f32[5]{0:T(256)}, f32[5]{0:T(256)S(5)}, u32[]{:S(2)}) copy-start(f32[5]{0:T(256)} %p)
  %copy-done = f32[5]{0:T(256)S(5)} copy-done((f32[5]{0:T(256)}, f32[5]{0:T(256)S(5)}, u32[]{:S(2)}) %copy-start)
  ROOT %fusion = f32[5]{0:T(256)} fusion(f32[5]{0:T(256)S(5)} %copy-done), kind=kLoop, calls=%fused
}
`;

type Place = readonly [x: number, y: number, width: number, height: number];
const placed = ([x, y, width, height]: Place) => ({ x, y, width, height });

const node = (id: number, name: string, opcode: string, at: Place, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  name,
  opcode,
  group: opcode,
  shape: "f32[4]",
  op_name: `jit(step)/${name}`,
  source: "train.py:7",
  stack: ["train.py:7:3", "train.py:2:1"],
  computation: "main",
  calls: [],
  applies: [],
  root: false,
  distance: 0,
  parent: null,
  box: null,
  mark: "whole",
  boundary: false,
  inline: [],
  text: `${name} = f32[4] ${opcode}()`,
  ...placed(at),
  ...more,
});

/** The server's drawing of that module's entry computation, with the fusion closed or open. */
export function drawingOf(open: boolean, more: Partial<HloGraph> = {}): HloGraph {
  const inside = [node(0, "param_0.1", "parameter", [20, 120, 172, 54]), node(3, "multiply.4", "multiply", [20, 200, 172, 54])];
  const fusion = node(9, "fusion", "fusion", [100, 100, 172, 54], { calls: ["fused_computation"] });
  const sum = { applies: ["add"], root: true, inline: [{ operand: 1, id: 10, text: "f32[] 0" }] };
  const box: GraphBox = {
    id: 0,
    parent: null,
    name: "fusion",
    opcode: "fusion",
    shape: "f32[4]",
    op_name: "jit(step)/mul",
    source: "train.py:9",
    stack: [],
    text: "fusion = f32[4] fusion()",
    computation: "fused_computation",
    fusion: true,
    center: false,
    caller: 9,
    ...placed([10, 90, 200, 180]),
  };
  const edges = [
    [7, open ? 0 : 9, "data"],
    [8, open ? 0 : 9, "data"],
    [open ? 3 : 9, 12, "data"],
    [12, -1, "root"],
  ] as const;
  return {
    module: "jit_step(7)",
    width: 500,
    height: 500,
    computation: "main",
    is_entry: true,
    center: null,
    omitted: 0,
    root: placed([150, 460, 60, 28]),
    nodes: [
      node(7, "p0", "parameter", [0, 0, 172, 54]),
      node(8, "p1", "parameter", [200, 0, 172, 54]),
      ...(open ? inside : [fusion]),
      node(12, "reduce", "reduce", [100, 350, 172, 68], sum),
    ],
    boxes: open ? [box] : [],
    edges: edges.map(([source, target, kind]) => ({
      source,
      target,
      operand: 0,
      kind,
      points: [
        [1, 2],
        [3, 4],
      ],
    })),
    left_out: [],
    ...more,
  };
}

const COLUMNS = [
  "rank",
  "program_id",
  "hlo_op_name",
  "bound_by",
  "occurrences",
  "total_time",
  "total_self_time",
  "model_flop_rate",
  "hbm_bw",
];

const ROWS = [
  [1, "7", "fusion", "HBM", 4, 90, 80, 250, 30],
  [2, "7", "reduce", "Unknown", 4, 20, 20, 0, 0],
  [3, "8", "fusion", "HBM", 1, 500, 500, 1, 1],
];
/** The ops of that module, whose program id is 7. */
export const TIMES: HloStats = {
  ops: tableOf(Object.fromEntries(COLUMNS.map((id, i) => [id, ROWS.map((row) => row[i] ?? null)]))),
  notes: NOTES,
  left_out: [],
};
