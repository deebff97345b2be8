// The picture: roofs and points on logarithmic axes; hover or arrow keys read a point, a press goes to its row.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { MISSING, formatPercent, formatQuantity, formatTime } from "../../base/format";
import { categoryColour } from "../../base/colour";
import { moveIndex } from "../../base/keys";
import { useTheme } from "../../widgets/chart/use_theme";
import { isStep } from "./model";
import type { Point, Roof } from "./model";
import { extentOf, nearest, radius, roofCorners, shapeOf, shapePath, ticks, toX, toY } from "./plot";
import type { Extent, Frame, Shape } from "./plot";

export interface Series {
  name: string;
  points: readonly Point[];
}

interface Props {
  series: readonly Series[];
  roofs: readonly Roof[];
  peak: number | null;
  height: number;
  onPick: (point: Point) => void;
  /** Moves the focus to the table. */
  onTable: () => void;
}

const PROGRAM = "Program";

/** Stars for the program; hue and shape by the place of the series for all others. */
function markOf(name: string, place: number): { shape: Shape; hue: number } {
  return name === PROGRAM ? { shape: "star", hue: 5 } : { shape: shapeOf(place + Math.floor(place / 8)), hue: place };
}

export function Scatter({ series, roofs, peak, height, onPick, onTable }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [pointed, setPointed] = useState<number | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const measure = (): void => setWidth(Math.max(280, box.current?.clientWidth ?? 640));
    measure();
    if (typeof ResizeObserver === "undefined" || !box.current) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const marks = useMemo(() => new Map(series.map(({ name }, place) => [name, markOf(name, place)])), [series]);
  const drawn = useMemo(
    () => series.filter(({ name }) => !hidden.has(name)).flatMap(({ name, points }) => points.map((point) => ({ ...point, series: name }))).sort((a, b) => b.share - a.share || Number(isStep(b)) - Number(isStep(a))),
    [series, hidden],
  );
  useEffect(() => setPointed(null), [drawn]);
  const all = useMemo(() => series.flatMap(({ points }) => points), [series]);
  const extent = useMemo(() => extentOf(all, roofs, peak), [all, roofs, peak]);
  const frame: Frame = { width, height, left: 64, right: 22, top: 22, bottom: 40 };
  // For the keys: from the lowest intensity to the highest.
  const order = useMemo(() => drawn.map((_, i) => i).sort((a, b) => (drawn[a]?.intensity ?? 0) - (drawn[b]?.intensity ?? 0)), [drawn]);
  const at = (event: MouseEvent): number | null => {
    const place = box.current?.getBoundingClientRect();
    return place ? nearest(drawn, event.clientX - place.left, event.clientY - place.top, extent, frame) : null;
  };
  const pick = (index: number | null): void => {
    const point = index === null ? undefined : drawn[index];
    if (point) onPick(point);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys: Record<string, string> = { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp" };
    const now = pointed === null ? -1 : order.indexOf(pointed);
    const next = moveIndex(keys[event.key] ?? event.key, now, order.length);
    if (next !== null) setPointed(order[next] ?? null);
    else if (event.key === "Enter") pick(pointed);
    else if (event.key === "t") onTable();
    else if (event.key === "Escape" && pointed !== null) setPointed(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const toggle = (name: string): void => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const shown = pointed === null ? null : (drawn[pointed] ?? null);
  const sentence = `Roofline, both axes logarithmic: ${drawn.length} points, ${roofs.length} roofs. Arrow keys read the points, Enter goes to the row, t to the table.`;
  return (
    <figure class="roof">
      <div
        ref={box}
        class={pointed === null ? "roof-box" : "roof-box pointing"}
        tabIndex={0}
        role="group"
        aria-label={sentence}
        style={{ height: `${height}px` }}
        onKeyDown={onKey}
        onBlur={() => setPointed(null)}
        onPointerMove={(event) => setPointed(at(event))}
        onPointerLeave={() => setPointed(null)}
        onClick={(event) => pick(at(event))}
      >
        <svg width={width} height={height} aria-hidden="true">
          <Axes extent={extent} frame={frame} />
          <Roofs roofs={roofs} peak={peak} extent={extent} frame={frame} />
          <Points points={drawn} marks={marks} pointed={pointed} extent={extent} frame={frame} />
        </svg>
        {shown ? <Tip point={shown} x={toX(shown.intensity, extent, frame)} y={toY(shown.rate, extent, frame)} width={width} height={height} /> : null}
        {drawn.length === 0 ? <p class="roof-none dim">No point to draw: nothing that passes the filters has both FLOPs and bytes.</p> : null}
      </div>
      <p class="off-screen" aria-live="polite">{shown ? `${shown.name} ${shown.step}: ${facts(shown).map(([name, value]) => `${name} ${value}`).join(", ")}` : ""}</p>
      <Legend series={series} marks={marks} hidden={hidden} onToggle={toggle} />
    </figure>
  );
}

function superscript(power: number): string {
  return String(power).replace(/[-\d]/g, (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)] ?? "");
}

function powerText(power: number): string {
  if (power >= -2 && power <= 3) return (10 ** power).toLocaleString("en-US");
  return `10${superscript(power)}`;
}

function Axes({ extent, frame }: { extent: Extent; frame: Frame }) {
  const { width, height, left, right, top, bottom } = frame;
  const floor = height - bottom;
  return (
    <g class="roof-axes">
      {ticks(extent.x, (width - left - right) / 46).map((power) => {
        const x = toX(10 ** power, extent, frame);
        return <g key={power}><line x1={x} x2={x} y1={top} y2={floor} /><text x={x} y={floor + 15} text-anchor="middle">{powerText(power)}</text></g>;
      })}
      {ticks(extent.y, (height - top - bottom) / 24).map((power) => {
        const y = toY(10 ** power, extent, frame);
        return <g key={power}><line x1={left} x2={width - right} y1={y} y2={y} /><text x={left - 6} y={y + 4} text-anchor="end">{powerText(power)}</text></g>;
      })}
      <text class="roof-axis" x={(left + width - right) / 2} y={height - 6} text-anchor="middle">Operational intensity (FLOP/byte), logarithmic</text>
      <text class="roof-axis" x={2} y={12}>GFLOP/s, logarithmic</text>
    </g>
  );
}

function Roofs({ roofs, peak, extent, frame }: { roofs: readonly Roof[]; peak: number | null; extent: Extent; frame: Frame }) {
  if (peak === null) return null;
  return (
    <g class="roof-lines">
      {roofs.map((roof, i) => {
        const corners = roofCorners(roof, peak, extent, frame);
        const start: readonly [number, number] = corners[0] ?? [0, 0];
        const end: readonly [number, number] = corners[1] ?? start;
        const turn = (Math.atan2(end[1] - start[1], end[0] - start[0]) * 180) / Math.PI;
        const t = [0.3, 0.04, 0.55, 0.04, 0.55][i] ?? 0.3;
        const [x, y] = [start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t];
        return (
          <g key={roof.id} class={`roof-line ${roof.id}`}>
            <polyline points={corners.map((corner) => corner.join(",")).join(" ")} />
            {end[0] - start[0] > 60 ? <text x={x} y={roof.id === "hbm" ? y + 14 : y - 5} transform={`rotate(${turn} ${x} ${y})`}>{roof.name} {formatQuantity(roof.bandwidth, "GiB/s")}</text> : null}
          </g>
        );
      })}
      <text class="roof-peak" x={frame.width - frame.right - 4} y={toY(peak, extent, frame) - 5} text-anchor="end">Peak {formatQuantity(peak, "GFLOP/s")}</text>
    </g>
  );
}

interface PointsProps {
  points: readonly (Point & { series: string })[];
  marks: ReadonlyMap<string, { shape: Shape; hue: number }>;
  pointed: number | null;
  extent: Extent;
  frame: Frame;
}

function Points({ points, marks, pointed, extent, frame }: PointsProps) {
  const theme = useTheme();
  const mark = (i: number, extra = 0) => {
    const point = points[i];
    if (!point) return null;
    const { shape, hue } = marks.get(point.series) ?? { shape: "circle" as const, hue: 0 };
    const size = (point.program ? 7 : radius(point.share)) + extra;
    return <path key={i} d={shapePath(shape, size)} transform={`translate(${toX(point.intensity, extent, frame)} ${toY(point.rate, extent, frame)})`} fill={categoryColour(hue, theme)} />;
  };
  return (
    <>
      <g class="roof-points">{points.map((_, i) => mark(i))}</g>
      {pointed === null ? null : <g class="roof-pointed">{mark(pointed, 2)}</g>}
    </>
  );
}

/** What a point says. */
export function facts(point: Point): [string, string][] {
  return [
    ["FLOP rate", formatQuantity(point.rate, "GFLOP/s")],
    ["Intensity", formatQuantity(point.intensity, "FLOP/B")],
    ["Of its roof", point.efficiency === null ? MISSING : formatPercent(point.efficiency * 100)],
    ["Bound by", point.bound],
    ["Time", formatTime(point.timeUs * 1e6)],
    ...(point.program ? [] : [["Of the time", formatPercent(point.share * 100)] as [string, string]]),
  ];
}

const TIP = { width: 236, height: 168 } as const;

function Tip({ point, x, y, width, height }: { point: Point; x: number; y: number; width: number; height: number }) {
  const left = x + 14 + TIP.width > width ? Math.max(0, x - 14 - TIP.width) : x + 14;
  const top = Math.max(0, Math.min(height - TIP.height, y - 40));
  return (
    <div class="roof-tip" style={{ left: `${left}px`, top: `${top}px`, width: `${TIP.width}px` }}>
      <strong>{point.program ? `${point.name}, ${/^\d+$/.test(point.step) ? `step ${point.step}` : point.step.toLowerCase()}` : point.name}</strong>
      {point.program ? null : <span class="dim">{point.category}</span>}
      <dl>{facts(point).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <span class="dim">Click or Enter: its row</span>
    </div>
  );
}

interface LegendProps {
  series: readonly Series[];
  marks: ReadonlyMap<string, { shape: Shape; hue: number }>;
  hidden: ReadonlySet<string>;
  onToggle: (name: string) => void;
}

function Legend({ series, marks, hidden, onToggle }: LegendProps) {
  const theme = useTheme();
  return (
    <ul class="roof-legend">
      {series.map(({ name, points }) => {
        const { shape, hue } = marks.get(name) ?? { shape: "circle" as const, hue: 0 };
        return (
          <li key={name}>
            <button type="button" aria-pressed={!hidden.has(name)} data-tip={hidden.has(name) ? "Show it" : "Hide it"} onClick={() => onToggle(name)}>
              <svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true"><path d={shapePath(shape, 4.4)} fill={categoryColour(hue, theme)} /></svg>
              {name} <span class="dim number">{points.length}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
