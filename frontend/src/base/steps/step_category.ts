// Colours of the categories of step time, the same on every page. Names come with the answers.
import { mix, parseHex, toHex } from "../colour";
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
  | "between_steps"
  | "not_recorded"
  | "op_gaps"
  | "host_transfer"
  // XProf's alone:
  | "sparse_compute"
  | "sparse_input"
  | "idle";

export interface Look {
  colour: Readonly<Record<Theme, string>>;
  /** Drawn with stripes, so that it is recognisable without colour. */
  striped?: boolean;
}

/** Green: the device computes. Red: it waits for input. The others differ from both with colour blindness too. */
export const CATEGORIES: Readonly<Record<CategoryId, Look>> = {
  device_compute: { colour: { light: "#16996f", dark: "#2fbf94" } },
  sparse_compute: { colour: { light: "#7fcab0", dark: "#8fd9bf" } },
  device_to_device: { colour: { light: "#56b4e9", dark: "#8bcdf2" } },
  collectives: { colour: { light: "#7a5ba8", dark: "#a68bd1" } },
  host_compute: { colour: { light: "#0072b2", dark: "#4fa3dc" } },
  kernel_launch: { colour: { light: "#e69f00", dark: "#f0b429" } },
  input: { colour: { light: "#c8321f", dark: "#f2664f" }, striped: true },
  sparse_input: { colour: { light: "#e58d7f", dark: "#f7a99b" }, striped: true },
  output: { colour: { light: "#cc79a7", dark: "#dd93bb" } },
  host_transfer: { colour: { light: "#8c4a1f", dark: "#c98a5c" } },
  compilation: { colour: { light: "#b8a800", dark: "#d6c73a" } },
  other: { colour: { light: "#98a2ae", dark: "#6f7c8a" } },
  between_steps: { colour: { light: "#c3cad3", dark: "#4b5765" }, striped: true },
  not_recorded: { colour: { light: "#e3e7ec", dark: "#343c46" }, striped: true },
  op_gaps: { colour: { light: "#4a6b7c", dark: "#86aabc" }, striped: true },
  idle: { colour: { light: "#98a2ae", dark: "#6f7c8a" } },
};

/** Parts of the categories -> the category and which of its shades. */
const PARTS: Readonly<Record<string, readonly [CategoryId, number]>> = {
  compute: ["device_compute", 0],
  data_movement: ["device_compute", 1],
  move_wait: ["device_compute", 2],
  peer_transfer: ["device_to_device", 0],
  exposed_communication: ["collectives", 0],
  idle_peer: ["collectives", 1],
  idle_host: ["host_compute", 0],
  idle_launch: ["kernel_launch", 0],
  idle_input: ["input", 0],
  input_copy: ["input", 1],
  idle_transfer: ["output", 0],
  output_copy: ["output", 1],
  idle_compile: ["compilation", 0],
  exposed_copy: ["host_transfer", 0],
  idle_gap: ["op_gaps", 0],
  idle_other: ["other", 0],
};
const SHADE = 0.32;

function isCategory(id: string): id is CategoryId {
  return Object.hasOwn(CATEGORIES, id);
}

/** The look of a category, or of a part of one: a paler shade of its colour, as dark ones are not seen on a dark page. */
export function lookOf(id: string): Look {
  const [category, shade] = PARTS[id] ?? [isCategory(id) ? id : "other", 0];
  const { colour, striped = false } = CATEGORIES[category];
  const towards = (from: string, to: string): string => toHex(mix(parseHex(from), parseHex(to), SHADE * shade));
  return { colour: shade === 0 ? colour : { light: towards(colour.light, "#ffffff"), dark: towards(colour.dark, "#ffffff") }, striped };
}
