// The op tree beside that of a base: which node corresponds to which, and nodes that only the base has. Pure.
import type { Comparison } from "../../api/payload/comparison";
import { pairRows, withoutId, withoutNumber } from "../../base/table/difference";
import type { Steps } from "../../base/table/difference";
import { knownOps } from "../../page/compare/paired_ops";
import { DUPLICATES } from "./decode";
import type { OpNode } from "./decode";

export interface Against {
  /** The run's tree; nodes that only the base has are part of it, without time. */
  root: OpNode;
  /** Time of each node in the base, in ps; null: the base has no such node; absent: unknown, because the server left it out. */
  basePs: ReadonlyMap<OpNode, number | null>;
}

/** The instruction of a node: `%fusion.1 = f32[8] fusion()` -> `fusion.1`. */
const instruction = (name: string): string => (name.replace(DUPLICATES, "").split(" = ")[0] ?? "").replace(/^%/, "");
const opKey = ({ name, op }: OpNode): string => (op === null ? "" : `${op.programId}\0${instruction(name)}`);
/** The name without what another compilation changes; of a program, that of the base's which it corresponds to. */
function plainKey({ kind, name }: OpNode, programs: ReadonlyMap<string, string>): string {
  const plain = withoutId(withoutNumber(instruction(name)));
  return `${kind}\0${kind === "group" ? (programs.get(plain) ?? plain) : plain}`;
}

/** A node of the base that the run lacks, without time and children. */
function gone(node: OpNode): OpNode {
  return {
    ...node,
    timePs: 0,
    weightedFlops: 0,
    flops: 0,
    modelFlops: 0,
    bandwidth: [0, 0, 0],
    bytes: [0, 0, 0],
    runs: 0,
    averagePs: 0,
    children: [],
    count: 0,
  };
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A tree with its sums divided by a number of steps; rates, means and the FLOPs of one run stay. */
function perStep(node: OpNode, steps: number): OpNode {
  if (node.kind === "part") return node;
  const part = (sum: number): number => sum / steps;
  const sums = {
    timePs: part(node.timePs),
    flops: part(node.flops),
    modelFlops: part(node.modelFlops),
    bytes: node.bytes.map(part),
    runs: part(node.runs),
  };
  return { ...node, ...sums, children: node.children.map((child) => perStep(child, steps)) };
}

/** Both trees as one; with `steps`, sums are divided by those of their recording. */
export function against(whole: OpNode, wholeBase: OpNode, found: Comparison | null, steps: Steps | null = null): Against {
  const [run, base] = steps === null ? [whole, wholeBase] : [perStep(whole, steps.run), perStep(wholeBase, steps.base)];
  const known = knownOps(found);
  const basePs = new Map<OpNode, number | null>();
  const walk = (node: OpNode, old: OpNode | null, sure: boolean): OpNode => {
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
      basePs.set(shown, one.timePs);
      return shown;
    });
    const joined = { ...node, children: [...children, ...added], count: node.count + added.length };
    if (old !== null) basePs.set(joined, old.timePs);
    else if (sure) basePs.set(joined, null);
    return joined;
  };
  return { root: walk(run, base, true), basePs };
}

/** Time in the run minus time in the base; null if unknown or for instructions within a fusion, which are not timed. */
export function differencePs(node: OpNode, basePs: ReadonlyMap<OpNode, number | null> | null): number | null {
  if (basePs === null || node.kind === "part" || !basePs.has(node)) return null;
  return node.timePs - (basePs.get(node) ?? 0);
}
