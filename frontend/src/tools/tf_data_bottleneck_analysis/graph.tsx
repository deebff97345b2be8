// The pipeline as a tree: the root on top, what feeds it below; zoom and pan by mouse and keys, a click chooses an iterator.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cutMiddle } from "../../base/format";
import { keyName } from "../../base/keys";
import { standalone } from "../../widgets/standalone";
import { download } from "../../widgets/table/csv";
import { drag, zoomAt } from "./canvas";
import type { Anchor } from "./canvas";
import { NODE_HEIGHT, NODE_WIDTH, edgePath, layOut } from "./layout";
import type { Layout } from "./layout";
import { ROLES, nodeLines, nodeWords } from "./model";
import { neighbour } from "./moves";
import type { Drawn } from "./tree";
import type { Run } from "./types";

const CHARS = 25;
const [SMALLEST, LARGEST] = [0.05, 3];
/** A picture starts as a whole if its texts stay readable. */
const READABLE = 0.85;
const STEP = 1.25;
const PAN_PX = 60;

const clamp = (scale: number): number => Math.min(LARGEST, Math.max(SMALLEST, scale));

interface Props {
  run: Run;
  drawn: readonly Drawn[];
  /** Index into `drawn`, -1 for none. */
  selected: number;
  label: string;
  fileName: string;
  onSelect: (at: number) => void;
  /** Opens a folding of siblings. */
  onUnfold: (id: string) => void;
}

export function Graph({ run, drawn, selected, label, fileName, onSelect, onUnfold }: Props) {
  const layout = useMemo(() => layOut(drawn), [drawn]);
  const [scale, setScale] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const anchor = useRef<Anchor | null>(null);
  const fit = (least: number): void => {
    const element = box.current;
    if (element?.clientWidth) setScale(clamp(Math.max(least, Math.min(1, (element.clientWidth - 4) / layout.width, (element.clientHeight - 4) / layout.height))));
  };
  const zoom = (factor: number, point?: { clientX: number; clientY: number }): void => {
    const next = clamp(scale * factor);
    if (!box.current || next === scale) return;
    anchor.current = zoomAt(box.current, scale, point);
    setScale(next);
  };
  const choose = (at: number): void => {
    const node = drawn[at];
    if (node?.folded) onUnfold(node.id);
    else if (node) onSelect(at);
  };
  useLayoutEffect(() => fit(READABLE), [run]);
  useLayoutEffect(() => {
    anchor.current?.(scale);
    anchor.current = null;
  }, [scale]);
  // The bottleneck comes into sight by itself; later whatever the keys lead to.
  const centre = selected >= 0 ? selected : drawn.findIndex(({ role }) => role === 2);
  useLayoutEffect(() => show(box.current, layout, centre, scale), [layout, centre]);
  const onKey = (event: KeyboardEvent): void => {
    const key = keyName(event);
    const side = /^Shift\+Arrow(Up|Down|Left|Right)$/.exec(key)?.[1];
    const to = neighbour(key, selected, drawn, layout);
    if (to !== null) onSelect(to);
    else if (side !== undefined) box.current?.scrollBy({ left: PAN_PX * (side === "Left" ? -1 : side === "Right" ? 1 : 0), top: PAN_PX * (side === "Up" ? -1 : side === "Down" ? 1 : 0) });
    else if (key === "+" || key === "=") zoom(STEP);
    else if (key === "-") zoom(1 / STEP);
    else if (key === "0") fit(SMALLEST);
    else if (key === "Enter" && selected >= 0) choose(selected);
    else if (key === "Escape" && selected >= 0) onSelect(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const picture = useMemo(() => <Picture run={run} drawn={drawn} layout={layout} selected={selected} onChoose={choose} />, [run, drawn, layout, selected]);
  return (
    <div class="tfd-graph">
      <div class="tfd-graph-tools">
        <span class="dim tfd-hint">Drag to move, Ctrl + wheel to zoom. Keys: arrows, + −, 0 fits, B bottleneck.</span>
        <button type="button" class="button ghost icon" aria-label="Smaller" disabled={scale <= SMALLEST} onClick={() => zoom(1 / STEP)}>−</button>
        <span class="dim number">{Math.round(scale * 100)}%</span>
        <button type="button" class="button ghost icon" aria-label="Larger" disabled={scale >= LARGEST} onClick={() => zoom(STEP)}>+</button>
        <button type="button" class="button ghost" onClick={() => fit(SMALLEST)}>Fit</button>
        <button type="button" class="button ghost" data-tip="Save the picture as SVG" onClick={() => { if (svg.current) download(`${fileName}.svg`, standalone(svg.current), "image/svg+xml"); }}>SVG</button>
      </div>
      <div
        ref={box} class="tfd-graph-box" tabIndex={0} role="tree" aria-label={label} aria-activedescendant={selected >= 0 ? nodeId(selected) : undefined}
        onKeyDown={onKey} onPointerDown={(event) => drag(box.current, event)}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? STEP : 1 / STEP, event);
        }}
      >
        <svg ref={svg} class="tfd-svg" role="none" width={layout.width * scale} height={layout.height * scale} viewBox={`0 0 ${layout.width} ${layout.height}`}>{picture}</svg>
      </div>
    </div>
  );
}

const nodeId = (at: number): string => `tfd-node-${at}`;

/** Scrolls a node into sight; one that is in sight stays where it is. */
function show(box: HTMLElement | null, layout: Layout, at: number, scale: number): void {
  const place = layout.places[at];
  if (!box || !place) return;
  const [left, top, right, bottom] = [place.x * scale, place.y * scale, (place.x + NODE_WIDTH) * scale, (place.y + NODE_HEIGHT) * scale];
  if (left < box.scrollLeft || right > box.scrollLeft + box.clientWidth) box.scrollLeft = (left + right - box.clientWidth) / 2;
  if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = (top + bottom - box.clientHeight) / 2;
}

interface PictureProps {
  run: Run;
  drawn: readonly Drawn[];
  layout: Layout;
  selected: number;
  onChoose: (at: number) => void;
}

function Picture({ run, drawn, layout, selected, onChoose }: PictureProps) {
  const most = drawn.reduce((all, { selfPs }) => Math.max(all, selfPs), 1);
  return (
    <>
      <defs>
        <marker id="tfd-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8Z" class="tfd-head" /></marker>
      </defs>
      {layout.edges.map(({ from, to }) => {
        const [child, parent] = [layout.places[from], layout.places[to]];
        return child && parent ? <path key={from} class={drawn[from]?.role ? "tfd-edge critical" : "tfd-edge"} d={edgePath(child, parent)} marker-end="url(#tfd-arrow)" /> : null;
      })}
      {layout.order.map((at) => {
        const [node, place] = [drawn[at], layout.places[at]];
        return node && place ? <Node key={node.id} at={at} node={node} run={run} x={place.x} y={place.y} level={place.depth + 1} most={most} selected={at === selected} onChoose={onChoose} /> : null;
      })}
    </>
  );
}

interface NodeProps {
  at: number;
  node: Drawn;
  run: Run;
  x: number;
  y: number;
  level: number;
  /** Largest own time of all nodes. */
  most: number;
  selected: boolean;
  onChoose: (at: number) => void;
}

const CLASSES = ["", " critical", " critical bottleneck"] as const;

function Node({ at, node, run, x, y, level, most, selected, onChoose }: NodeProps) {
  const inner = NODE_WIDTH - 20;
  return (
    <g
      id={nodeId(at)} class={`tfd-node${CLASSES[node.role]}${selected ? " selected" : ""}${node.folded ? " folded" : ""}`} transform={`translate(${x} ${y})`}
      role="treeitem" aria-level={level} aria-selected={selected} aria-label={node.folded ? `${nodeWords(node, run)} Press Enter to show them.` : nodeWords(node, run)}
      data-tip={node.folded ? `${node.name} beside the ones shown.\nClick to show all.` : node.longName} onClick={() => onChoose(at)}
    >
      {node.folded ? <rect class="tfd-behind" x="6" y="6" width={NODE_WIDTH} height={NODE_HEIGHT} rx="5" /> : null}
      <rect class="tfd-frame" width={NODE_WIDTH} height={NODE_HEIGHT} rx="5" />
      <rect class="tfd-self" x="10" y="68" width={Math.max(0, (inner * node.selfPs) / most)} height="16" />
      <text class="tfd-name" x="10" y="19">{cutMiddle(node.name, CHARS)}</text>
      <text class="tfd-role" x="10" y="35">{ROLES[node.role].mark}</text>
      {nodeLines(node, run).map(([name, value], i) => [
        <text key={name} class="tfd-key" x="10" y={52 + i * 16}>{name}</text>,
        <text key={`${name} value`} class="tfd-value" x={NODE_WIDTH - 10} y={52 + i * 16} text-anchor="end">{value}</text>,
      ])}
    </g>
  );
}
