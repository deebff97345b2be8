// For tests: an answer about two lines of one file, an op without location, and the buffers of a program.
const table = (ids: readonly string[], rows: readonly unknown[][]): unknown => ({
  cols: ids.map((id, i) => ({ id, label: id, type: rows.some((row) => typeof row[i] === "number") ? "number" : "string" })),
  rows: rows.map((row) => ({ c: row.map((v) => ({ v })) })),
  p: {},
});

interface Times {
  /** Self time of the ops `dot`, `add` and `lost` in ps. */
  dot: number;
  add: number;
  lost: number;
  file?: string;
}

export function answerOf({ dot, add, lost, file = "/src/train.py" }: Times): unknown {
  return {
    lines: table(
      ["file", "function", "line"],
      [
        [file, "loss", 12],
        [file, "loss", 10],
        ["no location", "", null],
      ],
    ),
    ops: table(
      ["name", "program_id", "program", "category", "framework_op", "line", "stack", "self_ps", "occurrences", "flops", "bytes"],
      [
        ["dot", "7", "jit_f(7)", "dot", "jit(f)/dense/dot_general", 0, 0, dot, 2, 100, 64],
        ["add", "7", "jit_f(7)", "loop fusion", "jit(f)/dense/add", 1, 1, add, 2, null, 32],
        ["lost", "7", "jit_f(7)", "copy", "", 2, 2, lost, 1, null, null],
      ],
    ),
    buffers: table(
      ["name", "shape", "category", "framework_op", "line", "stack", "size"],
      [
        ["w", "f32[16]", "parameter", "params['w']", 2, 2, 640],
        ["add", "f32[8]", "temporary", "jit(f)/dense/add", 1, 1, 400],
      ],
    ),
    frames: table(
      ["file", "function", "line"],
      [
        [file, "loss", 12],
        ["/src/main.py", "main", 5],
        [file, "loss", 10],
      ],
    ),
    stacks: [[0, 1], [2, 1], []],
    memory: { program: "jit_f(7)", host: "h", peak_bytes: 1040, programs: [{ name: "jit_f(7)", peak_bytes: 1040 }] },
    place: "device",
    total_ps: 100e6,
    cores: 4,
  };
}
