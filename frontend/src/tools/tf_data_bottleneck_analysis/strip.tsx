// The chosen run on a time axis: a row per iterator shows when it ran; the same window opens in the trace viewer.
import { useMemo, useRef, useState } from "preact/hooks";
import { cutMiddle, formatCount, formatTime, plural } from "../../base/format";
import { keyName } from "../../base/keys";
import { TimeScale } from "../../base/time_scale";
import { ticks } from "../../timeline/ticks";
import { useWidth } from "../../widgets/plot/plot";
import { Tip } from "../../widgets/plot/tip";
import type { TipText } from "../../widgets/plot/tip";
import { ROLES, sinceBegin } from "./model";
import { ROW_PX, barsPath, extent, spanAt, stripRows } from "./strip_rows";
import type { StripRow } from "./strip_rows";
import type { Drawn } from "./tree";
import type { Run } from "./types";
import "../../widgets/plot/plot.css";

const AXIS_PX = 24;
const TICK_PX = 100;
const DRAG_PX = 5;
const STEP = 1.5;
/** Room beside what ran, as a share of it, so that its ends are seen. */
const ROOM = 0.02;
const LEAST_PS = 1000;

export type Window = readonly [number, number];

interface Props {
  run: Run;
  drawn: readonly Drawn[];
  selected: number;
  onSelect: (at: number) => void;
  /** The part that is shown; null: all of it. */
  zoom: Window | null;
  onZoom: (zoom: Window | null) => void;
  onOpenTrace: (window: Window) => void;
}

/** All of the run with some room. */
export function wholeWindow(run: Run): Window {
  const { begin, end } = extent(run);
  const room = Math.max(LEAST_PS, (end - begin) * ROOM);
  return [Math.max(0, begin - room), end + room];
}

export function Strip(props: Props) {
  const { run, drawn, selected, zoom, onZoom, onSelect, onOpenTrace } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const gutter = Math.min(220, Math.max(110, Math.round(width * 0.22)));
  const whole = useMemo(() => wholeWindow(run), [run]);
  const [begin, end] = zoom ?? whole;
  const scale = useMemo(() => new TimeScale(begin, end, Math.max(50, width - gutter - 12)), [begin, end, width, gutter]);
  const rows = useMemo(() => rowsOf(run, drawn), [run, drawn]);
  const [point, setPoint] = useState<{ row: number; span: number } | null>(null);
  const [held, setHeld] = useState<{ from: number; to: number } | null>(null);

  const set = (next: TimeScale): void => {
    const kept = next.clamp(whole[0], whole[1], LEAST_PS);
    onZoom(kept.span >= whole[1] - whole[0] ? null : [kept.begin, kept.end]);
  };
  const place = (event: MouseEvent): { px: number; row: number; span: number } => {
    const edge = box.current?.getBoundingClientRect();
    const px = Math.max(0, Math.min(scale.width, event.clientX - (edge?.left ?? 0) - gutter));
    const y = event.clientY - (edge?.top ?? 0) - AXIS_PX;
    const row = Math.floor(y / ROW_PX);
    const found = rows[row];
    const lane = found ? Math.min(found.laneCount - 1, Math.max(0, Math.floor(((y - row * ROW_PX - 2) / (ROW_PX - 4)) * found.laneCount))) : 0;
    return { px, row, span: found ? spanAt(found, run.spans, scale.toTime(px), lane, 3 * scale.psPerPx) : -1 };
  };
  const move = (event: PointerEvent): void => {
    const { px, row, span } = place(event);
    if (held) setHeld({ from: held.from, to: px });
    setPoint(span >= 0 ? { row, span } : null);
  };
  const up = (event: PointerEvent): void => {
    if (!held) return;
    const { px, row } = place(event);
    setHeld(null);
    if (Math.abs(px - held.from) >= DRAG_PX) set(new TimeScale(scale.toTime(Math.min(px, held.from)), scale.toTime(Math.max(px, held.from)), scale.width));
    else if (drawn[row]) onSelect(row);
  };
  const spanWindow = (span: number): Window => {
    const [from, long] = [run.spans.beginPs[span] ?? 0, run.spans.durationPs[span] ?? 0];
    return [Math.max(0, from - long * 0.1 - LEAST_PS), from + long * 1.1 + LEAST_PS];
  };
  /** Steps along the executions of a row. */
  const along = (by: number): void => {
    const row = Math.max(0, selected);
    const spans = rows[row]?.spans ?? [];
    const at = point?.row === row ? spans.indexOf(point.span) + by : by > 0 ? 0 : spans.length - 1;
    const span = spans[Math.max(0, Math.min(spans.length - 1, at))];
    if (span === undefined) return;
    setPoint({ row, span });
    const from = run.spans.beginPs[span] ?? 0;
    if (from < scale.begin || from > scale.end) set(scale.pan(scale.toPx(from) - scale.width / 2));
  };
  const onKey = (event: KeyboardEvent): void => {
    const middle = point ? scale.toPx(run.spans.beginPs[point.span] ?? 0) : scale.width / 2;
    const actions: Record<string, () => void> = {
      ArrowDown: () => onSelect(Math.min(drawn.length - 1, selected + 1)), ArrowUp: () => onSelect(Math.max(0, selected - 1)),
      ArrowRight: () => along(1), ArrowLeft: () => along(-1),
      "Shift+ArrowRight": () => set(scale.pan(scale.width / 5)), "Shift+ArrowLeft": () => set(scale.pan(-scale.width / 5)),
      "+": () => set(scale.zoom(1 / STEP, middle)), "=": () => set(scale.zoom(1 / STEP, middle)), "-": () => set(scale.zoom(STEP, middle)),
      "0": () => onZoom(null), Escape: () => { onZoom(null); setPoint(null); },
      Enter: () => onOpenTrace(point ? spanWindow(point.span) : [begin, end]),
    };
    const act = actions[keyName(event)];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const said = point ? tipOf(run, drawn, point) : null;
  const height = AXIS_PX + rows.length * ROW_PX;
  const left = (time: number): number => gutter + scale.toPx(time);
  return (
    <div class="tfd-strip-scroll" tabIndex={0} role="group" onKeyDown={onKey}
      aria-label={`When each iterator ran in run ${run.rank} of ${run.pipeline}: ${plural(run.executions, "execution")}. Up and down choose an iterator, left and right its executions, plus and minus zoom, Enter opens the trace viewer.`}
    >
      <div
        ref={box} class="tfd-strip plot" onPointerMove={move} onPointerUp={up} onPointerLeave={() => { setPoint(null); setHeld(null); }}
        onPointerDown={(event) => { if (event.button === 0) { const { px } = place(event); setHeld({ from: px, to: px }); } }}
        onDblClick={(event) => { const { span } = place(event); if (span >= 0) onOpenTrace(spanWindow(span)); }}
        onWheel={(event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); set(scale.zoom(event.deltaY < 0 ? 1 / STEP : STEP, place(event).px)); } }}
        style={{ height: `${height}px` }}
      >
        {width > 0 ? (
          <svg class="plot-svg" width={width} height={height} aria-hidden="true">
            <clipPath id="tfd-strip-clip"><rect x={gutter} y="0" width={scale.width} height={height} /></clipPath>
            <Names drawn={drawn} selected={selected} gutter={gutter} width={width} />
            <g clip-path="url(#tfd-strip-clip)">
              <rect class="tfd-run" x={left(run.beginPs)} y={AXIS_PX} width={Math.max(1, scale.toPx(run.beginPs + run.durationPs) - scale.toPx(run.beginPs))} height={height - AXIS_PX} />
              <Axis scale={scale} run={run} gutter={gutter} height={height} />
              <Bars rows={rows} run={run} drawn={drawn} scale={scale} gutter={gutter} />
            </g>
            {held && Math.abs(held.to - held.from) >= DRAG_PX ? <rect class="plot-drag" x={gutter + Math.min(held.from, held.to)} width={Math.abs(held.to - held.from)} y={AXIS_PX} height={height - AXIS_PX} /> : null}
          </svg>
        ) : null}
        {said && point && !held ? <Tip text={said} at={Math.max(gutter, left(run.spans.beginPs[point.span] ?? 0))} width={width} top={AXIS_PX + (point.row + 1) * ROW_PX + 2} /> : null}
      </div>
      <p class="off-screen" aria-live="polite">{said ? `${said.title}: ${said.lines.map(([name, value]) => `${name} ${value}`).join(", ")}` : ""}</p>
    </div>
  );
}

function rowsOf(run: Run, drawn: readonly Drawn[]): StripRow[] {
  const owner = new Array<number>(run.nodes.length).fill(-1);
  drawn.forEach(({ nodes }, row) => { for (const node of nodes) owner[node] = row; });
  return stripRows(run.spans, owner, drawn.length);
}

function tipOf(run: Run, drawn: readonly Drawn[], { row, span }: { row: number; span: number }): TipText | null {
  const { spans } = run;
  const node = drawn[row];
  const from = spans.beginPs[span];
  if (!node || from === undefined) return null;
  const count = spans.count[span] ?? 1;
  const thread = run.threads[spans.thread[span] ?? -1];
  return {
    title: run.nodes[spans.node[span] ?? -1]?.name ?? node.name,
    lines: [
      ...(count > 1 ? [["Executions", `${formatCount(count)}, drawn as one`] as const] : []),
      ["Start", sinceBegin(from, run)], ["Duration", formatTime(spans.durationPs[span])],
      ["Waited for", spans.blocking[span] ? "yes" : "no"], ["Thread", thread ? thread.name || `thread ${thread.tid}` : "-"],
    ],
    hint: "Double click or Enter: open in the trace viewer.",
  };
}

const DEEPEST = 8;

function Names({ drawn, selected, gutter, width }: { drawn: readonly Drawn[]; selected: number; gutter: number; width: number }) {
  const depth = new Map<string, number>();
  return (
    <g>
      {drawn.map((node, i) => {
        const level = node.parent === "" ? 0 : (depth.get(node.parent) ?? -1) + 1;
        depth.set(node.id, level);
        const x = 6 + Math.min(DEEPEST, level) * 7;
        return (
          <g key={node.id} class={`tfd-row${i === selected ? " selected" : ""}${node.role === 2 ? " bottleneck" : node.role === 1 ? " critical" : ""}`}>
            <rect class="tfd-row-back" x="0" y={AXIS_PX + i * ROW_PX} width={width} height={ROW_PX} />
            <text x={x} y={AXIS_PX + i * ROW_PX + 13}>{ROLES[node.role].mark.charAt(0)} {cutMiddle(node.name, Math.max(6, Math.floor((gutter - x - 20) / 7)))}</text>
          </g>
        );
      })}
    </g>
  );
}

function Axis({ scale, run, gutter, height }: { scale: TimeScale; run: Run; gutter: number; height: number }) {
  const { times, labels } = ticks(scale, run.beginPs, TICK_PX);
  return (
    <g class="plot-axes">
      {times.map((at, i) => {
        const px = gutter + scale.toPx(at);
        const room = px + 7 * (labels[i] ?? "").length < gutter + scale.width;
        return [<line key={at} class="plot-grid" x1={px} x2={px} y1={AXIS_PX - 4} y2={height} />, <text key={`${at} text`} x={room ? px + 3 : px - 3} y={14} text-anchor={room ? "start" : "end"}>{labels[i]}</text>];
      })}
      <line class="plot-base" x1={gutter} x2={gutter + scale.width} y1={AXIS_PX} y2={AXIS_PX} />
    </g>
  );
}

const BARS = ["tfd-bar", "tfd-bar critical", "tfd-bar critical bottleneck"] as const;

function Bars({ rows, run, drawn, scale, gutter }: { rows: readonly StripRow[]; run: Run; drawn: readonly Drawn[]; scale: TimeScale; gutter: number }) {
  return (
    <g transform={`translate(${gutter} 0)`}>
      {rows.map((row, i) => {
        const top = AXIS_PX + i * ROW_PX;
        return [0, 1].map((blocking) => {
          const path = barsPath(row, run.spans, scale, top, (span) => (run.spans.blocking[span] ?? 0) === blocking);
          return path ? <path key={`${i} ${blocking}`} class={blocking ? BARS[drawn[i]?.role ?? 1] : BARS[0]} d={path} /> : null;
        });
      })}
    </g>
  );
}
