// Time of the host threads with Python frames, as frames of a flame graph. Pure.
import type { HostPythonStacks, PythonStacks } from "../../base/documents";
import type { FlameNode } from "../../base/flame/flame";
import { flameOfPaths } from "../../base/flame/paths";
import type { FramePath } from "../../base/flame/paths";

/** `$train.py:54 load_batch` -> `load_batch (train.py:54)`; other names stay. */
export function frameName(name: string): string {
  const match = /^\$(\S+:\d+) (.+)$/.exec(name);
  return match ? `${match[2] ?? ""} (${match[1] ?? ""})` : name.replace(/^\$/, "");
}

/** From the host to the innermost frame, with the self time per step in ps. */
function hostPaths({ host, names, name, parent, self_ps }: HostPythonStacks, steps: number): FramePath[] {
  const shown = names.map(frameName);
  const full: string[][] = [];
  return name.map((code, i) => {
    const path = [...(full[parent[i] ?? -1] ?? [host]), shown[code] ?? ""];
    full.push(path);
    return { names: path, value: (self_ps[i] ?? 0) / steps };
  });
}

/** Both sides of a base as one tree; `steps` are those that times are divided by. */
export function pythonFrames(run: PythonStacks, base: PythonStacks | null, steps: { run: number; base: number } | null): FlameNode {
  const pathsOf = ({ hosts }: PythonStacks, count = 1): FramePath[] => hosts.flatMap((host) => hostPaths(host, count));
  return flameOfPaths("all", pathsOf(run, steps?.run), base === null ? null : pathsOf(base, steps?.base));
}
