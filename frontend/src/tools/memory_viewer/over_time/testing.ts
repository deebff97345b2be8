// For tests: an answer about a program of three instants.
import type { ProgramMemoryOverTime } from "../../../base/documents";
import { tableOf } from "../../../base/testing";

const PIECES = [
  ["x", "argument", 512, "", "x", "f32[8,16]", 0, 2, "", true, "first dimension is the batch, 8", 0],
  ["a", "temporary", 256, "/src/train.py:3", "jit(f)/add", "f32[8,8]", 1, 1, "g", true, "has the dimension 8", 2],
  ["w", "parameter", 256, "", "params['w']", "f32[16,4]", 0, 2, "", false, "named params['w']", 1],
] as const;
const IDS = ["name", "category", "size", "source", "framework_op", "shape", "first", "last", "freed_by", "scales", "why", "number"];

const pieces = tableOf(Object.fromEntries(IDS.map((id, i) => [id, PIECES.map((row) => row[i] ?? null)])));

export const OVER_TIME: ProgramMemoryOverTime = {
  program: "jit_f(1)",
  host: "h",
  device_bytes: 2048,
  instants: 3,
  peak: 1,
  peak_bytes: 1024,
  shown: [0, 1, 2],
  names: ["", "a", "g"],
  heap: [768, 1024, 768],
  categories: [
    { name: "parameter", bytes: [256, 256, 256] },
    { name: "argument", bytes: [512, 512, 512] },
    { name: "temporary", bytes: [0, 256, 0] },
  ],
  lines: [
    { file: "/src/train.py", function: "", line: 3, label: "train.py:3", bytes: [0, 256, 0] },
    { file: "", function: "", line: null, label: "no location", bytes: [768, 768, 768] },
  ],
  instant: 1,
  live_bytes: 1024,
  live: pieces,
  batch: 8,
  corners: [[256, 768, 0]],
  recompiled: [0.9, 1.2],
  assumed: pieces,
  left_out: [],
};
