// A small response of the server, for the tests of this page; zero and empty fields are absent.

const big = {
  label: "dot.1: f32[512,512]{1,0} # jit(step)/dot",
  logicalBufferId: 271,
  logicalBufferSizeMib: 2,
  unpaddedShapeMib: 1,
  instructionName: "dot.1",
  shapeString: "f32[512,512]{1,0}",
  tfOpName: "jit(step)/dot",
  groupName: "Output",
  opCode: "dot",
  sourceInfo: { fileName: "train.py", lineNumber: 27, stackFrame: "train.py:27:1\ntrain.py:40:1" },
};
const temporary = {
  numbered: 1,
  label: "copy-start{0}: f32[4]",
  logicalBufferId: 14,
  logicalBufferSizeMib: 4,
  unpaddedShapeMib: 4,
  instructionName: "copy-start{0}",
  shapeString: "f32[4]",
  groupName: "Temporary",
  opCode: "copy-start",
};
const small = { numbered: 2, label: "small (<16384 bytes)", logicalBufferId: -1, logicalBufferSizeMib: 0.5, unpaddedShapeMib: 0.5 };

export const ANSWER = {
  device: { hardware: "TPU", model: "TPU v6 Lite", memoryMib: 32, source: "model" },
  memorySpaces: [0, 1],
  heapSizes: [2.5, 2.5, 6.5, 2.5],
  unpaddedHeapSizes: [1.5, 1.5, 5.5, 1.5],
  hloInstructionNames: ["a", "copy-start", "dot.1", ""],
  maxHeap: [big, temporary, small],
  maxHeapBySize: [temporary, big, small],
  logicalBufferSpans: { "14": { start: 1, limit: 2 } },
  maxHeapToBySize: [1, 0, 2],
  bySizeToMaxHeap: [1, 0, 2],
  moduleName: "jit_step",
  entryComputationName: "main",
  peakHeapMib: 6.5,
  peakUnpaddedHeapMib: 5.5,
  peakHeapSizePosition: 1,
  entryComputationParametersMib: 1,
  maybeLiveOutMib: 2,
  totalBufferAllocationMib: 8.5,
  indefiniteBufferAllocationMib: 2.5,
  bufferBlocks: [
    { logicalBufferId: -1, name: "Temporary", size: 6291456, endStep: 3, category: "Temporary", color: "#ffffff" },
    { logicalBufferId: 14, name: "copy-start{0}", size: 4194304, startStep: 1, endStep: 2, category: "Temporary", color: "#e91e63" },
  ],
};

export const NO_TRACE = {
  moduleName: "jit_b",
  peakHeapMib: 0.5,
  peakUnpaddedHeapMib: 0.5,
  maxHeap: [{ ...small, logicalBufferSizeMib: 0.5 }],
  totalBufferAllocationMib: 0.5,
  indefiniteBufferAllocationMib: 0.5,
};
