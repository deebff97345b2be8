// The visible rows: TanStack's virtualizer in a Preact component.
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import { usePrinting } from "../content/use_printing";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW_PX = 20;
const OVERSCAN = 8;
/** Rows on paper. */
const PRINTED = 50;

interface VisibleRows {
  first: number;
  /** One past the last. */
  end: number;
  total: number;
  /** Number of rows on paper while the page is printed, else null. */
  printed: number | null;
  /** Scrolls a row into view, below the sticky header. */
  show(index: number): void;
  /** Rows that fit at once. */
  perPage: number;
}

/** `headPx` is the height of the sticky header above the rows, inside the same scroller. */
export function useRows(scroller: { readonly current: HTMLElement | null }, count: number, headPx: number): VisibleRows {
  const [, draw] = useState(0);
  const held = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: headPx,
    scrollPaddingStart: headPx,
    scrollToFn: elementScroll,
    observeElementRect: observeElementRect<HTMLElement>,
    observeElementOffset: observeElementOffset<HTMLElement>,
    onChange: () => draw((n) => n + 1),
  };
  const virtual = (held.current ??= new Virtualizer<HTMLElement, HTMLElement>(options));
  virtual.setOptions({ ...virtual.options, ...options });
  useEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());

  const printed = usePrinting() ? Math.min(count, PRINTED) : null;
  const items = virtual.getVirtualItems();
  return {
    first: printed === null ? (items[0]?.index ?? 0) : 0,
    end: printed ?? (items.at(-1)?.index ?? -1) + 1,
    total: (printed ?? count) * ROW_PX,
    printed,
    show: (index) => virtual.scrollToIndex(index, { align: "auto" }),
    perPage: Math.max(1, Math.floor(((virtual.scrollRect?.height ?? 400) - headPx) / ROW_PX) - 1),
  };
}
