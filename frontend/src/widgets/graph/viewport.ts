// The part of a scrolled drawing that is in view, in units of the drawing and rounded outwards, so that it seldom changes.
import { useEffect, useState } from "preact/hooks";

export interface Viewport {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Rounding, in units of the drawing. */
const TILE = 300;
const ALL: Viewport = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

/** Rounded outwards to whole tiles, one more on every side. */
export function tiles(left: number, top: number, width: number, height: number): Viewport {
  const [low, high] = [
    (at: number): number => (Math.floor(at / TILE) - 1) * TILE,
    (at: number): number => (Math.ceil(at / TILE) + 1) * TILE,
  ];
  return { left: low(left), top: low(top), right: high(left + width), bottom: high(top + height) };
}

const same = (a: Viewport, b: Viewport): boolean => a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom;

/** Follows scrolling and the size of the box; without a layout everything is in view. */
export function useViewport(box: { readonly current: HTMLElement | null }, scale: number): Viewport {
  const [viewport, setViewport] = useState<Viewport>(ALL);
  useEffect(() => {
    const element = box.current;
    if (!element?.clientWidth) return undefined;
    const measure = (): void => {
      const next = tiles(element.scrollLeft / scale, element.scrollTop / scale, element.clientWidth / scale, element.clientHeight / scale);
      setViewport((old) => (same(old, next) ? old : next));
    };
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(measure);
    sizes?.observe(element);
    return () => {
      element.removeEventListener("scroll", measure);
      sizes?.disconnect();
    };
  }, [box, scale]);
  return viewport;
}

/** Whether a rectangle is at least partly in view. */
export function within(viewport: Viewport, left: number, top: number, right: number, bottom: number): boolean {
  return right > viewport.left && left < viewport.right && bottom > viewport.top && top < viewport.bottom;
}

export const EVERYTHING = ALL;
