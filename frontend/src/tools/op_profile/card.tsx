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
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { DUPLICATES } from "./decode";
import type { OpFacts, OpNode } from "./decode";
import { fit, flopsUse, memoryUse, perSecond, share, wasted } from "./formulas";
import type { Peaks } from "./formulas";
import { shareDoubt } from "../../page/op_request";
import { CONTAINS, reasonFor } from "./tree";

interface Props {
  node: OpNode;
  root: OpNode;
  peaks: Peaks;
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

const NOTES: Partial<Record<OpNode["kind"], string>> = {
  group: "Sums over the ops below it.",
  duplicates: "Sums over identical ops. Expression and source are those of the longest one.",
  part: "An instruction inside a fusion. The fusion runs as one kernel, so its instructions are not timed separately.",
  idle: "Time in which no op ran on the device.",
};
const MEMORIES = ["HBM", "On-chip read", "On-chip write"] as const;

export function Card({ node, root, peaks, device, idle, perStep = false, time, onUnpin, graphLink, sourceLink }: Props) {
  const note = node.contains ? CONTAINS : NOTES[node.kind];
  const uses = [flopsUse(node, root, peaks), ...MEMORIES.map((_, i) => memoryUse(node, i, peaks))].filter((use) => use !== null);
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
      {node.label === node.name ? null : <p class="dim opp-full">{node.name}</p>}
      {node.op && node.kind !== "idle" && node.op.category ? <p class="dim">{node.op.category} operation</p> : null}
      {node.op && node.kind !== "idle" ? <SourceLine op={node.op} link={sourceLink} /> : null}
      {node.op?.programId && node.kind !== "idle" ? (
        <p>
          <Link to={graphLink(node.op.programId, node.name.replace(DUPLICATES, ""))}>Show in the graph viewer</Link>
        </p>
      ) : null}
      {note ? <p class="dim">{note}</p> : null}
      {doubt === null ? null : <p>⚠ Utilisation: {doubt}</p>}
      <Figures items={figures(node, root, peaks, device, idle, perStep ? " per step" : "", time)} />
      {node.kind === "part" || node.kind === "idle" || node.contains ? null : (
        <Memories node={node} peaks={peaks} per={perStep ? " per step" : ""} />
      )}
      {node.op?.layout.length ? <Layout op={node.op} /> : null}
      {node.op?.expression ? (
        <>
          <div class="opp-title">
            <h3>Expression</h3>
            <CopyButton text={() => node.op?.expression ?? ""} class="ghost" />
          </div>
          <pre>{node.op.expression}</pre>
        </>
      ) : null}
      {node.op ? <Origin op={node.op} /> : null}
    </aside>
  );
}

/** A share of a peak; one that cannot be true is marked and not spelled out. */
function percent(value: number | null): string | null {
  if (value === null) return null;
  return shareDoubt(value) === null ? formatPercent(value * 100) : `⚠ ${formatDoubtful(value * 100)}`;
}

/** A mark before rates that belong to such a share. */
const mark = (use: number | null): string => (use !== null && shareDoubt(use) !== null ? "⚠ " : "");

function figures(node: OpNode, root: OpNode, peaks: Peaks, device: string, idle: boolean, per: string, sum: NumberFormat): Figure[] {
  const none = NOTES[node.kind] ?? "";
  const part = share(node, root);
  if (node.kind === "part")
    return [
      {
        name: "FLOPs per run",
        value: node.modelFlops > 0 ? formatCount(node.modelFlops) : null,
        reason: "The HLO cost analysis has none for it.",
      },
    ];
  const time: Figure = {
    name: `Time${per}`,
    value: sum(node.timePs),
    exact: formatExact(node.timePs, "ps"),
    detail: part === null ? "" : `${formatPercent(part * 100)} of ${idle ? "all time" : "busy time"}`,
    help: "Sum over all runs and cores.\nSource: trace.",
  };
  if (node.kind === "idle") return [time];
  const use = flopsUse(node, root, peaks);
  const rate = perSecond(node.modelFlops, node);
  const wide = perSecond(node.flops, node);
  const lost = wasted(node, root, peaks);
  return [
    time,
    { name: "Time per run", value: node.runs > 0 ? formatTime(node.averagePs) : null, reason: none || "No runs are recorded for it." },
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
      reason: reasonFor(node, peaks.flops),
      help: "FLOP rate divided by the peak of the device.\nSource: HLO cost analysis, trace.",
    },
    {
      name: "FLOP rate",
      value: rate !== null && node.modelFlops > 0 ? `${mark(use)}${formatQuantity(rate / 1e9, "GFLOP/s")}` : null,
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

function Memories({ node, peaks, per }: { node: OpNode; peaks: Peaks; per: string }) {
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
                <td>{speed === null ? MISSING : `${mark(memoryUse(node, i, peaks))}${formatBytes(speed)}/s`}</td>
                <td data-tip={bytes > 0 ? undefined : "Its traffic to this memory is unknown."}>
                  {bytes > 0 ? (percent(memoryUse(node, i, peaks)) ?? MISSING) : MISSING}
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
function Layout({ op }: { op: OpFacts }) {
  const used = op.layoutUse ?? op.layout.reduce((all, dimension) => all * fit(dimension).used, 1);
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
function SourceLine({ op, link }: { op: OpFacts; link: Props["sourceLink"] }) {
  if (!op.source) return <p class="dim">Source: none, the compiler kept no source of this op.</p>;
  return (
    <div class="opp-source">
      <p>
        Source:{" "}
        <Link to={link(op.source)}>
          <b data-tip={op.source}>{shortSource(op.source)}</b>
        </Link>
        {op.sourceOf ? <span class="dim"> (of {op.sourceOf}, the closest op with a source)</span> : null}
      </p>
      {op.stack && op.stack !== op.source ? (
        <details>
          <summary>Call stack</summary>
          <pre>{op.stack}</pre>
        </details>
      ) : null}
    </div>
  );
}

function Origin({ op }: { op: OpFacts }) {
  return (
    <>
      {op.provenance ? (
        <>
          <h3>Framework op</h3>
          <p>{op.provenance}</p>
        </>
      ) : null}
      {op.programId && op.programId !== "0" ? (
        <>
          <h3>Program id</h3>
          <p class="number">{op.programId}</p>
        </>
      ) : null}
    </>
  );
}
