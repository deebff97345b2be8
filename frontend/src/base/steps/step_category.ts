// Categories of step time: one name, colour and description each, the same on every page.
import type { Theme } from "../colour";

export type CategoryId =
  | "device_compute"
  | "device_to_device"
  | "collectives"
  | "host_compute"
  | "kernel_launch"
  | "input"
  | "output"
  | "compilation"
  | "other"
  | "sparse_compute"
  | "sparse_input"
  | "host_transfer"
  | "peer"
  | "idle";

interface Category {
  name: string;
  /** What it is, how it is computed, and the source of the data. */
  help: string;
  colour: Readonly<Record<Theme, string>>;
  /** Drawn with stripes, so that it is recognisable without colour. */
  striped?: boolean;
}

/** Green: the device computes. Red: it waits for input. The others differ from both with colour blindness too. */
export const CATEGORIES: Readonly<Record<CategoryId, Category>> = {
  device_compute: {
    name: "Device compute",
    help: "The device runs kernels or ops.\nTime covered by them but not by events of higher rank.\nSource: trace.",
    colour: { light: "#16996f", dark: "#2fbf94" },
  },
  sparse_compute: {
    name: "SparseCore compute",
    help: "The TensorCore waits while a SparseCore computes.\nSource: trace.",
    colour: { light: "#7fcab0", dark: "#8fd9bf" },
  },
  device_to_device: {
    name: "Device to device",
    help: "Copies between devices.\nSource: trace.",
    colour: { light: "#56b4e9", dark: "#8bcdf2" },
  },
  collectives: {
    name: "Device collective communication",
    help: "All-reduce and other collectives between devices.\nSource: trace.",
    colour: { light: "#7a5ba8", dark: "#a68bd1" },
  },
  host_compute: {
    name: "Host compute",
    help: "The host computes within the step.\nSource: trace.",
    colour: { light: "#0072b2", dark: "#4fa3dc" },
  },
  kernel_launch: {
    name: "Kernel launch",
    help: "The host prepares and launches work on the device.\nSource: trace.",
    colour: { light: "#e69f00", dark: "#f0b429" },
  },
  input: {
    name: "Input",
    help: "Waiting for input data and copying it to the device.\nSource: trace.",
    colour: { light: "#c8321f", dark: "#f2664f" },
    striped: true,
  },
  sparse_input: {
    name: "SparseCore input",
    help: "The TensorCore waits for the input of a SparseCore.\nSource: trace.",
    colour: { light: "#e58d7f", dark: "#f7a99b" },
    striped: true,
  },
  output: { name: "Output", help: "Copying results to the host.\nSource: trace.", colour: { light: "#cc79a7", dark: "#dd93bb" } },
  host_transfer: {
    name: "Host transfer",
    help: "Sends to and receives from the host within the program.\nSource: trace.",
    colour: { light: "#8c4a1f", dark: "#c98a5c" },
  },
  peer: {
    name: "Waiting for another device",
    help: "The device is in a collective that another device has not reached.\nSource: trace.",
    colour: { light: "#004d66", dark: "#5fb3cc" },
  },
  compilation: { name: "Compilation", help: "Compilation of programs.\nSource: trace.", colour: { light: "#b8a800", dark: "#d6c73a" } },
  other: {
    name: "All others",
    help: "Time that no recorded event covers, such as Python.\nStep time minus all other categories.\nSource: trace.",
    colour: { light: "#98a2ae", dark: "#6f7c8a" },
  },
  idle: {
    name: "Idle",
    help: "The device is idle for other reasons than input.\nStep time minus all other categories.\nSource: trace.",
    colour: { light: "#98a2ae", dark: "#6f7c8a" },
  },
};

/** Columns of the step tables -> category. */
const BY_COLUMN: Readonly<Record<string, CategoryId>> = {
  deviceComputeTimeMs: "device_compute",
  deviceToDeviceTimeMs: "device_to_device",
  deviceCollectivesTimeMs: "collectives",
  hostComputeTimeMs: "host_compute",
  kernelLaunchTimeMs: "kernel_launch",
  infeedTimeMs: "input",
  outfeedTimeMs: "output",
  compileTimeMs: "compilation",
  otherTimeMs: "other",
  tcComputeTimeMs: "device_compute",
  scv0ComputeTimeMs: "sparse_compute",
  scv0InfeedTimeMs: "sparse_input",
  tcInfeedTimeMs: "input",
  tcOutfeedTimeMs: "output",
  tcIdleTimeMs: "idle",
  hostTransferTimeMs: "host_transfer",
};

/** The category of a step table's column; null for other columns. */
export function categoryOfColumn(id: string): CategoryId | null {
  return BY_COLUMN[id] ?? null;
}

/** Parts of the time budget -> the category that each is most like, whose colour it has. */
export const BUDGET_CATEGORIES: Readonly<Record<string, CategoryId>> = {
  compute: "device_compute",
  exposed_communication: "collectives",
  exposed_copy: "device_to_device",
  idle_input: "input",
  idle_compile: "compilation",
  idle_host: "host_compute",
  idle_transfer: "output",
  idle_launch: "kernel_launch",
  idle_peer: "peer",
  idle_other: "idle",
};

const BY_NAME: Readonly<Record<string, CategoryId>> = {
  compute: "device_compute",
  "exposed communication": "collectives",
  "exposed copies": "device_to_device",
  "idle: input": "input",
  "idle: compilation": "compilation",
  "idle: host code": "host_compute",
  "idle: blocked on results": "output",
  "idle: launch": "kernel_launch",
  "idle: waiting for another device": "peer",
  "idle: unexplained": "idle",
  "device collectives": "collectives",
  ...Object.fromEntries(Object.entries(CATEGORIES).map(([id, { name }]) => [name.toLowerCase(), id as CategoryId])),
};

/** The category of a name in a payload; `other` for unknown names. */
export function categoryOfName(name: string): CategoryId {
  return BY_NAME[name.trim().toLowerCase()] ?? "other";
}
