// Details of one node: times, utilisation, memories, padding, expression, source.
import {
  MISSING,
  formatBytes,
  formatCount,
  formatDoubtful,
  formatExact,
  formatPercent,
  formatQuantity,
  formatTime,
} from "../../base/format";
import type { NumberFormat } from "../../base/format";
import { shortSource } from "../../base/table/transform";
import { CopyButton } from "../../widgets/content/copy_button";
import { Figures } from "../../widgets/content/figures";
import type { Figure } from "../../widgets/content/figures";
import { InEditor } from "../../widgets/content/in_editor";
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { fit, perSecond, share, wasted } from "./formulas";
import { sourceOf } from "./nodes";
import type { TreeNode } from "./nodes";
import { shareDoubt } from "../../page/op_request";
import { CONTAINS, reasonFor } from "./tree";

interface Props {
  node: TreeNode;
  root: TreeNode;
  device: string;
  idle: boolean;
  /** Whether sums are per step. */
  perStep?: boolean;
  /** Sums of time in the unit of the tree. */
  time: NumberFormat;
  /** Null for an op that is only pointed at: its card goes with the pointer. */
  onUnpin: (() => void) | null;
  /** The address of an instruction of a program in the graph viewer. */
  graphLink: (program: string, name: string) => Patch;
  /** The address of a source line. */
  sourceLink: (place: string) => Patch;
}

const NOTES: Partial<Record<TreeNode["kind"], string>> = {
  group: "Sums over the ops below it.",
  duplicates: "Sums over identical ops. Expression and source are those of the longest one.",
  part: "An instruction inside a fusion. The fusion runs as one kernel, so its instructions are not timed separately.",
  idle: "Time in which no op ran on the device.",
};
const MEMORIES = ["HBM", "On-chip read", "On-chip write"] as const;

export function Card({ node, root, device, idle, perStep = false, time, onUnpin, graphLink, sourceLink }: Props) {
  const op = node.kind !== "root" && node.kind !== "group" && node.kind !== "idle";
  const note = node.contains ? CONTAINS : NOTES[node.kind];
  const uses = [node.flops_use, ...node.memory_use].filter((use) => use !== null);
  const doubt = uses.length ? shareDoubt(Math.max(...uses)) : null;
  return (
    <aside class={onUnpin ? "opp-card" : "opp-card passing"} aria-label="Details">
      <div class="opp-card-head">
        <h2>{node.label}</h2>
        {onUnpin ? (
          <button type="button" class="button ghost icon" aria-label="Close details" onClick={onUnpin}>
            ✕
          </button>
        ) : null}
      </div>
      {node.label === node.title ? null : <p class="dim opp-full">{node.title}</p>}
      {op && node.category ? <p class="dim">{node.category} operation</p> : null}
      {op ? <SourceLine op={node} link={sourceLink} /> : null}
      {op && node.program_id ? (
        <p>
          <Link to={graphLink(node.program_id, node.name)}>Show in the graph viewer</Link>
        </p>
      ) : null}
      {note ? <p class="dim">{note}</p> : null}
      {doubt === null ? null : <p>⚠ Utilisation: {doubt}</p>}
      <Figures items={figures(node, root, device, idle, perStep ? " per step" : "", time)} />
      {node.kind === "part" || node.kind === "idle" || node.contains ? null : <Memories node={node} per={perStep ? " per step" : ""} />}
      {node.layout.length ? <Layout op={node} /> : null}
      {node.expression ? (
        <>
          <div class="opp-title">
            <h3>Expression</h3>
            <CopyButton text={() => node.expression} class="ghost" />
          </div>
          <pre>{node.expression}</pre>
        </>
      ) : null}
      <Origin op={node} />
    </aside>
  );
}

/** A share of a peak; one that cannot be true is marked and not spelled out. */
function percent(value: number | null): string | null {
  if (value === null) return null;
  return shareDoubt(value) === null ? formatPercent(value * 100) : formatDoubtful(value * 100);
}

/** A mark before rates that belong to such a share. */
const mark = (use: number | null): string => (use !== null && shareDoubt(use) !== null ? "⚠ " : "");

function figures(node: TreeNode, root: TreeNode, device: string, idle: boolean, per: string, sum: NumberFormat): Figure[] {
  const none = NOTES[node.kind] ?? "";
  const part = share(node, root);
  if (node.kind === "part")
    return [
      {
        name: "FLOPs per run",
        value: node.model_flops > 0 ? formatCount(node.model_flops) : null,
        reason: "The HLO cost analysis has none for it.",
      },
    ];
  const time: Figure = {
    name: `Time${per}`,
    value: sum(node.time_ps),
    exact: formatExact(node.time_ps, "ps"),
    detail: part === null ? "" : `${formatPercent(part * 100)} of ${idle ? "all time" : "busy time"}`,
    help: "Sum over all runs and cores.\nSource: trace.",
  };
  if (node.kind === "idle") return [time];
  const use = node.flops_use;
  const rate = perSecond(node.model_flops, node);
  const wide = perSecond(node.flops, node);
  const lost = wasted(node, root);
  return [
    time,
    {
      name: "Time per run",
      value: node.runs > 0 ? formatTime(node.time_ps / node.runs) : null,
      reason: none || "No runs are recorded for it.",
    },
    {
      name: `Occurrences${per}`,
      value: node.runs > 0 ? formatCount(node.runs) : null,
      reason: none || "No runs are recorded for it.",
      help: "Number of runs on all cores.",
    },
    {
      name: "FLOPS utilisation",
      value: percent(use),
      exact: formatExact(use, "fraction"),
      reason: reasonFor(node),
      help: "FLOP rate divided by the peak of the device.\nSource: HLO cost analysis, trace.",
    },
    {
      name: "FLOP rate",
      value: rate !== null && node.model_flops > 0 ? `${mark(use)}${formatQuantity(rate / 1e9, "GFLOP/s")}` : null,
      reason: "The HLO cost analysis has no FLOPs for it.",
      help: "Model FLOPs divided by time, per core.",
    },
    ...(device === "TPU"
      ? [
          {
            name: "Normalized FLOP rate",
            value: wide !== null && node.flops > 0 ? `${mark(use)}${formatQuantity(wide / 1e9, "GFLOP/s")}` : null,
            reason: "The HLO cost analysis has no FLOPs for it.",
            help: "The FLOP rate in bf16 equivalents: FLOPs are weighted by the speed of the hardware for their data type.",
          },
        ]
      : []),
    {
      name: "Wasted",
      value: percent(lost),
      reason: "Its HBM traffic is unknown.",
      help: "Time share x (1 - the larger of FLOPS and HBM utilisation).",
    },
  ];
}

function Memories({ node, per }: { node: TreeNode; per: string }) {
  return (
    <>
      <h3>Memory{per}</h3>
      <table>
        <thead>
          <tr>
            <th scope="col">Space</th>
            <th scope="col">Bytes</th>
            <th scope="col">Bandwidth</th>
            <th scope="col">% of peak</th>
          </tr>
        </thead>
        <tbody>
          {MEMORIES.map((name, i) => {
            const bytes = node.bytes[i] ?? 0;
            const speed = bytes > 0 ? perSecond(bytes, node) : null;
            return (
              <tr key={name}>
                <td>{name}</td>
                <td data-tip={bytes > 0 ? formatExact(bytes, "bytes") : "Its traffic to this memory is unknown."}>
                  {bytes > 0 ? formatBytes(bytes) : MISSING}
                </td>
                <td>{speed === null ? MISSING : `${mark(node.memory_use[i] ?? null)}${formatBytes(speed)}/s`}</td>
                <td data-tip={bytes > 0 ? undefined : "Its traffic to this memory is unknown."}>
                  {bytes > 0 ? (percent(node.memory_use[i] ?? null) ?? MISSING) : MISSING}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

/** Dimensions and the tiles of the matrix unit. */
function Layout({ op }: { op: TreeNode }) {
  const used = op.layout_use ?? op.layout.reduce((all, dimension) => all * fit(dimension).used, 1);
  return (
    <>
      <h3>Layout and padding</h3>
      <p>
        Matrix units used: {formatPercent(used * 100)} by the layout{used < 1 ? "; the rest is padding" : ", an exact fit"}.
      </p>
      <div class="opp-use" aria-hidden="true">
        <i style={{ width: `${used * 100}%` }} />
        <u />
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">Dimension</th>
            <th scope="col">Size</th>
            <th scope="col">Fit</th>
            <th scope="col">Used</th>
          </tr>
        </thead>
        <tbody>
          {op.layout.map((dimension, i) => {
            const { hint, used: part } = fit(dimension);
            return (
              <tr key={i}>
                <td>{dimension.semantics.replace("_semantics", "") || "unknown"}</td>
                <td>{formatCount(dimension.size)}</td>
                <td>{hint}</td>
                <td>{formatPercent(part * 100)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

/** File and line in the user's program, and the calls that led there. */
function SourceLine({ op, link }: { op: TreeNode; link: Props["sourceLink"] }) {
  const [source, stack] = [sourceOf(op), op.source_stack.trim()];
  if (!source) return <p class="dim">Source: none, the compiler kept no source of this op.</p>;
  return (
    <div class="opp-source">
      <p>
        Source:{" "}
        <Link to={link(source)}>
          <b data-tip={source}>{shortSource(source)}</b>
        </Link>
        <InEditor place={source} />
        {op.source_of ? <span class="dim"> (of {op.source_of}, the closest op with a source)</span> : null}
      </p>
      {stack && stack !== source ? (
        <details>
          <summary>Call stack</summary>
          <pre>{stack}</pre>
        </details>
      ) : null}
    </div>
  );
}

function Origin({ op }: { op: TreeNode }) {
  return (
    <>
      {op.framework_op ? (
        <>
          <h3>Framework op</h3>
          <p>{op.framework_op}</p>
        </>
      ) : null}
      {op.program_id ? (
        <>
          <h3>Program id</h3>
          <p class="number">{op.program_id}</p>
        </>
      ) : null}
    </>
  );
}
