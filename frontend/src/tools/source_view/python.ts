// Time of the host threads with Python frames, as frames of a flame graph. Pure.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/payload/fields";
import type { FlameNode } from "../../base/flame/flame";
import { flameOfPaths } from "../../base/flame/paths";
import type { FramePath } from "../../base/flame/paths";

export interface PythonStacks {
  /** From the host to the innermost frame, with the self time in ps. */
  paths: readonly FramePath[];
  /** Why there are none; null if there are some. */
  reason: string | null;
}

/** `$train.py:54 load_batch` -> `load_batch (train.py:54)`; other names stay. */
export function frameName(name: string): string {
  const match = /^\$(\S+:\d+) (.+)$/.exec(name);
  return match ? `${match[2] ?? ""} (${match[1] ?? ""})` : name.replace(/^\$/, "");
}

function hostPaths(value: unknown): FramePath[] {
  const entry = asDict(value, "a host");
  const numbers = (key: string): number[] => asList(entry[key], `${key} of the stacks`).map((one) => asNumber(one, key));
  const names = asList(entry["names"], "the names of frames").map((name) => frameName(asText(name, "a name")));
  const [name, parent, self] = [numbers("name"), numbers("parent"), numbers("self_ps")];
  const host = asText(entry["host"], "the host");
  const full: string[][] = [];
  return name.map((code, i) => {
    const caller = parent[i] ?? -1;
    if (caller >= i) throw badAnswer("a stack comes before its caller");
    const path = [...(full[caller] ?? [host]), names[code] ?? ""];
    full.push(path);
    return { names: path, value: self[i] ?? 0 };
  });
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readPython(value: unknown): PythonStacks {
  const answer = asDict(value, "the Python stacks");
  const reason = answer["reason"];
  return {
    paths: asList(answer["hosts"], "the hosts").flatMap(hostPaths),
    reason: reason === null || reason === undefined ? null : asText(reason, "the reason"),
  };
}

const perStep = (paths: readonly FramePath[], steps: number): FramePath[] => paths.map((path) => ({ ...path, value: path.value / steps }));

/** Both sides of a base as one tree; `steps` are those that times are divided by. */
export function pythonFrames(run: PythonStacks, base: PythonStacks | null, steps: { run: number; base: number } | null): FlameNode {
  return flameOfPaths("all", perStep(run.paths, steps?.run ?? 1), base === null ? null : perStep(base.paths, steps?.base ?? 1));
}
