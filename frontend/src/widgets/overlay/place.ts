// Where floating boxes go: below their element, above it if there is more room, within the window.
const GAP = 4;
export const EDGE = 8;

export interface Rect {
  left: number;
  top: number;
  bottom: number;
}

export interface Size {
  width: number;
  height: number;
}

interface Place {
  left: number;
  /** Distance from the top of the window, or from its bottom for a box above the element. */
  top: number | null;
  bottom: number | null;
  /** Height to the edge of the window. */
  room: number;
}

/** The place of a box that may not cover its element. */
export function placeBeside(target: Rect, box: Size, view: Size): Place {
  const below = view.height - target.bottom - GAP - EDGE;
  const above = target.top - GAP - EDGE;
  const left = Math.max(EDGE, Math.min(target.left, view.width - box.width - EDGE));
  return box.height > below && above > below
    ? { left, top: null, bottom: view.height - target.top + GAP, room: above }
    : { left, top: target.bottom + GAP, bottom: null, room: below };
}

/** Size of the part of the page that is seen. */
export function viewSize(root: Document = document): Size {
  return { width: root.documentElement.clientWidth, height: root.documentElement.clientHeight };
}
