// Geometry of the log-log picture: axes, roofs, places and shapes of points. Pure.
import type { Point, Roof } from "./model";
import { allowed } from "./model";

export interface Extent {
  /** Powers of ten. */
  x: readonly [number, number];
  y: readonly [number, number];
}

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Whole decades that hold all points and all ridges. */
export function extentOf(points: readonly Point[], roofs: readonly Roof[], peak: number | null): Extent {
  const xs = [...points.map(({ intensity }) => intensity), ...roofs.map(({ ridge }) => ridge)].filter((x) => x > 0);
  const decades = (values: readonly number[]): [number, number] => {
    if (values.length === 0) return [0, 1];
    const low = Math.floor(Math.log10(values.reduce((a, b) => Math.min(a, b), Infinity)) - 0.1);
    const high = Math.ceil(Math.log10(values.reduce((a, b) => Math.max(a, b), -Infinity)) + 0.1);
    return [low, Math.max(low + 1, high)];
  };
  const x = decades(xs);
  const floor = roofs.map((roof) => allowed(roof, peak ?? Infinity, 10 ** x[0])).reduce((a, b) => Math.min(a, b), Infinity);
  const ys = points.map(({ rate }) => rate).filter((y) => y > 0);
  // Roofs come into sight from below, but need not start at the lowest point.
  const y = decades([...ys, ...(peak !== null ? [peak] : []), ...(Number.isFinite(floor) && ys.length === 0 ? [floor] : [])]);
  return { x, y };
}

export function toX(intensity: number, { x }: Extent, frame: Frame): number {
  return frame.left + ((Math.log10(intensity) - x[0]) / (x[1] - x[0])) * (frame.width - frame.left - frame.right);
}

export function toY(rate: number, { y }: Extent, frame: Frame): number {
  return frame.height - frame.bottom - ((Math.log10(rate) - y[0]) / (y[1] - y[0])) * (frame.height - frame.top - frame.bottom);
}

/** Powers of ten of an axis, thinned so that their labels have room. */
export function ticks([low, high]: readonly [number, number], room: number): number[] {
  const step = Math.max(1, Math.ceil((high - low) / Math.max(1, room)));
  const found: number[] = [];
  for (let power = low; power <= high; power += step) found.push(power);
  return found;
}

/** A roof from the left edge (or the floor) up to its ridge and on along the peak, as corners in px. */
export function roofCorners(roof: Roof, peak: number, extent: Extent, frame: Frame): [number, number][] {
  const left = 10 ** extent.x[0];
  const atLeft = allowed(roof, peak, left);
  const floor = 10 ** extent.y[0];
  const start = atLeft >= floor ? left : left * (floor / atLeft);
  const corners: [number, number][] = [[start, allowed(roof, peak, start)], [roof.ridge, peak], [10 ** extent.x[1], peak]];
  return corners.filter(([x], i) => i !== 1 || x > start).map(([x, y]) => [toX(x, extent, frame), toY(y, extent, frame)]);
}

/** Radius by share of time: area, not radius, grows with it. */
export function radius(share: number): number {
  return 4 + 9 * Math.sqrt(Math.min(1, Math.max(0, share)));
}

const SHAPES = ["circle", "square", "diamond", "triangle"] as const;
export type Shape = (typeof SHAPES)[number] | "star";

/** Eight hues in four shapes: thirty-two series that stay apart. */
export function shapeOf(series: number): Shape {
  return SHAPES[series % SHAPES.length] ?? "circle";
}

/** An SVG path around 0,0. */
export function shapePath(shape: Shape, r: number): string {
  switch (shape) {
    case "circle": return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    case "square": return `M${-r * 0.9} ${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`;
    case "diamond": return `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0z`;
    case "triangle": return `M0 ${-r * 1.15}L${r * 1.1} ${r * 0.8}L${-r * 1.1} ${r * 0.8}z`;
    case "star": {
      const corners = Array.from({ length: 10 }, (_, i) => {
        const [size, turn] = [i % 2 ? r * 0.55 : r * 1.3, (Math.PI * i) / 5 - Math.PI / 2];
        return `${(size * Math.cos(turn)).toFixed(2)} ${(size * Math.sin(turn)).toFixed(2)}`;
      });
      return `M${corners.join("L")}z`;
    }
  }
}

/** The point nearest to a place, within `reach` px; large points first lose to small ones on top of them. */
export function nearest(points: readonly Point[], x: number, y: number, extent: Extent, frame: Frame, reach = 14): number | null {
  let best: number | null = null;
  let least = reach;
  points.forEach((point, i) => {
    const distance = Math.hypot(toX(point.intensity, extent, frame) - x, toY(point.rate, extent, frame) - y);
    if (distance <= least) {
      least = distance;
      best = i;
    }
  });
  return best;
}
