// Binding paths for tests.
import type { BindingPath } from "../data/binding_path";

/** A piece; `at`: its event. */
export interface PieceSpec {
  readonly begin: number;
  readonly duration: number;
  /** 0: Ops, 1: Waits for input (striped). */
  readonly part: 0 | 1;
  readonly name?: string;
  readonly count?: number;
  readonly at?: {
    readonly pid: number;
    readonly tid: number;
    readonly event: number;
    readonly row: number;
    readonly begin: number;
    readonly duration: number;
  };
}

const PARTS = [
  { id: "compute", name: "Ops", ps: 30, fill: { light: "#16996f", dark: "#2fbf94" }, striped: false },
  { id: "idle_input", name: "Waits for input", ps: 5, fill: { light: "#c8321f", dark: "#f2664f" }, striped: true },
] as const;

/** The path of these pieces. */
export function pathFor(pieces: readonly PieceSpec[], window = { begin: 0, end: 100 }): BindingPath {
  const names = [...new Set(pieces.flatMap(({ name }) => (name === undefined ? [] : [name])))];
  return {
    device: "TPU 0",
    devices: ["TPU 0"],
    window,
    parts: PARTS,
    steps: [{ name: "step 1", ...window, duration: window.end - window.begin }],
    names,
    length: pieces.length,
    begin: Float64Array.from(pieces, ({ begin }) => begin),
    duration: Float64Array.from(pieces, ({ duration }) => duration),
    part: Uint16Array.from(pieces, ({ part }) => part),
    count: Uint32Array.from(pieces, ({ count }) => count ?? 1),
    name: Int32Array.from(pieces, ({ name }) => (name === undefined ? -1 : names.indexOf(name))),
    pid: Int32Array.from(pieces, ({ at }) => at?.pid ?? -1),
    tid: Float64Array.from(pieces, ({ at }) => at?.tid ?? -1),
    event: Float64Array.from(pieces, ({ at }) => at?.event ?? -1),
    row: Int32Array.from(pieces, ({ at }) => at?.row ?? -1),
    eventBegin: Float64Array.from(pieces, ({ at }) => at?.begin ?? -1),
    eventDuration: Float64Array.from(pieces, ({ at }) => at?.duration ?? -1),
  };
}
