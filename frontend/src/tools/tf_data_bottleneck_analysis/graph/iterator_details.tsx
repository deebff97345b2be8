// Details of the selected iterator: times, position in the pipeline, explanation of its long name.
import { formatCount, formatExact, formatPercent, formatTime } from "../../../base/format";
import { CopyButton } from "../../../widgets/content/copy_button";
import { ROLES, nameParts, settingLines, sinceBegin } from "../model";
import type { Drawn } from "./tree";
import type { DataPipelineRun as Run } from "../../../base/documents";

/** Number of parts of a long name that are listed. */
const MAX_PARTS = 12;

interface Props {
  run: Run;
  node: Drawn | null;
  /** Whether the user selected it; else it is the bottleneck. */
  chosen: boolean;
}

export function IteratorDetails({ run, node, chosen }: Props) {
  if (!node) return null;
  const { name, help } = ROLES[node.role];
  const first = run.iterators[node.nodes[0] ?? -1];
  const dataset = first?.dataset ?? "";
  // Executions ahead of the run, or on several threads at once, are not a share of the run.
  const part = run.duration_ps > 0 && node.self_ps >= 0 && node.self_ps <= run.duration_ps;
  const share = part ? ` (${formatPercent((100 * node.self_ps) / run.duration_ps)} of the run)` : "";
  return (
    <aside class="tfd-details" aria-label="Selected iterator">
      <h3>{node.name}</h3>
      <p class="dim">
        {chosen ? help : node.role === 2 ? `${help} Click another iterator for its details.` : `${help} This run has no bottleneck.`}
      </p>
      <dl>
        <dt>Role</dt>
        <dd>{name}</dd>
        {dataset ? [<dt key="d">Dataset</dt>, <dd key="dv">{dataset}</dd>] : null}
        <dt>Start time</dt>
        <dd class="number" data-tip={formatExact(node.begin_ps, "ps")}>
          {formatTime(node.begin_ps)} ({sinceBegin(node.begin_ps, run)} in the run)
        </dd>
        <dt>Total duration</dt>
        <dd class="number" data-tip={formatExact(node.duration_ps, "ps")}>
          {formatTime(node.duration_ps)}
        </dd>
        <dt>Self duration</dt>
        <dd class="number" data-tip={formatExact(node.self_ps, "ps")}>
          {formatTime(node.self_ps)}
          {share}
        </dd>
        <dt>Calls</dt>
        <dd class="number">{formatCount(node.calls)}</dd>
        {node.grouped || !first
          ? null
          : settingLines(first).map(([label, value]) => [
              <dt key={label}>{label}</dt>,
              <dd key={`${label} value`} class="number">
                {value}
              </dd>,
            ])}
        {node.grouped
          ? null
          : [
              <dt key="i">Id</dt>,
              <dd key="iv" class="mono">
                {node.id}
              </dd>,
            ]}
      </dl>
      <LongName name={node.long_name} />
    </aside>
  );
}

function LongName({ name }: { name: string }) {
  const parts = nameParts(name);
  const [own, ...after] = parts;
  if (!own) return null;
  return (
    <div class="tfd-long-name">
      <h4>
        How to read its long name <CopyButton text={() => name} class="ghost" />
      </h4>
      <code>{name}</code>
      <p>
        The last part, <strong>{own.name}</strong>, is this iterator.{" "}
        {after.length
          ? "The parts before it are its consumers, the nearest last. Its elements go to"
          : "There is no part before it: its consumer is the program."}
      </p>
      {after.length ? (
        <ol>
          {after.slice(0, MAX_PARTS).map((part) => (
            <li key={part.after}>{part.name}</li>
          ))}
          {after.length > MAX_PARTS ? (
            <li class="dim">
              and {after.length - MAX_PARTS} more, up to {after.at(-1)?.name}
            </li>
          ) : null}
        </ol>
      ) : null}
      <p class="dim">Example: range → map → repeat → batch calls the iterator of range Iterator::Batch::Repeat::Map::Range.</p>
    </div>
  );
}
