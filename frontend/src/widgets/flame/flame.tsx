// A flame graph or icicle: frames as wide as their share, zoom, search, keyboard, a table of the same data, picture and CSV.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatExact, formatPercent, formatQuantity, plural } from "../../base/format";
import { countAt, frameAt, frameOfPath, layoutFlame, neighbour, pathOf, searchFlame } from "../../base/flame/flame";
import type { Flame, FlameNode, FlameWindow } from "../../base/flame/flame";
import { download } from "../content/download";
import { Link } from "../content/link";
import type { Patch } from "../content/link";
import { useTheme } from "../chart/use_theme";
import { Table } from "../table/table";
import { toCsv } from "../table/model/csv";
import { ROW_PX, changeColour, depthAt, drawFlame } from "./draw";
import type { Colours, View } from "./draw";
import { flameTable } from "./table";
import "./flame.css";

/** Rows of the table; CSV has all. */
const MOST_ROWS = 20_000;
const WHEEL = 1.0015;

export interface FlameState {
  get(key: string): string | null;
  set(patch: Readonly<Record<string, string | null>>): void;
}

interface Props {
  root: FlameNode;
  /** Unit of the values. */
  unit: string;
  /** What values are, e.g. "Self time". */
  what: string;
  fileName: string;
  /** Keeps the zoomed frame, the search and the direction in the address: FLAME_KEYS. */
  state: FlameState;
  /** The address of the source line of a frame. */
  placeLink?: (place: string) => Patch;
}

export function FlameGraph({ root, unit, what, fileName, state, placeLink }: Props) {
  const flame = useMemo(() => layoutFlame(root), [root]);
  const [zoomed, setZoomed] = useState(() => frameOfPath(flame, (state.get("frame") ?? "").split("\n").filter(Boolean)));
  const [selected, setSelected] = useState(zoomed);
  const [search, setSearch] = useState(state.get("frames") ?? "");
  const [flipped, setFlipped] = useState(state.get("flip") === "1");
  const [asTable, setTable] = useState(false);
  const [window_, setWindow] = useState<FlameWindow>(() => spanOf(flame, zoomed));
  const found = useMemo(() => searchFlame(flame, search), [flame, search]);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const frame = frameOfPath(flame, (state.get("frame") ?? "").split("\n").filter(Boolean));
    setZoomed(frame);
    setSelected(frame);
    setWindow(spanOf(flame, frame));
  }, [flame]);
  const zoom = (frame: number): void => {
    setZoomed(frame);
    setSelected(frame);
    setWindow(spanOf(flame, frame));
    state.set({ frame: frame === 0 ? null : pathOf(flame, frame).join("\n") });
  };
  const node = flame.nodes[selected] ?? root;
  return (
    <section class="flame" aria-label={`Flame graph of ${what.toLowerCase()}`}>
      <div class="flame-tools" role="toolbar" aria-label="Flame graph">
        <button type="button" class="button" disabled={zoomed === 0} onClick={() => zoom(0)}>
          All
        </button>
        <input
          class="field"
          type="search"
          placeholder="Search frames"
          aria-label="Search frames"
          value={search}
          onInput={(event) => {
            setSearch(event.currentTarget.value);
            state.set({ frames: event.currentTarget.value || null });
          }}
        />
        {search.trim() === "" ? null : (
          <span class="dim" role="status">
            {plural(found.count, "frame")}, {formatPercent(flame.total > 0 ? (100 * found.value) / flame.total : 0)} of {what.toLowerCase()}
          </span>
        )}
        <span class="flame-space" />
        {flame.hasBase ? <Legend /> : null}
        <span class="segmented" role="group" aria-label="Direction">
          {[false, true].map((up) => (
            <button
              key={String(up)}
              type="button"
              aria-pressed={flipped === up}
              onClick={() => {
                setFlipped(up);
                state.set({ flip: up ? "1" : null });
              }}
            >
              {up ? "Flames" : "Icicles"}
            </button>
          ))}
        </span>
        <button type="button" class="button ghost" aria-pressed={asTable} onClick={() => setTable(!asTable)}>
          Table
        </button>
        <button
          type="button"
          class="button ghost"
          disabled={asTable}
          onClick={() => canvas.current?.toBlob((blob) => blob && download(`${fileName}.png`, blob), "image/png")}
        >
          PNG
        </button>
        <button
          type="button"
          class="button ghost"
          onClick={() => {
            const table = flameTable(flame, unit, what);
            download(`${fileName}.csv`, toCsv(table.columns, Array(table.rowCount).keys()));
          }}
        >
          CSV
        </button>
      </div>
      <p class="flame-selected">
        <b>{node.name}</b> {describe(flame, selected, unit)}
        {node.place && placeLink ? (
          <>
            {" "}
            <Link to={placeLink(node.place)}>{node.place.replace(/^.*[\\/]/, "")}</Link>
          </>
        ) : null}
      </p>
      {asTable ? (
        <div class="flame-table">
          <Table data={flameTable(flame, unit, what, MOST_ROWS)} title={what} fileName={fileName} />
        </div>
      ) : (
        <Picture
          flame={flame}
          unit={unit}
          window={window_}
          selected={selected}
          hits={search.trim() === "" ? null : found.hits}
          flipped={flipped}
          canvas={canvas}
          onSelect={setSelected}
          onZoom={zoom}
          onWindow={setWindow}
          onTable={() => setTable(true)}
          zoomed={zoomed}
        />
      )}
    </section>
  );
}

/** The window of a frame; of one without value, all. */
function spanOf({ begin, end, total }: Flame, frame: number): FlameWindow {
  const [left, right] = [begin[frame] ?? 0, end[frame] ?? total];
  return right > left ? { left, right } : { left: 0, right: total };
}

/** Value, share and difference of a frame. */
export function describe(flame: Flame, frame: number, unit: string): string {
  const node = flame.nodes[frame];
  if (node === undefined) return "";
  const parts = [formatQuantity(node.value, unit)];
  if (flame.total > 0) parts.push(`${formatPercent((100 * node.value) / flame.total)} of all`);
  if (node.base !== undefined) {
    const delta = node.value - (node.base ?? 0);
    parts.push(
      node.base === null
        ? "not in the base"
        : `${formatQuantity(node.base, unit)} in the base, ${delta > 0 ? "+" : ""}${formatQuantity(delta, unit)}`,
    );
  }
  return parts.join(", ");
}

function Legend() {
  const theme = useTheme();
  return (
    <span class="flame-legend" data-tip="Difference to the base, over the larger of both">
      <i style={{ background: changeColour(-1, theme) }} /> less
      <i style={{ background: changeColour(0, theme) }} /> same
      <i style={{ background: changeColour(1, theme) }} /> more
    </span>
  );
}

interface PictureProps {
  flame: Flame;
  unit: string;
  window: FlameWindow;
  selected: number;
  hits: Uint8Array | null;
  flipped: boolean;
  canvas: { current: HTMLCanvasElement | null };
  zoomed: number;
  onSelect: (frame: number) => void;
  onZoom: (frame: number) => void;
  onWindow: (window: FlameWindow) => void;
  onTable: () => void;
}

interface Size {
  width: number;
  height: number;
}

function useSize(box: { readonly current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = (): void => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    if (typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

function coloursOf(element: Element, theme: Colours["theme"]): Colours {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(name).trim() || "#888888";
  return {
    theme,
    ground: token("--bg"),
    text: token("--text"),
    dim: token("--text-dim"),
    focus: token("--focus"),
    hatch: token("--hatch"),
  };
}

const ARROWS = { ArrowUp: "caller", ArrowDown: "callee", ArrowLeft: "before", ArrowRight: "after" } as const;
const FLIPPED = { ...ARROWS, ArrowUp: "callee", ArrowDown: "caller" } as const;

function Picture(props: PictureProps) {
  const { flame, unit, window: shown, selected, hits, flipped, canvas, zoomed, onSelect, onZoom, onWindow, onTable } = props;
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  const theme = useTheme();
  const [scroll, setScroll] = useState(0);
  const [hovered, setHovered] = useState(-1);
  const [merged, setMerged] = useState(1);
  const [pointer, setPointer] = useState<{ x: number; y: number } | null>(null);
  const most = Math.max(0, flame.rows.length * ROW_PX - size.height);
  const view: View = { ...shown, ...size, scroll: Math.min(scroll, most), flipped };
  useEffect(() => {
    const target = canvas.current;
    const context = target?.getContext("2d");
    if (!target || !context || size.width === 0) return undefined;
    const frame = requestAnimationFrame(() => {
      const ratio = devicePixelRatio || 1;
      target.width = Math.round(size.width * ratio);
      target.height = Math.round(size.height * ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const began = performance.now();
      const blocks = drawFlame(context, flame, view, coloursOf(target, theme), { hovered, selected, hits });
      target.dataset["blocks"] = String(blocks);
      target.dataset["drawMs"] = (performance.now() - began).toFixed(2);
    });
    return () => cancelAnimationFrame(frame);
  }, [flame, shown, size, theme, view.scroll, hovered, selected, hits, flipped]);
  const valueAt = (x: number): number => shown.left + (x / Math.max(1, size.width)) * (shown.right - shown.left);
  const under = (event: MouseEvent): number => frameAt(flame, valueAt(event.offsetX), depthAt(event.offsetY, view));
  const onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    if (!event.ctrlKey && !event.metaKey) {
      const step = flipped ? -event.deltaY : event.deltaY;
      setScroll(Math.max(0, Math.min(most, view.scroll + step)));
      return;
    }
    onWindow(zoomedWindow(shown, valueAt(event.offsetX), WHEEL ** event.deltaY, flame.total));
  };
  // Not passive, so that the page does not zoom.
  useEffect(() => {
    const element = canvas.current;
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  });
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = (flipped ? FLIPPED : ARROWS)[event.key as keyof typeof ARROWS];
    if (arrow !== undefined) onSelect(neighbour(flame, selected, arrow));
    else if (event.key === "Enter") onZoom(selected);
    else if (event.key === "Escape" || event.key === "Backspace") onZoom(zoomed === 0 ? 0 : (flame.parent[zoomed] ?? 0));
    else if (event.key === "Home") onZoom(0);
    else if (event.key === "+" || event.key === "-")
      onWindow(zoomedWindow(shown, (shown.left + shown.right) / 2, event.key === "+" ? 0.8 : 1.25, flame.total));
    else if (event.key === "t") onTable();
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    const top = (flame.depth[selected] ?? 0) * ROW_PX;
    if (top < view.scroll) setScroll(top);
    else if (size.height > 0 && top + ROW_PX > view.scroll + size.height) setScroll(top + ROW_PX - size.height);
  }, [selected, size.height]);
  const tip = hovered >= 0 ? flame.nodes[hovered] : undefined;
  return (
    <div class="flame-box" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={
          `${plural(flame.count, "frame")}. Selected: ${flame.nodes[selected]?.name ?? ""}, ` +
          `${describe(flame, selected, unit)}. Arrows move, Enter zooms, t shows the table.`
        }
        onPointerMove={(event) => {
          const frame = under(event);
          setHovered(frame);
          setMerged(frame < 0 ? 1 : countAt(flame, flame.depth[frame] ?? 0, shown, size.width, event.offsetX));
          setPointer({ x: event.offsetX, y: event.offsetY });
        }}
        onPointerLeave={() => setHovered(-1)}
        onClick={(event) => {
          const frame = under(event);
          if (frame >= 0) onZoom(frame);
        }}
        onKeyDown={onKey}
      />
      {tip !== undefined && pointer !== null ? (
        <div
          class="flame-tip"
          style={{
            left: `${String(Math.max(0, Math.min(pointer.x + 12, size.width - 340)))}px`,
            top: `${String(pointer.y + 18 + 80 > size.height ? Math.max(0, pointer.y - 84) : pointer.y + 18)}px`,
          }}
        >
          <b>{tip.name}</b>
          {merged > 1 ? <span>One of {plural(merged, "frame")} too narrow to draw: zoom in</span> : null}
          <span>{describe(flame, hovered, unit)}</span>
          <span class="dim">
            {formatExact(tip.value, unit)}; self {formatQuantity(Math.max(0, flame.self[hovered] ?? 0), unit)}
            {tip.place ? `; ${tip.place}` : ""}
          </span>
        </div>
      ) : null}
    </div>
  );
}

/** The window `factor` times as wide around a value, within the graph. */
export function zoomedWindow({ left, right }: FlameWindow, around: number, factor: number, total: number): FlameWindow {
  const least = total * 1e-9;
  const width = Math.min(total, Math.max(least, (right - left) * factor));
  const begin = Math.max(0, Math.min(total - width, around - ((around - left) / Math.max(least, right - left)) * width));
  return { left: begin, right: begin + width };
}
