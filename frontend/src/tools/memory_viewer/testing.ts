// A small program for the tests of this page.
import type { DeviceMemory, ProgramMemory } from "../../base/documents";
import { tableOf } from "../../base/testing";

export const MIB = 2 ** 20;
export const TPU: DeviceMemory = { hardware: "TPU", model: "TPU v6 Lite", bytes: 32 * MIB, source: "model" };

const NO_HEAP = tableOf({ event: [], instruction: [], size: [], unpadded: [] });
const NO_BLOCKS = tableOf({ name: [], offset: [], size: [], begin: [], end: [], buffer_id: [] });

export const VIEW: ProgramMemory = {
  module: "jit_step(14)",
  device: TPU,
  spaces: [0, 1],
  did_not_run: false,
  unknown_memory: "",
  peak_bytes: 6.5 * MIB,
  peak_unpadded_bytes: 5.5 * MIB,
  peak_event: 1,
  parameter_bytes: MIB,
  output_bytes: 2 * MIB,
  not_reusable_bytes: 0,
  total_bytes: 8.5 * MIB,
  indefinite_bytes: 2.5 * MIB,
  scoped_bytes: 0,
  scoped_instruction: "",
  heap: tableOf({
    event: [1, 2, 3, 4],
    instruction: ["a", "copy-start", "dot.1", null],
    size: [2.5 * MIB, 2.5 * MIB, 6.5 * MIB, 2.5 * MIB],
    unpadded: [1.5 * MIB, 1.5 * MIB, 5.5 * MIB, 1.5 * MIB],
  }),
  buffers: tableOf({
    name: ["dot.1", "copy-start{0}", "small (below 16 KiB each)"],
    size: [2 * MIB, 4 * MIB, MIB / 2],
    unpadded: [MIB, 4 * MIB, null],
    category: ["Output", "Temporary", null],
    opcode: ["dot", "copy-start", null],
    op: ["jit(step)/dot", null, null],
    shape: ["f32[512,512]{1,0}", "f32[4]", null],
    alloc: [null, 2, null],
    free: [null, 3, null],
    freed_by: [null, "dot.1", null],
    source: ["train.py:27", null, null],
    stack: ["train.py:27:1\ntrain.py:40:1", null, null],
    buffer_id: [271, 14, null],
  }),
  blocks: tableOf({
    name: ["Temporary", "copy-start{0}"],
    offset: [0, 0],
    size: [6 * MIB, 4 * MIB],
    begin: [1, 2],
    end: [3, 3],
    buffer_id: [null, 14],
  }),
  left_out: [],
};

/** A program without heap simulation, all of whose buffers are small. */
export const NO_TRACE: ProgramMemory = {
  ...VIEW,
  module: "jit_b(3)",
  peak_bytes: MIB / 2,
  peak_unpadded_bytes: MIB / 2,
  peak_event: null,
  parameter_bytes: 0,
  output_bytes: 0,
  total_bytes: MIB / 2,
  indefinite_bytes: MIB / 2,
  heap: NO_HEAP,
  buffers: { ...VIEW.buffers, columns: VIEW.buffers.columns.map((column) => ({ ...column, values: column.values.slice(2) })), rowCount: 1 },
  blocks: NO_BLOCKS,
};

/** A program without buffers in the memory space. */
export const NOTHING: ProgramMemory = {
  ...NO_TRACE,
  peak_bytes: 0,
  peak_unpadded_bytes: 0,
  total_bytes: 0,
  indefinite_bytes: 0,
  buffers: { ...VIEW.buffers, columns: VIEW.buffers.columns.map((column) => ({ ...column, values: [] })), rowCount: 0 },
};
