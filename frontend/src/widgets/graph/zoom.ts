// The scale of a drawing in a scrolled box: zoom about a point, fit, and bringing a rectangle into view.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export const [SMALLEST, LARGEST] = [0.05, 3];

const clamp = (scale: number): number => Math.min(LARGEST, Math.max(SMALLEST, scale));

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Drawing {
  width: number;
  height: number;
  /** Another value is another drawing, which starts as a whole if its texts stay readable. */
  identity: unknown;
  /** The least scale at which texts are readable. */
  readable: number;
  /** Centred at the start; later, when it changes, brought into view. */
  focus: Rect | null;
}

interface Zoom {
  scale: number;
  /** Without a point about the middle of the box. */
  zoom: (factor: number, point?: { clientX: number; clientY: number }) => void;
  /** Shows all of it. */
  fit: () => void;
}

/** To be called with the new scale once the drawing has its new size. */
type Anchor = (scale: number) => void;

/** Keeps the point under the pointer (without one the middle of the box) where it is while the scale changes. */
function zoomAt(box: HTMLElement, scale: number, point?: { clientX: number; clientY: number }): Anchor {
  const edge = box.getBoundingClientRect();
  const [px, py] = point ? [point.clientX - edge.left, point.clientY - edge.top] : [box.clientWidth / 2, box.clientHeight / 2];
  const [x, y] = [(box.scrollLeft + px) / scale, (box.scrollTop + py) / scale];
  return (next) => {
    box.scrollLeft = x * next - px;
    box.scrollTop = y * next - py;
  };
}

/** Scrolls the middle of a rectangle to the middle of the box; without `always` only if it is not in view. */
function centre(box: HTMLElement | null, focus: Rect | null, scale: number, always: boolean): void {
  if (!box || !focus) return;
  const [left, top, right, bottom] = [focus.x * scale, focus.y * scale, (focus.x + focus.width) * scale, (focus.y + focus.height) * scale];
  if (always || left < box.scrollLeft || right > box.scrollLeft + box.clientWidth) box.scrollLeft = (left + right - box.clientWidth) / 2;
  if (always || top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = (top + bottom - box.clientHeight) / 2;
}

export function useZoom(box: { readonly current: HTMLElement | null }, { width, height, identity, readable, focus }: Drawing): Zoom {
  const [scale, setScale] = useState(1);
  const anchor = useRef<Anchor | null>(null);
  const centred = useRef<unknown>(null);
  const fit = (least: number): void => {
    const element = box.current;
    if (element?.clientWidth)
      setScale(clamp(Math.max(least, Math.min(1, (element.clientWidth - 4) / width, (element.clientHeight - 4) / height))));
  };
  useLayoutEffect(() => fit(readable), [identity]);
  useLayoutEffect(() => {
    centre(box.current, focus, scale, centred.current !== identity);
    centred.current = identity;
  }, [identity, width, height, focus?.x, focus?.y]);
  useLayoutEffect(() => {
    if (anchor.current) anchor.current(scale);
    else centre(box.current, focus, scale, true);
    anchor.current = null;
  }, [scale]);
  return {
    scale,
    zoom: (factor, point) => {
      const next = clamp(scale * factor);
      if (!box.current || next === scale) return;
      anchor.current = zoomAt(box.current, scale, point);
      setScale(next);
    },
    fit: () => fit(SMALLEST),
  };
}
