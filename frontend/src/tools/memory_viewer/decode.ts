// Decodes the memory viewer: one module, one memory space. The response omits zero and empty fields.
import { asDict, asList, asNumber, asText } from "../../api/payload/fields";
import type { Dict } from "../../api/payload/fields";

export interface Span {
  /** Event that allocates it, event that frees it. */
  begin: number;
  end: number;
}

export interface Source {
  place: string;
  stack: string;
}

export interface Buffer {
  /** Index in program order. */
  index: number;
  /** Logical buffer id; -1 for the sum of the small buffers. */
  id: number;
  name: string;
  sizeMib: number;
  unpaddedMib: number;
  shape: string;
  op: string;
  /** Parameter, Output, Thread-local, Temporary, Constant. */
  category: string;
  opcode: string;
  source: Source | null;
  /** Null: live for the whole program. */
  span: Span | null;
}

/** A rectangle of the allocation timeline: offset and size in bytes, steps are events. */
export interface Block {
  id: number;
  name: string;
  offset: number;
  size: number;
  begin: number;
  end: number;
}

/** The device that runs the program. */
export interface Device {
  hardware: "CPU_ONLY" | "GPU" | "TPU" | "";
  /** For example "TPU v6 Lite"; empty if unknown. */
  model: string;
  /** Memory of one device; 0 if unknown. */
  memoryMib: number;
  /** What tells it: the allocator, the device's properties or its model; empty if unknown. */
  source: string;
}

export interface MemoryView {
  device: Device;
  /** The devices ran other programs. */
  didNotRun: boolean;
  /** Why the memory of the program with most time is unknown, and how to record it; "" if it is known. */
  unknownMemory: string;
  /** Memory spaces in which the program has buffers. */
  spaces: number[];
  module: string;
  entry: string;
  /** MiB before each event and after the last. */
  sizes: number[];
  unpadded: number[];
  instructions: string[];
  peakMib: number;
  peakUnpaddedMib: number;
  /** The event after which memory usage is highest. */
  peakEvent: number;
  buffers: Buffer[];
  parametersMib: number;
  liveOutMib: number;
  nonReusableMib: number;
  totalMib: number;
  indefiniteMib: number;
  scopedMib: number;
  scopedInstruction: string;
  blocks: Block[];
}

const text = (dict: Dict, key: string): string => (dict[key] === undefined || dict[key] === null ? "" : asText(dict[key], key));
const number = (dict: Dict, key: string): number => (dict[key] === undefined || dict[key] === null ? 0 : asNumber(dict[key], key));
const list = (dict: Dict, key: string): readonly unknown[] => asList(dict[key] ?? [], key);
const numbers = (dict: Dict, key: string): number[] => list(dict, key).map((one) => asNumber(one, key));

function readSource(value: unknown): Source | null {
  if (value === undefined || value === null) return null;
  const dict = asDict(value, "the source of a buffer");
  const file = text(dict, "fileName");
  if (file === "") return null;
  const line = number(dict, "lineNumber");
  return { place: line > 0 ? `${file}:${line}` : file, stack: text(dict, "stackFrame") };
}

function readBuffer(value: unknown, index: number, spans: Dict): Buffer {
  const dict = asDict(value, "a buffer");
  const id = number(dict, "logicalBufferId");
  const span = spans[String(id)];
  const name = text(dict, "instructionName");
  return {
    index,
    id,
    name: name || text(dict, "label").split(":")[0] || "(no name)",
    sizeMib: number(dict, "logicalBufferSizeMib"),
    unpaddedMib: number(dict, "unpaddedShapeMib"),
    shape: text(dict, "shapeString"),
    op: text(dict, "tfOpName"),
    category: text(dict, "groupName"),
    opcode: text(dict, "opCode"),
    source: readSource(dict["sourceInfo"]),
    span: span === undefined ? null : { begin: number(asDict(span, "a span"), "start"), end: number(asDict(span, "a span"), "limit") },
  };
}

function readBlock(value: unknown): Block {
  const dict = asDict(value, "a block");
  return {
    id: number(dict, "logicalBufferId"),
    name: text(dict, "name"),
    offset: number(dict, "offset"),
    size: number(dict, "size"),
    begin: number(dict, "startStep"),
    end: number(dict, "endStep"),
  };
}

const HARDWARE = ["CPU_ONLY", "GPU", "TPU"] as const;

function readDevice(value: unknown): Device {
  const dict = asDict(value ?? {}, "the device");
  return {
    hardware: HARDWARE.find((one) => one === dict["hardware"]) ?? "",
    model: text(dict, "model"),
    memoryMib: number(dict, "memoryMib"),
    source: text(dict, "source"),
  };
}

/** Decodes the response; throws `bad_answer` if it is malformed. */
export function readMemoryView(value: unknown): MemoryView {
  const dict = asDict(value, "the memory of a module");
  const spans = asDict(dict["logicalBufferSpans"] ?? {}, "the spans");
  return {
    device: readDevice(dict["device"]),
    didNotRun: dict["didNotRun"] === true,
    unknownMemory: text(dict, "unknownMemory"),
    spaces: numbers(dict, "memorySpaces"),
    module: text(dict, "moduleName"),
    entry: text(dict, "entryComputationName"),
    sizes: numbers(dict, "heapSizes"),
    unpadded: numbers(dict, "unpaddedHeapSizes"),
    instructions: list(dict, "hloInstructionNames").map((one) => asText(one, "an instruction")),
    peakMib: number(dict, "peakHeapMib"),
    peakUnpaddedMib: number(dict, "peakUnpaddedHeapMib"),
    peakEvent: number(dict, "peakHeapSizePosition"),
    buffers: list(dict, "maxHeap").map((one, index) => readBuffer(one, index, spans)),
    parametersMib: number(dict, "entryComputationParametersMib"),
    liveOutMib: number(dict, "maybeLiveOutMib"),
    nonReusableMib: number(dict, "nonReusableMib"),
    totalMib: number(dict, "totalBufferAllocationMib"),
    indefiniteMib: number(dict, "indefiniteBufferAllocationMib"),
    scopedMib: number(dict, "maxScopedVmemAllocationMib"),
    scopedInstruction: text(dict, "maxScopedVmemAllocationInstructionName"),
    blocks: list(dict, "bufferBlocks").map(readBlock),
  };
}
