// The visible rows: TanStack's virtualizer in a Preact component.
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW_PX = 20;
const OVERSCAN = 8;

interface VisibleRows {
  first: number;
  /** One past the last. */
  end: number;
  total: number;
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

  const items = virtual.getVirtualItems();
  return {
    first: items[0]?.index ?? 0,
    end: (items.at(-1)?.index ?? -1) + 1,
    total: count * ROW_PX,
    show: (index) => virtual.scrollToIndex(index, { align: "auto" }),
    perPage: Math.max(1, Math.floor(((virtual.scrollRect?.height ?? 400) - headPx) / ROW_PX) - 1),
  };
}
