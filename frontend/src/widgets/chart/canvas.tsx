// One chart, drawn by ECharts on a canvas that follows the size of its box and the theme.
import type { EChartsType } from "echarts/core";
import { useEffect, useRef, useState } from "preact/hooks";
import { places } from "../../base/chart/chart_data";
import type { ChartSpec, Mark } from "../../base/chart/chart_spec";
import { sentence, tipOf } from "../../base/chart/chart_text";
import { optionOf } from "./options/options";
import { marksSeries } from "./options/steps";
import { anchorOf, axisValueAt, cursorOf, itemOf, placeAt } from "./pointer";
import type { Drawn, Rect } from "./pointer";
import { readStyle } from "./style";
import { TipBox } from "./tip";
import { useTheme } from "./use_theme";

/** The place under the pointer; without x and y it was reached by a key. */
export interface Pointed {
  place: number;
  x?: number;
  y?: number;
}

interface Props {
  spec: ChartSpec;
  /** Highlighted spans over a steps chart. */
  marks?: readonly Mark[] | undefined;
  pointed: Pointed | null;
  /** The place selected by the page, highlighted unless another one is hovered over. */
  chosen?: number | null | undefined;
  /** Last line of the tip: what a click does. */
  hint: string | null;
  onPick?: ((place: number) => void) | undefined;
  /** The pointer came to another place or moved within it; null: it left. */
  onPoint: (pointed: Pointed | null) => void;
  /** Called with the values of x at both ends of a drag. */
  onDrag?: ((from: number, to: number) => void) | undefined;
}

const DRAG_PX = 6;

async function loadEngine(treemap: boolean) {
  const [engine] = await Promise.all([import("./engine"), treemap ? import("./engine_treemap") : null]);
  return engine;
}

// A page with charts loads the engine while it waits for its data; a failure is shown by the chart itself.
void loadEngine(false).catch(() => undefined);

type Handlers = Pick<Props, "onPick" | "onPoint" | "onDrag">;

export function ChartCanvas({ spec, marks, pointed, chosen, hint, ...handlers }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const shade = useRef<HTMLDivElement>(null);
  const { chart, failed } = useChart(box, spec.kind === "treemap");
  const theme = useTheme();
  const area = useRef<Rect>({ x: 0, y: 0, width: 0, height: 0 });
  const latest = useRef({ spec, handlers, marks });
  latest.current = { spec, handlers, marks };
  const drawn = (of: EChartsType): Drawn => ({ chart: of, spec: latest.current.spec, area: area.current });

  useEffect(() => {
    const element = box.current;
    if (!chart || !element) return undefined;
    const draw = (): void => {
      const option = optionOf(spec, readStyle(element));
      area.current = { x: 0, y: 0, width: element.clientWidth, height: element.clientHeight };
      const series = [...(option["series"] as object[])];
      if (spec.kind !== "pie" && spec.kind !== "treemap") series.push(areaProbe(spec, (rect) => (area.current = rect)));
      chart.setOption({ ...option, series }, { notMerge: true });
    };
    draw();
    // For tests: what is drawn.
    element.dataset["drawn"] = String(places(spec).length);
    // Paper takes the picture at once, in the colours of the light theme.
    const print = (): void => {
      draw();
      const { marks: marked } = latest.current;
      if (marked) chart.setOption({ series: [marksSeries(marked, readStyle(element))] });
      chart.getZr().flush();
    };
    window.addEventListener("beforeprint", print);
    return () => window.removeEventListener("beforeprint", print);
  }, [chart, spec, theme]);

  useEffect(() => {
    if (chart && marks && box.current) chart.setOption({ series: [marksSeries(marks, readStyle(box.current))] });
  }, [chart, spec, theme, marks]);

  useEffect(() => (chart ? followPointer(chart, shade, () => ({ ...latest.current.handlers, drawn: drawn(chart) })) : undefined), [chart]);

  const item = itemOf(spec, pointed?.place ?? chosen ?? -1);
  useEffect(() => {
    if (!chart || !item) return undefined;
    chart.dispatchAction({ type: "highlight", ...item });
    return () => {
      if (!chart.isDisposed()) chart.dispatchAction({ type: "downplay", ...item });
    };
  }, [chart, spec, theme, item?.seriesIndex, item?.dataIndex]);

  if (failed)
    return <p class="chart-failed dim">The chart library could not be loaded. Show the table instead, or reload the browser tab.</p>;
  return (
    <div class="chart-plot">
      <div ref={box} class={handlers.onPick ? "chart-canvas pickable" : "chart-canvas"} role="img" aria-label={sentence(spec)} />
      <div ref={shade} class="chart-shade" hidden />
      {chart && pointed && area.current.width > 0 ? <Reading drawn={drawn(chart)} pointed={pointed} hint={hint} box={box.current} /> : null}
    </div>
  );
}

/** Cursor and tip of the hovered place. */
function Reading({ drawn, pointed, hint, box }: { drawn: Drawn; pointed: Pointed; hint: string | null; box: HTMLElement | null }) {
  const tip = tipOf(drawn.spec, pointed.place);
  const cursor = cursorOf(drawn, pointed.place);
  const [x, y] = pointed.x === undefined || pointed.y === undefined ? anchorOf(drawn, pointed.place) : [pointed.x, pointed.y];
  return (
    <>
      {cursor ? (
        <div
          class={cursor.width > 1 ? "chart-band" : "chart-line"}
          style={{ left: `${cursor.x}px`, top: `${cursor.y}px`, width: `${cursor.width}px`, height: `${cursor.height}px` }}
        />
      ) : null}
      {tip ? <TipBox tip={tip} x={x} y={y} width={box?.clientWidth ?? 0} height={box?.clientHeight ?? 0} hint={hint} /> : null}
    </>
  );
}

/** Creates the chart once the library is loaded, and resizes it with its box. */
function useChart(box: { readonly current: HTMLDivElement | null }, treemap: boolean): { chart: EChartsType | null; failed: boolean } {
  const [chart, setChart] = useState<EChartsType | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let made: EChartsType | null = null;
    let gone = false;
    loadEngine(treemap)
      .then(({ init }) => {
        if (gone || !box.current) return;
        made = init(box.current, null, { renderer: "canvas" });
        setChart(made);
      })
      .catch(() => setFailed(true));
    const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(() => made?.resize());
    if (box.current) sizes?.observe(box.current);
    return () => {
      gone = true;
      sizes?.disconnect();
      made?.dispose();
    };
  }, []);
  return { chart, failed };
}

/** A series that draws nothing, but reports the position of the plot after every layout. */
function areaProbe(spec: ChartSpec, report: (area: Rect) => void): object {
  const origin = spec.kind === "scatter" ? [10 ** spec.x.from, 10 ** spec.y.from] : [0, 0];
  const renderItem = ({ coordSys }: { coordSys: Rect }): null => {
    report({ x: coordSys.x, y: coordSys.y, width: coordSys.width, height: coordSys.height });
    return null;
  };
  return { type: "custom", silent: true, data: [origin], renderItem };
}

interface ZrEvent {
  offsetX: number;
  offsetY: number;
}

/** What ECharts reports of a hit element. */
interface Hit {
  dataIndex?: number;
  data?: { place?: number };
  event?: { event?: ZrEvent; offsetX?: number; offsetY?: number };
}

/** Moves point at places, clicks pick them, drags mark a range of x. Disposing the chart removes the listeners. */
function followPointer(
  chart: EChartsType,
  shade: { readonly current: HTMLDivElement | null },
  now: () => Handlers & { drawn: Drawn },
): undefined {
  const zr = chart.getZr();
  let start: ZrEvent | null = null;
  let dragged = false;
  const cover = (to: number | null): void => {
    const element = shade.current;
    if (!element) return;
    element.hidden = start === null || to === null;
    if (start === null || to === null) return;
    element.style.left = `${Math.min(start.offsetX, to)}px`;
    element.style.width = `${Math.abs(to - start.offsetX)}px`;
  };
  const point = (place: number | null, { offsetX, offsetY }: ZrEvent): void => {
    now().onPoint(place === null || start ? null : { place, x: offsetX, y: offsetY });
  };
  /** Whether ECharts reports the hit element (slices, rectangles); for other kinds we find the place. */
  const reported = (): boolean => ["pie", "treemap", "blocks"].includes(now().drawn.spec.kind);
  const placeOf = ({ data, dataIndex }: Hit): number | null =>
    data?.place ?? (now().drawn.spec.kind === "treemap" ? null : (dataIndex ?? null));
  zr.on("mousedown", (event: ZrEvent) => {
    const { drawn, onDrag } = now();
    const { x, y, width, height } = drawn.area;
    dragged = false;
    if (onDrag && event.offsetX >= x && event.offsetX <= x + width && event.offsetY >= y && event.offsetY <= y + height) start = event;
  });
  zr.on("mousemove", (event: ZrEvent) => {
    if (start) {
      dragged ||= Math.abs(event.offsetX - start.offsetX) >= DRAG_PX;
      if (dragged) cover(event.offsetX);
    }
    if (!reported()) point(placeAt(now().drawn, event.offsetX, event.offsetY), event);
  });
  const release = (event: ZrEvent): void => {
    const from = start;
    start = null;
    cover(null);
    if (!from || !dragged) return;
    const { drawn, onDrag } = now();
    const [a, b] = [axisValueAt(drawn, from.offsetX, from.offsetY), axisValueAt(drawn, event.offsetX, from.offsetY)];
    onDrag?.(Math.min(a, b), Math.max(a, b));
  };
  zr.on("mouseup", release);
  zr.on("globalout", (event: ZrEvent) => {
    release(event);
    now().onPoint(null);
  });
  zr.on("click", (event: ZrEvent) => {
    const { drawn, onPick } = now();
    if (dragged || reported()) return;
    const place = placeAt(drawn, event.offsetX, event.offsetY);
    if (place !== null) onPick?.(place);
  });
  chart.on("mousemove", (hit) => {
    const { event } = hit as Hit;
    if (reported() && event) point(placeOf(hit as Hit), { offsetX: event.offsetX ?? 0, offsetY: event.offsetY ?? 0 });
  });
  chart.on("mouseout", () => {
    if (reported()) now().onPoint(null);
  });
  chart.on("click", (hit) => {
    const place = reported() && !dragged ? placeOf(hit as Hit) : null;
    if (place !== null) now().onPick?.(place);
  });
  return undefined;
}
