// The tree of source lines as a tree grid: only the visible rows exist; arrow keys move, expand and collapse.
import { useEffect, useRef } from "preact/hooks";
import { MISSING, formatCount, formatExact, formatPercent, formatTogether } from "../../base/format";
import type { NumberFormat } from "../../base/format";
import { moveIndex } from "../../base/keys";
import { Info } from "../../widgets/content/info";
import { LongName } from "../../widgets/content/long_name";
import { useRows } from "../../widgets/table/use_rows";
import { difference } from "./tree";
import type { Measure, Node, Row } from "./tree";

const HEAD_PX = 26;
export const UNITS: Readonly<Record<Measure, string>> = { time: "ps", peak: "bytes", flops: "FLOP", bytes: "bytes" };
export const LABELS: Readonly<Record<Measure, string>> = { time: "Self time", peak: "At the peak", flops: "Model FLOPs", bytes: "Bytes" };
const HELP: Readonly<Record<Measure, string>> = {
  time: "Time of the ops, nested ops excluded, summed over devices.\nSource: trace.",
  peak: "Memory that the chosen program holds at its peak, by the line that makes it.\nSource: buffer assignment of the program.",
  flops: "Model FLOPs of all runs; ops that contain others count as 0.\nSource: HLO cost analysis.",
  bytes: "Memory traffic of all runs; ops that contain others count as 0.\nSource: HLO cost analysis.",
};
const NONE: Readonly<Record<Measure, string>> = {
  time: "Buffers take no time.",
  peak: "None of its buffers is in use at the memory peak of the program.",
  flops: "The FLOPs of its ops are 0 or unknown.",
  bytes: "The memory traffic of its ops is 0 or unknown.",
};

const BASE_HEADS = [
  { name: "Base", help: "The same file, function, line or op in the base." },
  { name: "Difference", help: "Run minus base; what only one side has differs by all of it." },
];

interface Props {
  root: Node;
  rows: readonly Row[];
  measures: readonly Measure[];
  /** The measure that rows are ordered by, and that a base is shown for. */
  measure: Measure;
  withBase: boolean;
  perStep: boolean;
  open: ReadonlySet<string>;
  selected: string | null;
  onOpen: (id: string, open: boolean) => void;
  onSelect: (id: string) => void;
}

type Formats = Record<Measure, NumberFormat>;

/** One unit per column, so that its numbers compare at a glance. */
function formatsOf(rows: readonly Row[]): Formats {
  const of = (measure: Measure): NumberFormat =>
    formatTogether(
      rows.map(({ node }) => node.sums[measure] || null),
      UNITS[measure],
    );
  return { time: of("time"), peak: of("peak"), flops: of("flops"), bytes: of("bytes") };
}

export function Grid(props: Props) {
  const { root, rows, measures, measure, withBase, perStep, open, selected, onOpen, onSelect } = props;
  const grid = useRef<HTMLDivElement>(null);
  const visible = useRows(grid, rows.length, HEAD_PX);
  const at = Math.max(
    0,
    rows.findIndex(({ node }) => node.id === selected),
  );
  useEffect(() => {
    if (selected !== null && rows[at]?.node.id === selected) visible.show(at);
  }, [selected]);
  const onKey = (event: KeyboardEvent): void => {
    if (event.target !== grid.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    if (!row) return;
    const next = moveIndex(event.key, at, rows.length, visible.perPage);
    const { id, children } = row.node;
    if (next !== null) onSelect(rows[next]?.node.id ?? id);
    else if (event.key === "ArrowRight" && children.length > 0 && !open.has(id)) onOpen(id, true);
    else if (event.key === "ArrowRight" && children.length > 0) onSelect(rows[at + 1]?.node.id ?? id);
    else if (event.key === "ArrowLeft" && open.has(id)) onOpen(id, false);
    else if (event.key === "ArrowLeft" && id.includes("\n")) onSelect(id.slice(0, id.lastIndexOf("\n")));
    else if (event.key === "Enter" || event.key === " ") onOpen(id, !open.has(id));
    else return;
    event.preventDefault();
  };
  const formats = formatsOf(rows);
  const widths = measures.map((one) => (withBase && one === measure ? "142px 100px 112px" : "124px"));
  const columns = `minmax(200px, 1fr) ${widths.join(" ")} 70px`;
  return (
    <div
      ref={grid}
      class="src-grid"
      role="treegrid"
      tabIndex={0}
      aria-label="Source lines"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={rows.length > 0 ? `src-${String(at)}` : undefined}
      onKeyDown={onKey}
    >
      <div class="src-row src-heads" role="row" style={{ gridTemplateColumns: columns }}>
        <Head name="Source" help="Files, functions, lines and ops; buffers of the program below their line." />
        {measures.flatMap((one) => [
          <Head
            key={one}
            name={`${LABELS[one]}${perStep && one !== "peak" ? "/step" : ""}`}
            help={HELP[one]}
            number
            sorted={one === measure}
          />,
          ...(withBase && one === measure ? BASE_HEADS.map(({ name, help }) => <Head key={name} name={name} help={help} number />) : []),
        ])}
        <Head name="Runs" help="Runs of the ops on all devices." number />
      </div>
      <div style={{ height: `${String(visible.total)}px`, position: "relative" }} role="rowgroup">
        {rows.slice(visible.first, visible.end).map((row, i) => (
          <Line
            key={row.node.id}
            row={row}
            index={visible.first + i}
            root={root}
            columns={columns}
            formats={formats}
            props={props}
            isOpen={open.has(row.node.id)}
            isSelected={row.node.id === selected}
          />
        ))}
      </div>
    </div>
  );
}

function Head({ name, help, number = false, sorted = false }: { name: string; help: string; number?: boolean; sorted?: boolean }) {
  return (
    <span class={number ? "number" : ""} role="columnheader" aria-sort={sorted ? "descending" : undefined}>
      {name}
      {sorted ? " ▾" : ""} <Info label={name} text={help} focusable={false} />
    </span>
  );
}

interface LineProps {
  row: Row;
  index: number;
  root: Node;
  columns: string;
  formats: Formats;
  props: Props;
  isOpen: boolean;
  isSelected: boolean;
}

function Line({ row: { node, depth, place, siblings }, index, root, columns, formats, props, isOpen, isSelected }: LineProps) {
  const { measures, measure, withBase, onOpen, onSelect } = props;
  const opens = node.children.length > 0;
  return (
    <div
      id={`src-${String(index)}`}
      class={`src-row src-line ${node.kind}${isSelected ? " selected" : ""}`}
      role="row"
      aria-level={depth + 1}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-selected={isSelected}
      aria-expanded={opens ? isOpen : undefined}
      style={{ gridTemplateColumns: columns, transform: `translateY(${String(index * 20)}px)` }}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest(".src-arrow") && opens) onOpen(node.id, !isOpen);
        else onSelect(node.id);
      }}
      onDblClick={() => opens && onOpen(node.id, !isOpen)}
    >
      <span class="src-name" role="gridcell" style={{ paddingLeft: `${String(depth * 16 + 4)}px` }} data-tip={node.label}>
        <i class="src-arrow" aria-hidden="true">
          {opens ? (isOpen ? "▾" : "▸") : ""}
        </i>
        <LongName name={node.kind === "file" ? shortPath(node.label) : node.label} />
        {node.kind === "buffer" ? <em class="dim">buffer</em> : null}
      </span>
      {measures.flatMap((one) => [
        <Heat key={one} value={node.sums[one]} total={root.sums[one]} unit={UNITS[one]} text={formats[one]} why={NONE[one]} />,
        ...(withBase && one === measure ? [<BaseCells key="base" node={node} measure={measure} text={formats[measure]} />] : []),
      ])}
      <span class="number" role="gridcell" data-tip={node.sums.runs > 0 ? formatExact(node.sums.runs) : "No runs."}>
        {node.sums.runs > 0 ? formatCount(node.sums.runs) : MISSING}
      </span>
    </div>
  );
}

/** The last two parts of a path. */
export function shortPath(file: string): string {
  const parts = file.split(/[\\/]/);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : file;
}

interface HeatProps {
  value: number;
  total: number;
  unit: string;
  text: NumberFormat;
  why: string;
}

/** A number over a bar of its share. */
function Heat({ value, total, unit, text, why }: HeatProps) {
  const share = total > 0 ? value / total : 0;
  return (
    <span
      class="number src-heat"
      role="gridcell"
      data-tip={value > 0 ? `${formatExact(value, unit)}\n${formatPercent(share * 100)} of all` : why}
    >
      {value > 0 ? <i aria-hidden="true" style={{ width: `${String(Math.min(1, share) * 100)}%` }} /> : null}
      <b>{value > 0 ? text(value) : MISSING}</b>
    </span>
  );
}

function BaseCells({ node, measure, text }: { node: Node; measure: Measure; text: NumberFormat }) {
  const [old, delta] = [node.base?.[measure] ?? 0, difference(node, measure)];
  return (
    <>
      <span class="number" role="gridcell" data-tip={old > 0 ? formatExact(old, UNITS[measure]) : "The base has none of it."}>
        {old > 0 ? text(old) : MISSING}
      </span>
      <span class="number" role="gridcell" data-tip={delta === null ? "Neither side has any." : formatExact(delta, UNITS[measure])}>
        {delta === null ? MISSING : `${delta > 0 ? "+" : ""}${text(delta)}`}
      </span>
    </>
  );
}
