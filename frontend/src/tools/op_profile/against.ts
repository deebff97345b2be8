// The op tree beside that of a base: which node corresponds to which, and nodes that only the base has. Pure.
import type { ComparedRuns } from "../../base/documents";
import { pairRows, withoutId, withoutNumber } from "../../base/table/difference";
import type { Steps } from "../../base/table/difference";
import { knownOps } from "../../page/compare/paired_ops";
import type { TreeNode } from "./nodes";

export interface Against {
  /** The run's tree; nodes that only the base has are part of it, without time. */
  root: TreeNode;
  /** Time of each node in the base, in ps; null: the base has no such node; absent: unknown, because the server left it out. */
  basePs: ReadonlyMap<TreeNode, number | null>;
}

/** The instruction of a node: `%fusion.1 = f32[8] fusion()` -> `fusion.1`. */
const instruction = (name: string): string => (name.split(" = ")[0] ?? "").replace(/^%/, "");
const opKey = ({ name, kind, program_id }: TreeNode): string =>
  kind === "root" || kind === "group" ? "" : `${program_id}\0${instruction(name)}`;
/** The name without what another compilation changes; of a program, that of the base's which it corresponds to. */
function plainKey({ kind, name }: TreeNode, programs: ReadonlyMap<string, string>): string {
  const plain = withoutId(withoutNumber(instruction(name)));
  return `${kind}\0${kind === "group" ? (programs.get(plain) ?? plain) : plain}`;
}

/** A node of the base that the run lacks, without time and children. */
function gone(node: TreeNode): TreeNode {
  return {
    ...node,
    time_ps: 0,
    flops: 0,
    model_flops: 0,
    bytes: [0, 0, 0],
    runs: 0,
    flops_use: null,
    memory_use: [null, null, null],
    children: [],
    count: 0,
  };
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A tree with its sums divided by a number of steps; rates, means and the FLOPs of one run stay. */
function perStep(node: TreeNode, steps: number): TreeNode {
  if (node.kind === "part") return node;
  const [hbm, read, written] = node.bytes;
  return {
    ...node,
    time_ps: node.time_ps / steps,
    flops: node.flops / steps,
    model_flops: node.model_flops / steps,
    bytes: [hbm / steps, read / steps, written / steps],
    runs: node.runs / steps,
    children: node.children.map((child) => perStep(child, steps)),
  };
}

/** Both trees as one; with `steps`, sums are divided by those of their recording. */
export function against(whole: TreeNode, wholeBase: TreeNode, found: ComparedRuns | null, steps: Steps | null = null): Against {
  const [run, base] = steps === null ? [whole, wholeBase] : [perStep(whole, steps.run), perStep(wholeBase, steps.base)];
  const known = knownOps(found);
  const basePs = new Map<TreeNode, number | null>();
  const walk = (node: TreeNode, old: TreeNode | null, sure: boolean): TreeNode => {
    const theirs = old?.children ?? [];
    const pairs = pairRows([
      { run: node.children.map((child) => known.run.get(opKey(child)) ?? ""), base: theirs.map(opKey) },
      { run: node.children.map((child) => `${child.kind}\0${child.name}`), base: theirs.map((child) => `${child.kind}\0${child.name}`) },
      {
        run: node.children.map((child) => plainKey(child, known.programs)),
        base: theirs.map((child) => plainKey(child, NO_NAMES)),
        unique: true,
      },
    ]);
    // The server sends the longest children: what is missing may be there.
    const complete = sure && (old === null || old.count <= theirs.length);
    const children = node.children.map((child, i) => walk(child, theirs[pairs.counterpart[i] ?? -1] ?? null, complete));
    const lost =
      node.count > node.children.length ? [] : pairs.rest.flatMap((i) => (theirs[i] && theirs[i].kind !== "part" ? [theirs[i]] : []));
    const added = lost.map((one) => {
      const shown = gone(one);
      basePs.set(shown, one.time_ps);
      return shown;
    });
    const joined = { ...node, children: [...children, ...added], count: node.count + added.length };
    if (old !== null) basePs.set(joined, old.time_ps);
    else if (sure) basePs.set(joined, null);
    return joined;
  };
  return { root: walk(run, base, true), basePs };
}

/** Time in the run minus time in the base; null if unknown or for instructions within a fusion, which are not timed. */
export function differencePs(node: TreeNode, basePs: ReadonlyMap<TreeNode, number | null> | null): number | null {
  if (basePs === null || node.kind === "part" || !basePs.has(node)) return null;
  return node.time_ps - (basePs.get(node) ?? 0);
}
