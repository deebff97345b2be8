// Decodes the op profile to a tree; throws `bad_answer` naming the field if it is malformed.
import { asDict, asList, asNumber, asText, badAnswer } from "../../api/payload/fields";
import type { Dict } from "../../api/payload/fields";
import type { OpNotes } from "../../base/documents";
import { partsOfOp, shortNamesWithin } from "../../base/kernel_name";
import type { NameParts } from "../../base/kernel_name";

export const GROUPINGS = ["program", "category", "provenance"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface Dimension {
  size: number;
  alignment: number;
  semantics: string;
}

export interface OpFacts {
  expression: string;
  provenance: string;
  category: string;
  programId: string;
  source: string;
  /** The op that has this source, if this op has none of its own; "" otherwise. */
  sourceOf: string;
  stack: string;
  layout: readonly Dimension[];
  /** Share of the padded tensor that is data; null without a layout. */
  layoutUse: number | null;
}

/** group: program, scope or category; duplicates: identical ops; part: an instruction inside a fusion. */
export type NodeKind = "root" | "group" | "duplicates" | "op" | "idle" | "part";

export interface OpNode {
  name: string;
  /** The name with its kernel shortened. */
  label: string;
  kind: NodeKind;
  timePs: number;
  /** Share of peak compute, multiplied by the share of all time; not capped. */
  weightedFlops: number;
  flops: number;
  modelFlops: number;
  /** Shares of the peaks of HBM, on-chip reads and on-chip writes, capped at 1. */
  bandwidth: readonly number[];
  bytes: readonly number[];
  runs: number;
  averagePs: number;
  children: readonly OpNode[];
  /** Number of children including those that the server omitted. */
  count: number;
  op: OpFacts | null;
  /** An op that contains others: its time is self time, its FLOPs and bytes are unknown. */
  contains: boolean;
}

export interface OpProfile {
  whole: OpNode;
  busy: OpNode;
  device: string;
  notes: OpNotes;
}

const IDLE = "IDLE";
export const DUPLICATES = " and its duplicate(s)";

/** `group_by` names the two trees of the answer. */
export function readOpProfile(payload: unknown, groupBy: Grouping): OpProfile {
  const answer = asDict(payload, "the op profile");
  const key = `by${groupBy.charAt(0).toUpperCase()}${groupBy.slice(1)}`;
  if (!(key in answer)) throw badAnswer(`the op profile has no tree ${key}`);
  return {
    whole: labelled(readNode(answer[key], null)),
    busy: labelled(readNode(answer[`${key}ExcludeIdle`], null)),
    device: asText(answer["deviceType"] ?? "", "deviceType"),
    notes: asDict(answer["notes"], "notes") as unknown as OpNotes,
  };
}

/** Shortens the kernels in the names of ops, as little as tells them apart. */
function labelled(root: OpNode): OpNode {
  const parts = new Map<OpNode, NameParts>();
  const collect = (node: OpNode): void => {
    if (node.kind === "op" || node.kind === "duplicates") {
      const plain = node.kind === "op" ? node.name : node.name.slice(0, -DUPLICATES.length);
      const [before, kernel] = partsOfOp(plain, node.op?.category ?? "");
      parts.set(node, [before, kernel, node.name.slice(plain.length)]);
    }
    node.children.forEach(collect);
  };
  collect(root);
  const short = shortNamesWithin([...parts.values()]);
  const withLabel = (node: OpNode): OpNode => ({
    ...node,
    label: parts.has(node) ? (short.get(node.name) ?? node.name) : node.name,
    children: node.children.map(withLabel),
  });
  return withLabel(root);
}

function kindOf(name: string, op: OpFacts | null, parent: OpNode["kind"] | null): NodeKind {
  if (parent === null) return "root";
  if (op === null) return "group";
  if (op.category === IDLE && name === IDLE) return "idle";
  if (parent === "op" || parent === "part") return "part";
  return name.endsWith(DUPLICATES) ? "duplicates" : "op";
}

function readNode(value: unknown, parent: NodeKind | null, contains = false): OpNode {
  const node = asDict(value, "a node of the op profile");
  const name = asText(node["name"] ?? "", "the name of a node");
  const metrics = asDict(node["metrics"] ?? {}, `metrics of ${name}`);
  const number = (key: string): number => asNumber(metrics[key] ?? 0, `${key} of ${name}`);
  const three = (key: string): number[] =>
    [0, 1, 2].map((i) => asNumber(asList(metrics[key] ?? [], `${key} of ${name}`)[i] ?? 0, `${key} of ${name}`));
  const op = node["xla"] === undefined ? null : readOp(asDict(node["xla"], `xla of ${name}`), name);
  const kind = kindOf(name, op, parent);
  // Instructions inside fusions are children on TPUs and `fused` elsewhere.
  const listed = [...asList(node["children"] ?? [], `children of ${name}`), ...asList(node["fused"] ?? [], `parts of ${name}`)];
  // Ops that contain others are no children for the server, but their self time is part of this node's time.
  const around = asList(node["selfTimeOps"] ?? [], `ops of ${name}`);
  const children = [...listed.map((child) => readNode(child, kind)), ...around.map((child) => readNode(child, kind, true))];
  return {
    name,
    label: name,
    kind,
    timePs: number("rawTime"),
    weightedFlops: number("uncappedFlops"),
    flops: number("bf16Flops"),
    modelFlops: number("rawFlops"),
    bandwidth: three("bandwidthUtils"),
    bytes: three("rawBytesAccessedArray"),
    runs: number("occurrences"),
    averagePs: number("avgTimePs"),
    children,
    count: Math.max(children.length, asNumber(node["numChildren"] ?? 0, `numChildren of ${name}`) + around.length),
    op,
    contains,
  };
}

function readOp(xla: Dict, name: string): OpFacts {
  const text = (key: string): string => asText(xla[key] ?? "", `${key} of ${name}`);
  const source = asDict(xla["sourceInfo"] ?? {}, `source of ${name}`);
  const file = asText(source["fileName"] ?? "", `source file of ${name}`);
  const line = asNumber(source["lineNumber"] ?? -1, `source line of ${name}`);
  const layout = asDict(xla["layout"] ?? {}, `layout of ${name}`);
  const dimensions = asList(layout["dimensions"] ?? [], `layout of ${name}`).map((one): Dimension => {
    const dimension = asDict(one, `a dimension of ${name}`);
    return {
      size: asNumber(dimension["size"] ?? 0, `size of ${name}`),
      alignment: asNumber(dimension["alignment"] ?? 0, `alignment of ${name}`),
      semantics: asText(dimension["semantics"] ?? "", `semantics of ${name}`),
    };
  });
  const use = layout["utilization"];
  return {
    expression: text("expression"),
    provenance: text("provenance"),
    category: text("category"),
    programId: text("programId"),
    source: file && line > 0 ? `${file}:${line}` : file,
    sourceOf: asText(source["sourceOf"] ?? "", `op of the source of ${name}`),
    stack: asText(source["stackFrame"] ?? "", `stack of ${name}`).trim(),
    layout: dimensions,
    layoutUse: dimensions.length === 0 || use === undefined ? null : asNumber(use, `utilization of ${name}`),
  };
}
