// Framework ops as frames by name scope, of the device and of the host. Pure.
import type { FlameNode } from "../../base/flame/flame";
import { flameOfPaths } from "../../base/flame/paths";
import type { FramePath } from "../../base/flame/paths";
import type { Op } from "./ops";

const PS_PER_US = 1e6;

const pathsOf = (ops: readonly Op[], steps: number): FramePath[] =>
  ops.map(({ place, name, selfUs }) => ({ names: [place, ...name.split("/").filter(Boolean)], value: (selfUs * PS_PER_US) / steps }));

/** Self time in ps; with a base, of both sides. */
export function framesOf(ops: readonly Op[], base: readonly Op[] | null, steps: { run: number; base: number } | null): FlameNode {
  return flameOfPaths("all", pathsOf(ops, steps?.run ?? 1), base === null ? null : pathsOf(base, steps?.base ?? 1));
}
