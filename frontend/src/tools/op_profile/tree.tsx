// The op tree as a tree grid: arrow keys move, expand and collapse; a click pins the details of a node.
import { useEffect, useRef, useState } from "preact/hooks";
import { MISSING, formatExact, formatPercent } from "../../base/format";
import type { NumberFormat } from "../../base/format";
import { moveIndex } from "../../base/keys";
import { Info } from "../../widgets/content/info";
import { LongName } from "../../widgets/content/long_name";
import { Meter } from "../../widgets/content/meter";
import { differencePs } from "./against";
import type { Against } from "./against";
import { shareDoubt } from "../../page/op_request";
import { frameworkOp, share, trafficShare, wasted } from "./formulas";
import type { TreeNode } from "./nodes";
import type { Row } from "./rows";

interface Props {
  rows: readonly Row[];
  /** Times in the base; null without one. */
  basePs: Against["basePs"] | null;
  /** Whether times are per step. */
  perStep: boolean;
  /** Times in one unit. */
  time: NumberFormat;
  root: TreeNode;
  /** Whether idle time is part of the tree. */
  idle: boolean;
  /** "over 8 cores", or nothing. */
  over: string;
  open: ReadonlySet<string>;
  pinned: string | null;
  onOpen: (id: string, open: boolean) => void;
  onFull: (parent: string) => void;
  onPin: (id: string) => void;
  /** The op whose name the pointer is on; null if none. */
  onPoint: (id: string | null) => void;
}

const PART = "The instructions of a fusion run as one kernel, so only the fusion is timed.";
export const CONTAINS =
  "It contains other ops, which have rows of their own: the time is without them, and FLOPs and bytes cannot be told apart.";
const heads = (idle: boolean, over: string, perStep: boolean): readonly { name: string; help: string; class: string }[] => [
  {
    name: "Op",
    help:
      "Programs, categories and ops; a fusion expands to its instructions. An op that contains others (a loop, a call) " +
      "is beside the categories, with its time outside of them.",
    class: "",
  },
  idle
    ? {
        name: "% of all",
        help: "Time of the node divided by the observed time of the devices, from the first op to the last, idle time included.\nSource: trace.",
        class: "number",
      }
    : { name: "% of busy", help: "Time of the node divided by the time in which ops ran.\nSource: trace.", class: "number" },
  {
    name: perStep ? "Time/step" : "Time",
    help: `Sum over all runs${over}${perStep ? ", divided by the steps of the recording" : ""}.\nSource: trace.`,
    class: "number opp-wide",
  },
  {
    name: "Wasted",
    help: "Time share x (1 - the larger of FLOPS and HBM utilisation): the saving at peak rates. Missing if the HBM traffic is unknown.",
    class: "number opp-wide",
  },
  {
    name: "FLOPS",
    help: "FLOP rate divided by the peak of the device. Low is red, high is green.\nSource: HLO cost analysis, trace.",
    class: "number",
  },
  {
    name: "HBM",
    help:
      "HBM bandwidth divided by its peak. Above 100% where work is done outside the recorded time of the op, " +
      "or its bytes are overestimated.\nSource: HLO cost analysis, trace.",
    class: "number",
  },
  { name: "HBM bytes", help: "Share of all HBM bytes of the tree.", class: "number opp-widest" },
  { name: "Framework op", help: "The framework op it was compiled from.\nSource: HLO metadata.", class: "opp-wide" },
];

const BASE_HEADS: ReturnType<typeof heads> = [
  {
    name: "Base",
    help: "Time of the same node in the base: the op that the comparison of both runs found, else the one of the same name.\nMissing if the base has none.",
    class: "number",
  },
  {
    name: "Difference",
    help: "Time in the run minus time in the base; all of it for nodes that only one side has. Missing if the server left the node of the base out.",
    class: "number",
  },
];

export function Tree({ rows, basePs, perStep, time, root, idle, over, open, pinned, onOpen, onFull, onPin, onPoint }: Props) {
  const [active, setActive] = useState<string | null>(pinned);
  const grid = useRef<HTMLDivElement>(null);
  const activeIndex = rows.findIndex(({ id }) => id === active);
  const focusIndex = activeIndex >= 0 ? activeIndex : 0;
  useEffect(() => {
    grid.current?.querySelector(`[data-id="${rows[focusIndex]?.id ?? ""}"]`)?.scrollIntoView?.({ block: "nearest" });
  }, [active]);
  const doubts = [...new Set(rows.flatMap(doubtsOf))];
  const act = (row: Row): void => {
    if (row.kind === "hidden") onFull(row.parent ?? "root");
    else if (row.kind === "node") onPin(row.id);
  };
  const go = setActive;
  const onKey = (event: KeyboardEvent): void => {
    if (event.target !== grid.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[focusIndex];
    if (!row) return;
    const next = moveIndex(event.key, focusIndex, rows.length, 15);
    const opens = row.kind === "node" && row.node.children.length > 0;
    if (next !== null) go(rows[next]?.id ?? row.id);
    else if (event.key === "ArrowRight" && opens && !open.has(row.id)) onOpen(row.id, true);
    else if (event.key === "ArrowRight" && opens) go(rows[focusIndex + 1]?.id ?? row.id);
    else if (event.key === "ArrowLeft" && row.kind === "node" && open.has(row.id)) onOpen(row.id, false);
    else if (event.key === "ArrowLeft" && row.parent !== null) go(row.parent);
    else if (event.key === "Enter" || event.key === " ") act(row);
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={grid}
      class={basePs === null ? "opp-tree" : "opp-tree with-base"}
      role="treegrid"
      tabIndex={0}
      aria-label="Ops"
      aria-activedescendant={rows.length ? `opp-${rows[focusIndex]?.id ?? ""}` : undefined}
      onKeyDown={onKey}
    >
      <div class="opp-row opp-heads" role="row">
        {[...heads(idle, over, perStep).slice(0, 3), ...(basePs === null ? [] : BASE_HEADS), ...heads(idle, over, perStep).slice(3)].map(
          ({ name, help, class: extra }) => (
            <span key={name} class={extra} role="columnheader">
              {name} <Info label={name} text={help} focusable={false} />
            </span>
          ),
        )}
      </div>
      {rows.map((row) => (
        <Line
          key={row.id}
          row={row}
          basePs={basePs}
          time={time}
          root={root}
          open={open.has(row.id)}
          active={row.id === rows[focusIndex]?.id}
          pinned={row.id === pinned}
          onPress={(onArrow) => {
            setActive(row.id);
            if (onArrow && row.kind === "node") onOpen(row.id, !open.has(row.id));
            else act(row);
          }}
          onPoint={(on) => onPoint(on && row.kind === "node" ? row.id : null)}
          onTwice={() => row.kind === "node" && onOpen(row.id, !open.has(row.id))}
        />
      ))}
      {doubts.length === 0 ? null : <p class="opp-doubts dim">⚠ {doubts.join(" ")}</p>}
    </div>
  );
}

/** Why the utilisations in a row cannot be true. */
function doubtsOf({ kind, node }: Row): string[] {
  if (kind === "hidden") return [];
  return [node.flops_use, node.memory_use[0]].flatMap((use) => (use === null ? [] : (shareDoubt(use) ?? [])));
}

interface LineProps {
  row: Row;
  basePs: Against["basePs"] | null;
  time: NumberFormat;
  root: TreeNode;
  open: boolean;
  active: boolean;
  pinned: boolean;
  onPress: (onArrow: boolean) => void;
  onPoint: (on: boolean) => void;
  onTwice: () => void;
}

function Line({ row, basePs, time, root, open, active, pinned, onPress, onPoint, onTwice }: LineProps) {
  const { node, depth } = row;
  const opens = row.kind === "node" && node.children.length > 0;
  const common = {
    id: `opp-${row.id}`,
    "data-id": row.id,
    role: "row" as const,
    "aria-level": depth + 1,
    "aria-posinset": row.place,
    "aria-setsize": row.siblings,
    "aria-selected": pinned,
    onClick: (event: MouseEvent) => onPress(event.target instanceof Element && event.target.closest(".opp-arrow") !== null),
  };
  const indent = { paddingLeft: `${depth * 16 + 4}px` };
  if (row.kind === "hidden") {
    return (
      <div {...common} class={`opp-row opp-line${active ? " active" : ""}`}>
        <span class="opp-left" role="gridcell" style={{ paddingLeft: `${depth * 16 + 22}px` }}>
          {row.left} {subject(node, row.left)} not shown.{" "}
          {node.children.length > row.place - 1 ? <u>Show all {node.children.length}</u> : "The server only sends the longest."}
        </span>
      </div>
    );
  }
  const part = share(node, root);
  const framework = frameworkOp(node.framework_op);
  const [waste, traffic] = [wasted(node, root), trafficShare(node, root)];
  const {
    flops_use: flops,
    memory_use: [hbm],
  } = node;
  return (
    <div
      {...common}
      class={`opp-row opp-line ${node.kind}${active ? " active" : ""}${pinned ? " pinned" : ""}`}
      aria-expanded={opens ? open : undefined}
      onDblClick={onTwice}
    >
      <span
        class="opp-name"
        role="gridcell"
        style={indent}
        onPointerEnter={() => onPoint(true)}
        onPointerLeave={() => onPoint(false)}
        data-tip={
          node.contains ? `${node.title}\n${CONTAINS}` : node.title.length > 24 || node.label !== node.title ? node.title : undefined
        }
      >
        <i class="opp-arrow" aria-hidden="true">
          {opens ? (open ? "▾" : "▸") : ""}
        </i>
        <LongName name={node.label} />
        {node.contains ? <span class="dim opp-self">self time</span> : null}
      </span>
      <span class="number opp-share" role="gridcell" data-tip={part === null ? PART : formatExact(part, "fraction")}>
        {part === null ? null : <i aria-hidden="true" style={{ width: `${Math.min(1, part) * 100}%` }} />}
        <b>{part === null ? MISSING : formatPercent(part * 100)}</b>
      </span>
      <span class="number opp-wide" role="gridcell" data-tip={part === null ? PART : formatExact(node.time_ps, "ps")}>
        {part === null ? MISSING : time(node.time_ps)}
      </span>
      {basePs === null ? null : <BaseCells node={node} basePs={basePs} time={time} />}
      <span
        class="number opp-wide"
        role="gridcell"
        data-tip={waste === null ? (node.contains ? CONTAINS : "Its HBM traffic is unknown.") : formatExact(waste, "fraction")}
      >
        {waste === null ? MISSING : formatPercent(waste * 100)}
      </span>
      <span role="gridcell">
        <Meter
          value={flops}
          doubt={flops === null ? null : shareDoubt(flops)}
          scaled
          reason={node.kind === "part" ? PART : reasonFor(node)}
        />
      </span>
      <span role="gridcell">
        <Meter value={hbm} doubt={hbm === null ? null : shareDoubt(hbm)} reason={node.kind === "part" ? PART : reasonFor(node)} />
      </span>
      <span
        class="number opp-widest"
        role="gridcell"
        data-tip={traffic === null ? (node.contains ? CONTAINS : "The HBM traffic is unknown.") : formatExact(traffic, "fraction")}
      >
        {traffic === null ? MISSING : formatPercent(traffic * 100)}
      </span>
      <span
        class={framework ? "opp-wide" : "opp-wide dim"}
        role="gridcell"
        data-tip={node.framework_op || (node.kind === "group" ? "Only ops have a framework op." : "The HLO metadata has no framework op.")}
      >
        {framework ?? MISSING}
      </span>
    </div>
  );
}

/** Time of a node in the base, and the difference. */
function BaseCells({ node, basePs, time }: { node: TreeNode; basePs: Against["basePs"]; time: NumberFormat }) {
  const [old, delta] = [node.kind === "part" ? null : (basePs.get(node) ?? null), differencePs(node, basePs)];
  const why =
    node.kind === "part" ? PART : basePs.has(node) ? "The base has no such node." : "The server did not send this node of the base.";
  return (
    <>
      <span class="number" role="gridcell" data-tip={old === null ? why : formatExact(old, "ps")}>
        {old === null ? MISSING : time(old)}
      </span>
      <span class="number" role="gridcell" data-tip={delta === null ? why : formatExact(delta, "ps")}>
        {delta === null ? MISSING : `${delta > 0 ? "+" : ""}${time(delta)}`}
      </span>
    </>
  );
}

/** Why a utilisation is missing. */
export function reasonFor(node: TreeNode): string {
  if (node.kind === "idle") return "No op ran.";
  if (node.contains) return CONTAINS;
  return node.time_ps === 0 ? "Its time is 0." : "The peak of this device or the costs of its ops are unknown.";
}

function subject(parent: TreeNode, left: number): string {
  const kind = parent.children[0]?.kind;
  const word = kind === "part" ? "instruction" : kind === "group" ? "group" : "op";
  return left === 1 ? `${word} is` : `${word}s are`;
}
