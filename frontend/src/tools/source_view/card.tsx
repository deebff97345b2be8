// Details of a file, function, line, op or buffer: figures, ops and buffers with their links, text of the file.
import type { Client } from "../../api/client";
import { formatBytes, formatCount, formatExact, formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import { toolPatch } from "../../page/page_state";
import { Figures } from "../../widgets/content/figures";
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import type { Source } from "../../base/documents";
import { SourceText } from "./text";
import { callsOf, leavesOf, linesOf } from "./tree";
import type { Buffer, Frame, Measure, Node, Op } from "./tree";

/** Keys of the address that belong to this page. */
export const OWN_KEYS = [
  "group_by",
  "order",
  "q",
  "line",
  "node",
  "op",
  "module_name",
  "totals",
  "view",
  "frame",
  "frames",
  "flip",
] as const;
const MOST = 12;
/** Names in the search of the timeline: more would make the address too long. */
const MOST_FOUND = 20;

interface Props {
  node: Node;
  root: Node;
  source: Source;
  host: string | null;
  client: Client;
  measure: Measure;
  perStep: boolean;
  /** Ids of tools that have data. */
  onClose: () => void;
  onLine: (file: string, line: number) => void;
}

const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The expression that finds the events of ops in the timeline, on devices with and without their HLO text. */
export function searchOf(ops: readonly Op[]): string {
  const names = [...new Set(ops.slice(0, MOST_FOUND).map(({ name }) => quoted(name)))];
  return `^%?(?:${names.join("|")})(?: = .*)?$`;
}

export function Card({ node, root, source, host, client, measure, perStep, onClose, onLine }: Props) {
  const { ops, buffers } = leavesOf(node);
  const place = node.place;
  const open = (tool: string, more: Record<string, string>): Patch => toolPatch(tool, host, OWN_KEYS, more);
  return (
    <aside class="src-card" aria-label="Details">
      <div class="src-card-head">
        <h2>{titleOf(node)}</h2>
        <button type="button" class="button ghost icon" aria-label="Close details" onClick={onClose}>
          ✕
        </button>
      </div>
      {place === null ? null : <p class="dim src-path">{place.line > 0 ? `${place.file}:${String(place.line)}` : place.file}</p>}
      {ops.length > 0 ? (
        <p class="src-links">
          <Link to={open("trace_viewer@", { find: searchOf(ops), match: "regex,case" })}>Show in the timeline</Link>
        </p>
      ) : null}
      {place !== null ? (
        <SourceText
          client={client}
          file={place.file}
          line={place.line > 0 ? place.line : null}
          lines={linesOf(root, place.file)}
          measure={measure}
          total={root.sums[measure]}
          onLine={(line) => onLine(place.file, line)}
        />
      ) : null}
      <Figures items={figures(node, root, perStep)} />
      {ops.length > 0 ? <Ops ops={ops} open={open} /> : null}
      {buffers.length > 0 ? <Buffers buffers={buffers} program={source.memory?.program ?? ""} open={open} /> : null}
      <Stack calls={callsOf(source)((node.op ?? node.buffer ?? ops[0])?.stack ?? -1)} />
    </aside>
  );
}

function titleOf({ kind, label, place }: Node): string {
  if (kind === "line" && place !== null) return `${place.file.replace(/^.*[\\/]/, "")}:${String(place.line)}`;
  return kind === "file" ? label.replace(/^.*[\\/]/, "") : label;
}

function figures({ sums }: Node, root: Node, perStep: boolean) {
  const per = perStep ? " per step" : "";
  const share = (measure: Measure): string =>
    root.sums[measure] > 0 ? `${formatPercent((100 * sums[measure]) / root.sums[measure])} of all` : "";
  const none = "Unknown, or 0.";
  const value = (measure: Measure, text: string, unit: string) =>
    sums[measure] > 0 ? { value: text, exact: formatExact(sums[measure], unit), detail: share(measure) } : { value: null, reason: none };
  return [
    {
      name: `Self time${per}`,
      ...value("time", formatTime(sums.time), "ps"),
      help: "Time of the ops, nested ops excluded.\nSource: trace.",
    },
    { name: `Runs${per}`, value: sums.runs > 0 ? formatCount(sums.runs) : null, reason: "No op ran." },
    {
      name: `Model FLOPs${per}`,
      ...value("flops", formatQuantity(sums.flops, "FLOP"), "FLOP"),
      help: "Operations that the model asks for, whatever their precision.\nSource: HLO cost analysis.",
    },
    {
      name: `Bytes accessed${per}`,
      ...value("bytes", formatBytes(sums.bytes), "bytes"),
      help: "Memory traffic.\nSource: HLO cost analysis.",
    },
    {
      name: "At the memory peak",
      ...value("peak", formatBytes(sums.peak), "bytes"),
      help: "Storage of its buffers.\nSource: buffer assignment.",
    },
  ];
}

type Open = (tool: string, more: Record<string, string>) => Patch;

function Ops({ ops, open }: { ops: readonly Op[]; open: Open }) {
  return (
    <>
      <h3>{plural(ops.length, "op")}</h3>
      <ul class="src-list">
        {ops.slice(0, MOST).map((op) => (
          <li key={`${op.program_id} ${op.name}`}>
            <span class="src-item" data-tip={op.framework_op || op.name}>
              {op.name} <span class="dim">{op.category}</span>
            </span>
            <span class="number" data-tip={formatExact(op.self_ps, "ps")}>
              {formatTime(op.self_ps)}
            </span>
            <span class="src-links">
              {op.program_id === "" ? (
                <Link to={open("framework_op_stats", { "t1.filter": `operation~=${op.name.replace(/[\\,;~]/g, "\\$&")}` })}>Stats</Link>
              ) : (
                <>
                  <Link to={open("hlo_stats", { op: op.name, program: op.program_id })}>Stats</Link>
                  <Link to={open("op_profile", { op: op.name, program_id: op.program_id })}>Profile</Link>
                  <Link to={open("graph_viewer", { program_id: op.program_id, node_name: op.name })}>Graph</Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {ops.length > MOST ? <p class="dim">{ops.length - MOST} more in the tree.</p> : null}
    </>
  );
}

function Buffers({ buffers, program, open }: { buffers: readonly Buffer[]; program: string; open: Open }) {
  return (
    <>
      <h3>{plural(buffers.length, "buffer")} at the peak</h3>
      <ul class="src-list">
        {buffers.slice(0, MOST).map((buffer, i) => (
          <li key={i}>
            <span class="src-item" data-tip={`${buffer.shape}\n${buffer.framework_op}`}>
              {buffer.framework_op !== "" && buffer.category === "parameter" ? buffer.framework_op : buffer.name}{" "}
              <span class="dim">{buffer.category}</span>
            </span>
            <span class="number" data-tip={formatExact(buffer.size, "bytes")}>
              {formatBytes(buffer.size)}
            </span>
            <span class="src-links">
              <Link to={open("memory_viewer", { module_name: program, q: buffer.name })}>Memory</Link>
              <Link to={open("graph_viewer", { module_name: program, node_name: buffer.name.replace(/\{.*$/, "") })}>Graph</Link>
            </span>
          </li>
        ))}
      </ul>
      {buffers.length > MOST ? <p class="dim">{buffers.length - MOST} more in the tree.</p> : null}
    </>
  );
}

function Stack({ calls }: { calls: readonly Frame[] }) {
  if (calls.length < 2) return null;
  return (
    <details>
      <summary>Call stack of the largest op</summary>
      <ol class="src-stack">
        {calls.map((call, i) => (
          <li key={i}>
            {call.function} <span class="dim">{`${call.file}:${String(call.line)}`}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}
