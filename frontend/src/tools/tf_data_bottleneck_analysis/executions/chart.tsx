// Executions of the selected run on a time axis, one row per iterator; links to the trace viewer.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { formatCount, formatTime, plural } from "../../../base/format";
import { TimeScale } from "../../../base/time_scale";
import type { Tip } from "../../../base/chart/chart_spec";
import { tipText } from "../../../base/chart/chart_text";
import { TipBox } from "../../../widgets/chart/tip";
import { useWidth } from "../../../widgets/content/use_width";
import { sinceBegin } from "../model";
import { useViewport } from "../../../widgets/graph/viewport";
import { DRAG_PX, useStripInput } from "./chart_input";
import type { Point } from "./chart_input";
import { AXIS_PX, Axis, Bars, Names, levelsOf, rowTop } from "./chart_parts";
import { ROW_PX, executionRows, wholeWindow } from "./rows";
import type { ExecutionRow, Window } from "./rows";
import type { Drawn } from "../graph/tree";
import type { DataPipelineRun as Run } from "../../../base/documents";

/** Approximate height of the tooltip. */
const TIP_PX = 150;

interface Props {
  run: Run;
  drawn: readonly Drawn[];
  selected: number;
  onSelect: (at: number) => void;
  /** The visible time range; null for all. */
  zoom: Window | null;
  onZoom: (zoom: Window | null) => void;
  onOpenTrace: (window: Window) => void;
}

export function ExecutionsChart(props: Props) {
  const { run, drawn, selected, zoom } = props;
  const box = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const viewport = useViewport(scroller, 1);
  const width = useWidth(box);
  const gutter = Math.min(220, Math.max(110, Math.round(width * 0.22)));
  const whole = useMemo(() => wholeWindow(run), [run]);
  const [begin, end] = zoom ?? whole;
  const scale = useMemo(() => new TimeScale(begin, end, Math.max(50, width - gutter - 12)), [begin, end, width, gutter]);
  const rows = useMemo(() => rowsOf(run, drawn), [run, drawn]);
  const levels = useMemo(() => levelsOf(drawn), [drawn]);
  const bars = useMemo(
    () => <Bars rows={rows} run={run} drawn={drawn} scale={scale} viewport={viewport} gutter={gutter} />,
    [rows, scale, viewport],
  );
  const { point, held, handlers, onKey } = useStripInput({ ...props, rows, scale, whole, gutter, box });
  useEffect(() => showRow(scroller.current, selected), [selected]);
  const tip = point ? tipOf(run, drawn, point) : null;
  const height = rowTop(rows.length);
  const left = (time: number): number => gutter + scale.toPx(time);
  const marked = held && Math.abs(held.to - held.from) >= DRAG_PX ? held : null;
  return (
    <div
      ref={scroller}
      class="tfd-executions-scroll"
      tabIndex={0}
      role="group"
      onKeyDown={onKey}
      aria-label={
        `Executions of each iterator in run ${run.rank} of ${run.pipeline}: ${plural(run.executions, "execution")}. The ` +
        "up and down arrow keys select an iterator, left and right an execution, plus and minus zoom, Enter opens the trace viewer."
      }
    >
      <div ref={box} class="tfd-executions" style={{ height: `${height}px` }} {...handlers}>
        {width > 0 ? (
          <svg class="tfd-executions-svg" width={width} height={height} aria-hidden="true">
            <clipPath id="tfd-executions-clip">
              <rect x={gutter} y="0" width={scale.width} height={height} />
            </clipPath>
            <Names drawn={drawn} levels={levels} selected={selected} viewport={viewport} gutter={gutter} width={width} />
            <g clip-path="url(#tfd-executions-clip)">
              <rect
                class="tfd-run"
                x={left(run.begin_ps)}
                y={AXIS_PX}
                width={Math.max(1, left(run.begin_ps + run.duration_ps) - left(run.begin_ps))}
                height={height - AXIS_PX}
              />
              <Axis scale={scale} run={run} gutter={gutter} height={height} />
              {bars}
            </g>
            {marked ? (
              <rect
                class="tfd-drag"
                x={gutter + Math.min(marked.from, marked.to)}
                width={Math.abs(marked.to - marked.from)}
                y={AXIS_PX}
                height={height - AXIS_PX}
              />
            ) : null}
          </svg>
        ) : null}
        {tip && point && !held ? (
          <TipBox
            tip={tip}
            x={Math.max(gutter, left(run.spans.begin_ps[point.span] ?? 0))}
            y={tipTop(point.row, rows.length)}
            width={width}
            height={height}
            hint="Double click or Enter: open in the trace viewer."
          />
        ) : null}
      </div>
      <p class="off-screen" aria-live="polite">
        {tip ? tipText(tip) : ""}
      </p>
    </div>
  );
}

/** Scrolls by the least that makes a row visible. */
function showRow(scroller: HTMLElement | null, row: number): void {
  if (!scroller || row < 0) return;
  const [top, bottom] = [rowTop(row) - AXIS_PX, rowTop(row + 1)];
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
}

/** Top of the tooltip: below the row, or above it in the lower half, where it would not fit. */
function tipTop(row: number, rows: number): number {
  const below = AXIS_PX + (row + 1) * ROW_PX + 2;
  return row * ROW_PX > TIP_PX && row > rows / 2 ? AXIS_PX + row * ROW_PX - TIP_PX : below;
}

function rowsOf(run: Run, drawn: readonly Drawn[]): ExecutionRow[] {
  const owner = new Array<number>(run.iterators.length).fill(-1);
  drawn.forEach(({ nodes }, row) => {
    for (const node of nodes) owner[node] = row;
  });
  return executionRows(run.spans, owner, drawn.length);
}

function tipOf(run: Run, drawn: readonly Drawn[], { row, span }: Point): Tip | null {
  const { spans } = run;
  const node = drawn[row];
  const from = spans.begin_ps[span];
  if (!node || from === undefined) return null;
  const count = spans.count[span] ?? 1;
  const thread = run.threads[spans.thread[span] ?? -1];
  const lines: [string, string][] = [
    ...(count > 1 ? [["Executions", `${formatCount(count)}, merged`] as [string, string]] : []),
    ["Start", sinceBegin(from, run)],
    ["Duration", formatTime(spans.duration_ps[span])],
    ["Consumer waited", spans.blocking[span] ? "yes" : "no"],
    ["Thread", thread ? thread.name || `thread ${thread.tid}` : "-"],
  ];
  return {
    title: run.iterators[spans.iterator[span] ?? -1]?.name ?? node.name,
    lines: lines.map(([name, text]) => ({ name, text, colour: null })),
  };
}
