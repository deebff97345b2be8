// Mouse and keys of the executions chart: pan, zoom, tooltips, opening the trace viewer.
import { useState } from "preact/hooks";
import { keyName } from "../../../base/keys";
import { TimeScale } from "../../../base/time_scale";
import { AXIS_PX } from "./chart_parts";
import { ROW_PX, spanAt } from "./rows";
import type { ExecutionRow, Window } from "./rows";
import type { DataPipelineRun as Run } from "../../../base/documents";

export const DRAG_PX = 5;
const STEP = 1.5;
const MIN_PS = 1000;
/** Hit tolerance beside a bar. */
const SLACK_PX = 3;

/** An execution that is hovered over or selected by keys. */
export interface Point {
  row: number;
  span: number;
}

interface Options {
  run: Run;
  rows: readonly ExecutionRow[];
  scale: TimeScale;
  whole: Window;
  gutter: number;
  selected: number;
  box: { readonly current: HTMLElement | null };
  onSelect: (row: number) => void;
  onZoom: (zoom: Window | null) => void;
  onOpenTrace: (window: Window) => void;
}

interface ChartInput {
  point: Point | null;
  /** Ends of the range that is being marked, in pixels of the scale. */
  held: { from: number; to: number } | null;
  handlers: {
    onPointerMove: (event: PointerEvent) => void;
    onPointerDown: (event: PointerEvent) => void;
    onPointerUp: (event: PointerEvent) => void;
    onPointerLeave: () => void;
    onDblClick: (event: MouseEvent) => void;
    onWheel: (event: WheelEvent) => void;
  };
  onKey: (event: KeyboardEvent) => void;
}

/** The position under the pointer: pixel of the scale, row, execution (-1 for none). */
function under(event: MouseEvent, { run, rows, scale, gutter, box }: Options): Point & { px: number } {
  const edge = box.current?.getBoundingClientRect();
  const px = Math.max(0, Math.min(scale.width, event.clientX - (edge?.left ?? 0) - gutter));
  const y = event.clientY - (edge?.top ?? 0) - AXIS_PX;
  const row = Math.floor(y / ROW_PX);
  const executionRow = rows[row];
  if (!executionRow) return { px, row, span: -1 };
  const lane = Math.floor(((y - row * ROW_PX - 2) / (ROW_PX - 4)) * executionRow.laneCount);
  return {
    px,
    row,
    span: spanAt(
      executionRow,
      run.spans,
      scale.toTime(px),
      Math.min(executionRow.laneCount - 1, Math.max(0, lane)),
      SLACK_PX * scale.psPerPx,
    ),
  };
}

/** A window around one execution. */
function around({ spans }: Run, span: number): Window {
  const [from, long] = [spans.begin_ps[span] ?? 0, spans.duration_ps[span] ?? 0];
  return [Math.max(0, from - long * 0.1 - MIN_PS), from + long * 1.1 + MIN_PS];
}

/** Interaction state and event handlers. */
export function useStripInput(options: Options): ChartInput {
  const { run, rows, scale, whole, onSelect, onZoom, onOpenTrace } = options;
  const [point, setPoint] = useState<Point | null>(null);
  const [held, setHeld] = useState<ChartInput["held"]>(null);
  const set = (next: TimeScale): void => {
    const kept = next.clamp(whole[0], whole[1], MIN_PS);
    onZoom(kept.span >= whole[1] - whole[0] ? null : [kept.begin, kept.end]);
  };
  const move = (event: PointerEvent): void => {
    const { px, row, span } = under(event, options);
    if (held) setHeld({ from: held.from, to: px });
    setPoint(span >= 0 ? { row, span } : null);
  };
  const up = (event: PointerEvent): void => {
    if (!held) return;
    const { px, row } = under(event, options);
    setHeld(null);
    if (Math.abs(px - held.from) >= DRAG_PX)
      set(new TimeScale(scale.toTime(Math.min(px, held.from)), scale.toTime(Math.max(px, held.from)), scale.width));
    else if (rows[row]) onSelect(row);
  };
  const onKey = (event: KeyboardEvent): void => {
    const act = keyActions(options, point, setPoint, set)[keyName(event)];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  return {
    point,
    held,
    onKey,
    handlers: {
      onPointerMove: move,
      onPointerUp: up,
      onPointerDown: (event) => {
        if (event.button === 0) {
          const { px } = under(event, options);
          setHeld({ from: px, to: px });
        }
      },
      onPointerLeave: () => {
        setPoint(null);
        setHeld(null);
      },
      onDblClick: (event) => {
        const { span } = under(event, options);
        if (span >= 0) onOpenTrace(around(run, span));
      },
      onWheel: (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        set(scale.zoom(event.deltaY < 0 ? 1 / STEP : STEP, under(event, options).px));
      },
    },
  };
}

function keyActions(
  options: Options,
  point: Point | null,
  setPoint: (point: Point | null) => void,
  set: (scale: TimeScale) => void,
): Readonly<Record<string, () => void>> {
  const { run, rows, scale, selected, onSelect, onZoom, onOpenTrace } = options;
  const middle = point ? scale.toPx(run.spans.begin_ps[point.span] ?? 0) : scale.width / 2;
  const row = Math.max(0, selected);
  /** Moves to the next or previous execution of a row. */
  const along = (by: number): void => {
    const spans = rows[row]?.spans ?? [];
    const spanIndex = point?.row === row ? spans.indexOf(point.span) + by : by > 0 ? 0 : spans.length - 1;
    const span = spans[Math.max(0, Math.min(spans.length - 1, spanIndex))];
    if (span === undefined) return;
    setPoint({ row, span });
    const from = run.spans.begin_ps[span] ?? 0;
    if (from < scale.begin || from > scale.end) set(scale.pan(scale.toPx(from) - scale.width / 2));
  };
  const closer = (): void => set(scale.zoom(1 / STEP, middle));
  return {
    ArrowDown: () => onSelect(Math.min(rows.length - 1, selected + 1)),
    ArrowUp: () => onSelect(Math.max(0, selected - 1)),
    ArrowRight: () => along(1),
    ArrowLeft: () => along(-1),
    "Shift+ArrowRight": () => set(scale.pan(scale.width / 5)),
    "Shift+ArrowLeft": () => set(scale.pan(-scale.width / 5)),
    "+": closer,
    "=": closer,
    "-": () => set(scale.zoom(STEP, middle)),
    "0": () => onZoom(null),
    Escape: () => {
      onZoom(null);
      setPoint(null);
    },
    Enter: () => onOpenTrace(point ? around(run, point.span) : [scale.begin, scale.end]),
  };
}
