// The parts of the executions chart: names, time axis, and a row of bars per visible iterator.
import { cutMiddle } from "../../../base/format";
import type { TimeScale } from "../../../base/time_scale";
import { ticks } from "../../../timeline/data/ticks";
import { ROLES } from "../model";
import type { Viewport } from "../../../widgets/graph/viewport";
import { ROW_PX, barsPath } from "./rows";
import type { ExecutionRow } from "./rows";
import type { Drawn } from "../graph/tree";
import type { DataPipelineRun as Run } from "../../../base/documents";

export const AXIS_PX = 24;
const TICK_PX = 100;
const DEEPEST = 8;

/** Indentation of each row. */
export function levelsOf(drawn: readonly Drawn[]): number[] {
  const depth = new Map<string, number>();
  return drawn.map((node) => {
    const level = node.parent === "" ? 0 : (depth.get(node.parent) ?? -1) + 1;
    depth.set(node.id, level);
    return Math.min(DEEPEST, level);
  });
}

export const rowTop = (row: number): number => AXIS_PX + row * ROW_PX;
const rowInView = (row: number, viewport: Viewport): boolean => rowTop(row + 1) > viewport.top && rowTop(row) < viewport.bottom;

interface NamesProps {
  drawn: readonly Drawn[];
  levels: readonly number[];
  selected: number;
  viewport: Viewport;
  gutter: number;
  width: number;
}

export function Names({ drawn, levels, selected, viewport, gutter, width }: NamesProps) {
  return (
    <g>
      {drawn.map((node, i) => {
        if (!rowInView(i, viewport)) return null;
        const x = 6 + (levels[i] ?? 0) * 7;
        return (
          <g
            key={node.id}
            class={`tfd-row${i === selected ? " selected" : ""}${node.role === 2 ? " bottleneck" : node.role === 1 ? " critical" : ""}`}
          >
            <rect class="tfd-row-back" x="0" y={rowTop(i)} width={width} height={ROW_PX} />
            <text x={x} y={rowTop(i) + 13}>
              {ROLES[node.role].mark.charAt(0)} {cutMiddle(node.name, Math.max(6, Math.floor((gutter - x - 20) / 7)))}
            </text>
          </g>
        );
      })}
    </g>
  );
}

export function Axis({ scale, run, gutter, height }: { scale: TimeScale; run: Run; gutter: number; height: number }) {
  const { times, labels } = ticks(scale, run.begin_ps, TICK_PX);
  return (
    <g class="tfd-axes">
      {times.map((at, i) => {
        const px = gutter + scale.toPx(at);
        const room = px + 7 * (labels[i] ?? "").length < gutter + scale.width;
        return [
          <line key={at} class="tfd-grid" x1={px} x2={px} y1={AXIS_PX - 4} y2={height} />,
          <text key={`${at} text`} x={room ? px + 3 : px - 3} y={14} text-anchor={room ? "start" : "end"}>
            {labels[i]}
          </text>,
        ];
      })}
      <line class="tfd-base" x1={gutter} x2={gutter + scale.width} y1={AXIS_PX} y2={AXIS_PX} />
    </g>
  );
}

const BARS = ["tfd-bar", "tfd-bar critical", "tfd-bar critical bottleneck"] as const;

interface BarsProps {
  rows: readonly ExecutionRow[];
  run: Run;
  drawn: readonly Drawn[];
  scale: TimeScale;
  viewport: Viewport;
  gutter: number;
}

export function Bars({ rows, run, drawn, scale, viewport, gutter }: BarsProps) {
  return (
    <g transform={`translate(${gutter} 0)`}>
      {rows.map((row, i) =>
        rowInView(i, viewport)
          ? [false, true].map((blocking) => {
              const path = barsPath(row, run.spans, scale, rowTop(i), (span) => run.spans.blocking[span] === blocking);
              return path ? <path key={`${i} ${blocking}`} class={blocking ? BARS[drawn[i]?.role ?? 1] : BARS[0]} d={path} /> : null;
            })
          : null,
      )}
    </g>
  );
}
