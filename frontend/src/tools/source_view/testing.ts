// For tests: two lines of one file, an op without location, and the buffers of a program.
import type { Source } from "../../base/documents";
import { tableOf } from "../../base/testing";

interface Times {
  /** Self time of the ops `dot`, `add` and `lost` in ps. */
  dot: number;
  add: number;
  lost: number;
  file?: string;
}

export const answerOf = ({ dot, add, lost, file = "/src/train.py" }: Times): Source => ({
  lines: tableOf({ file: [file, file, "no location"], function: ["loss", "loss", ""], line: [12, 10, null] }),
  ops: tableOf({
    name: ["dot", "add", "lost"],
    program_id: ["7", "7", "7"],
    program: ["jit_f(7)", "jit_f(7)", "jit_f(7)"],
    category: ["dot", "loop fusion", "copy"],
    framework_op: ["jit(f)/dense/dot_general", "jit(f)/dense/add", ""],
    line: [0, 1, 2],
    stack: [0, 1, 2],
    self_ps: [dot, add, lost],
    occurrences: [2, 2, 1],
    flops: [100, null, null],
    bytes: [64, 32, null],
  }),
  buffers: tableOf({
    name: ["w", "add"],
    shape: ["f32[16]", "f32[8]"],
    category: ["parameter", "temporary"],
    framework_op: ["params['w']", "jit(f)/dense/add"],
    line: [2, 1],
    stack: [2, 1],
    size: [640, 400],
  }),
  frames: tableOf({ file: [file, "/src/main.py", file], function: ["loss", "main", "loss"], line: [12, 5, 10] }),
  stacks: [[0, 1], [2, 1], []],
  memory: { program: "jit_f(7)", host: "h", peak_bytes: 1040, programs: [{ name: "jit_f(7)", peak_bytes: 1040 }] },
  place: "device",
  total_ps: 100e6,
  cores: 4,
  left_out: [],
});
