// The ops and buffers of a run as frames: by call stack, the outermost call first, or by name scope. Pure.
import type { FlameNode } from "../../base/flame/flame";
import { flameOfPaths } from "../../base/flame/paths";
import type { FramePath } from "../../base/flame/paths";
import type { Source } from "../../base/documents";
import { NO_LOCATION, NO_SCOPE, buffersOf, callsOf, filesOf, opsOf, sameFiles } from "./tree";
import type { Frame, Grouping, Measure } from "./tree";

interface Leaf {
  name: string;
  scope: string;
  stack: number;
  value: number;
}

/** What has a value in a measure. */
function leavesOf(source: Source, measure: Measure): Leaf[] {
  if (measure === "peak")
    return buffersOf(source).map(({ name, category, framework_op: framework, stack, size }) => ({
      // Arguments are known by their path.
      name: category === "parameter" && framework !== "" ? framework : name,
      scope: framework,
      stack,
      value: size,
    }));
  const ofFramework = source.place.startsWith("framework");
  return opsOf(source).map((op) => ({
    name: op.name,
    scope: ofFramework ? op.name.split("/").slice(0, -1).join("/") : op.framework_op,
    stack: op.stack,
    value: (measure === "time" ? op.self_ps : op[measure]) ?? 0,
  }));
}

function pathOf({ name, scope, stack, value }: Leaf, by: Grouping, calls: (stack: number) => readonly Frame[]): FramePath {
  if (by === "scope") {
    const scopes = scope.split("/").filter(Boolean);
    return { names: [...(scopes.length > 0 ? scopes : [NO_SCOPE]), name], value };
  }
  const frames = [...calls(stack)].reverse();
  if (frames.length === 0) return { names: [NO_LOCATION, name], value };
  const short = frames.map((frame) => `${frame.file.replace(/^.*[\\/]/, "")}:${String(frame.line)}`);
  return {
    names: [...frames.map((frame, i) => (frame.function === "" ? (short[i] ?? "") : `${frame.function} (${short[i] ?? ""})`)), name],
    value,
    places: [...frames.map((frame) => `${frame.file}:${String(frame.line)}`), ""],
  };
}

function pathsOf(source: Source, by: Grouping, measure: Measure, steps: number, fileOf: (file: string) => string): FramePath[] {
  const calls = callsOf(source);
  const renamed = (stack: number): Frame[] => calls(stack).map((frame) => ({ ...frame, file: fileOf(frame.file) }));
  return leavesOf(source, measure).map((leaf) => pathOf({ ...leaf, value: leaf.value / (measure === "peak" ? 1 : steps) }, by, renamed));
}

/** The frames of a measure; with a base, those of both sides. */
export function framesOf(
  source: Source,
  by: Grouping,
  measure: Measure,
  base: Source | null = null,
  steps: { run: number; base: number } | null = null,
): FlameNode {
  const same = (file: string): string => file;
  const run = pathsOf(source, by, measure, steps?.run ?? 1, same);
  if (base === null) return flameOfPaths("all", run);
  const renamed = sameFiles(filesOf(source), filesOf(base));
  return flameOfPaths("all", run, pathsOf(base, by, measure, steps?.base ?? 1, renamed));
}
