// A chart with legend, zoom by dragging along x, and its data as a table (key t).
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { places, withoutSeries, zoomable, zoomed } from "../../base/chart/chart_data";
import { isNumeric } from "../../base/chart/chart_spec";
import type { ChartSpec, Mark } from "../../base/chart/chart_spec";
import { outlierNote } from "../../base/chart/outliers";
import { sentence, tableOf, tipOf, tipText } from "../../base/chart/chart_text";
import { isTyping, keyName, moveIndex } from "../../base/keys";
import { Table } from "../table/table";
import { ChartCanvas } from "./canvas";
import type { Pointed } from "./canvas";
import { Legend } from "./legend";
import "./chart.css";

type Range = readonly [number, number];

interface Props {
  spec: ChartSpec;
  title: string;
  fileName: string;
  /** Height of the drawing in px. */
  height?: number;
  /** A click or Enter on a place. */
  onPick?: ((place: number) => void) | undefined;
  /** The pointer or the arrow keys came to another place; null: they left. */
  onPoint?: ((place: number | null) => void) | undefined;
  /** What a click does, for the tip: "Click: open step 3 in the trace viewer". */
  pickHint?: string | undefined;
  /** Beside the title. */
  tools?: ComponentChildren;
  /** Without header and legend, which the page shows itself. */
  bare?: boolean;
  /** False if the chart beside it has the same series. */
  legend?: boolean;
  /** The zoom if the page controls it: label indexes, or values of a number axis. */
  zoom?: Range | null;
  onZoom?: (zoom: Range | null) => void;
  /** Series that start hidden. */
  startHidden?: readonly string[];
  marks?: readonly Mark[] | undefined;
  /** The place that the page has chosen. */
  chosen?: number | null;
  /** Goes to a table that the page shows anyway (key t); the chart then has no header. */
  onTable?: () => void;
}

const COLUMN_KEYS: Readonly<Record<string, string>> = { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp" };

export function Chart(props: Props) {
  const { spec, title, fileName, height = 260, onPick, pickHint, tools, bare = false, legend = true, marks, chosen, onTable } = props;
  const [asTable, setAsTable] = useState(false);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set(props.startHidden));
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [range, setRange] = useRange(props);
  const table = useMemo(() => (asTable ? tableOf(spec) : null), [asTable, spec]);
  const shown = useMemo(() => withoutSeries(range ? zoomed(spec, range) : spec, hidden), [spec, range, hidden]);
  const order = useMemo(() => places(shown), [shown]);
  const note = useMemo(() => (asTable ? "" : outlierNote(shown)), [shown, asTable]);
  // Places of a chart over labels count from the start of its range.
  const first = range && !isNumeric(spec) ? range[0] : 0;
  const pick = onPick ? (place: number): void => onPick(first + place) : undefined;
  const point = (next: Pointed | null): void => {
    setPointed(next);
    if (next?.place !== pointed?.place) props.onPoint?.(next ? first + next.place : null);
  };
  useEffect(() => setPointed(null), [shown]);
  const toggle = (name: string): void => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (isTyping(event.target) || (asTable && event.target !== event.currentTarget)) return;
    const key = keyName(event);
    const pointedIndex = pointed ? order.indexOf(pointed.place) : -1;
    const next = moveIndex(COLUMN_KEYS[key] ?? key, pointedIndex, order.length, Math.max(1, Math.round(order.length / 10)));
    if (key === "t" && onTable) onTable();
    else if (key === "t") setAsTable(!asTable);
    else if (key === "Escape" && (range || pointed)) {
      setRange(null);
      point(null);
    } else if (event.target !== event.currentTarget || asTable) return;
    else if (next !== null) point({ place: order[next] ?? 0 });
    else if (key === "Enter" && pointed) pick?.(pointed.place);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const tip = pointed ? tipOf(shown, pointed.place) : null;
  return (
    <section class="chart" role="group" aria-label={title || sentence(spec)}>
      {bare || onTable ? null : (
        <header class={title ? "chart-head" : "chart-head untitled"}>
          {title ? <h3>{title}</h3> : null}
          {range ? (
            <button type="button" class="button ghost" onClick={() => setRange(null)}>
              {isNumeric(spec) ? "Show all" : `Show all ${places(spec).length}`}
            </button>
          ) : null}
          <span class="chart-space" />
          {tools}
          <button
            type="button"
            class="button ghost"
            aria-pressed={asTable}
            data-tip="The same data as a table (key t)"
            onClick={() => setAsTable(!asTable)}
          >
            {asTable ? "Chart" : "Table"}
          </button>
        </header>
      )}
      <div
        class="chart-body"
        tabIndex={0}
        role="group"
        aria-label={`${sentence(spec)} Arrow keys move over its values, t shows a table.`}
        style={{ height: `${table ? Math.max(height, 240) : height}px` }}
        onKeyDown={onKey}
        onBlur={() => point(null)}
        onContextMenu={(event) => {
          if (range) {
            event.preventDefault();
            setRange(null);
          }
        }}
      >
        {table ? (
          <Table data={table} title="" fileName={fileName} />
        ) : (
          <ChartCanvas
            spec={shown}
            marks={marks}
            pointed={pointed}
            chosen={chosen}
            hint={pickHint ?? null}
            onPick={pick}
            onPoint={point}
            onDrag={zoomable(shown) ? (from, to) => setRange([first + from, first + to]) : undefined}
          />
        )}
      </div>
      <p class="off-screen" aria-live="polite">
        {tip ? tipText(tip) : ""}
      </p>
      {note ? <p class="chart-note">▲ {note}.</p> : null}
      {bare || table || !legend ? null : <Legend spec={spec} hidden={hidden} onToggle={toggle} />}
    </section>
  );
}

/** The visible part: controlled by the page, or the chart's own state. */
function useRange({ spec, zoom, onZoom }: Props): [Range | null, (range: Range | null) => void] {
  const [own, setOwn] = useState<Range | null>(null);
  const count = useMemo(() => places(spec).length, [spec]);
  useEffect(() => setOwn(null), [spec.kind, count]);
  return onZoom ? [zoom ?? null, onZoom] : [own, setOwn];
}
