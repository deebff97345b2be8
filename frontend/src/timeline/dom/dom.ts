// Creates the DOM elements of the timeline, and makes the splitter draggable.
import type { CssPx } from "../data/units";

export interface Elements {
  readonly root: HTMLElement;
  /** Left of the minimap; filled by the page. */
  readonly corner: HTMLElement;
  /** Left of the ruler. */
  readonly axis: HTMLElement;
  readonly labels: HTMLElement;
  /** Focusable; contains ruler, boxes and overlay. */
  readonly stage: HTMLElement;
  readonly ruler: HTMLCanvasElement;
  readonly data: HTMLCanvasElement;
  readonly overlay: HTMLCanvasElement;
  readonly minimap: HTMLCanvasElement;
  /** A native scroll bar; the spacer within it is as tall as all tracks. */
  readonly scroller: HTMLElement;
  readonly spacer: HTMLElement;
  readonly splitter: HTMLElement;
  readonly tooltip: HTMLElement;
  readonly progress: HTMLElement;
  /** Live region: announces selection changes to screen readers. */
  readonly status: HTMLElement;
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, className: string, parent: HTMLElement): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

/** Creates the elements below `root`. */
export function buildElements(root: HTMLElement): Elements {
  root.classList.add("tl");
  const corner = make("div", "tl-corner", root);
  const minimap = make("canvas", "tl-minimap", root);
  const axis = make("div", "tl-axis", root);
  for (const name of ["Time of the recording", "Steps", "Binding path"]) make("div", "", axis).textContent = name;
  const labels = make("div", "tl-labels", root);
  const stage = make("div", "tl-stage", root);
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute("aria-roledescription", "timeline");
  const ruler = make("canvas", "tl-ruler", stage);
  const data = make("canvas", "tl-data", stage);
  const overlay = make("canvas", "tl-overlay", stage);
  data.setAttribute("role", "img");
  minimap.setAttribute("role", "img");
  minimap.setAttribute("aria-label", "Overview of the whole recording; its frame is the visible window");
  for (const extra of [ruler, overlay]) extra.setAttribute("aria-hidden", "true");
  const scroller = make("div", "tl-scroller", root);
  scroller.tabIndex = -1;
  const spacer = make("div", "tl-spacer", scroller);
  const splitter = make("div", "tl-splitter", root);
  splitter.setAttribute("role", "separator");
  splitter.setAttribute("aria-orientation", "vertical");
  splitter.setAttribute("aria-label", "Width of the track names");
  splitter.tabIndex = 0;
  const tooltip = make("div", "tl-tooltip", root);
  tooltip.hidden = true;
  const progress = make("div", "tl-progress", root);
  progress.hidden = true;
  const status = make("div", "tl-status", root);
  status.setAttribute("aria-live", "polite");
  return { root, corner, axis, labels, stage, ruler, data, overlay, minimap, scroller, spacer, splitter, tooltip, progress, status };
}

/** Makes the border between names and boxes movable by pointer and arrow keys. */
export function bindSplitter(splitter: HTMLElement, width: () => CssPx, resize: (width: CssPx) => void): void {
  splitter.addEventListener("pointerdown", (down) => {
    const start = width();
    splitter.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => resize(start + event.clientX - down.clientX);
    const stop = (): void => splitter.removeEventListener("pointermove", move);
    splitter.addEventListener("pointermove", move);
    splitter.addEventListener("pointerup", stop, { once: true });
    splitter.addEventListener("pointercancel", stop, { once: true });
    down.preventDefault();
  });
  splitter.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowLeft" ? -16 : event.key === "ArrowRight" ? 16 : 0;
    if (step === 0) return;
    resize(width() + step);
    event.preventDefault();
    event.stopPropagation();
  });
}
