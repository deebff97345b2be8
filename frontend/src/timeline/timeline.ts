// The timeline: wires the store to elements, input and painters, and draws at most once per frame.
import type { TimeScale } from "../base/time_scale";
import { onPath, pieceAt, pieceEndingAfter } from "./data/binding_path";
import type { PieceIndex } from "./data/binding_path";
import { commonName, eventOfBox, sameEvent } from "./data/selection";
import type { Trace } from "./data/trace";
import type { BoxIndex, CssPx, Span } from "./data/units";
import { describeRows, describeSelection, describeTrace } from "./data/description";
import { bindSplitter, buildElements } from "./dom/dom";
import type { Elements } from "./dom/dom";
import { Labels } from "./dom/labels";
import type { LabelEvents } from "./dom/labels";
import { Minimap } from "./dom/minimap";
import { Tooltip } from "./dom/tooltip";
import { Painter } from "./draw/painter";
import { FrameClock } from "./frame_clock";
import { bindGestures } from "./input/gestures";
import { focusIsFree, focusQuietly } from "./input/focus";
import { InputMachine } from "./input/input";
import type { Command, Tool } from "./input/input";
import { flowCurves, shownFlows } from "./layout/flows";
import { boxAt } from "./layout/hit_test";
import type { View } from "./layout/hit_test";
import { pathTop, rulerHeight } from "./layout/layout";
import { rectOfRow, EventLocator, rectsOf, rectsOfColumns } from "./layout/event_rects";
import type { EventPosition, ScreenRect } from "./layout/event_rects";
import { interpolate } from "./layout/window";
import { resize, toggleSection, toggleTrack } from "./state/commands";
import { setAnimatedScale, jumpTo, showSpan } from "./state/navigation";
import { INITIAL, rowsHeight, viewOf } from "./state/state";
import type { TimelineCommand, TimelineState } from "./state/state";
import { Store } from "./state/store";

/** Callbacks to the page. */
export interface TimelineEvents extends Pick<LabelEvents, "menu"> {
  /** The visible window or the visible rows changed; called at most once per frame. */
  window(): void;
  selection(): void;
  /** Tool, arrangement or marked interval changed. */
  view(): void;
  /** A piece of the binding path was clicked. */
  piece(piece: PieceIndex): void;
  /** A key command that is handled outside the timeline, such as opening the search. */
  command(command: Command): void;
}

const ANIMATION_MS = 120;
const MIN_LABEL_WIDTH: CssPx = 80;
const INITIAL_LABEL_WIDTH: CssPx = 220;
/** Labels never occupy more than this share of the width. */
const MAX_LABEL_SHARE = 0.6;
/** Number of selected events that are outlined; more outlines would hide the boxes. */
const MAX_OUTLINES = 2000;
/** A change of one of these redraws the boxes; any change redraws the overlay. */
const DATA_FIELDS = [
  "trace",
  "layout",
  "scale",
  "scroll",
  "stageHeight",
  "hits",
  "path",
  "piece",
] as const satisfies readonly (keyof TimelineState)[];

/** A change of one of these changes what is visible. */
const VIEW_FIELDS = ["layout", "scale", "scroll", "stageHeight"] as const satisfies readonly (keyof TimelineState)[];

/** A change of one of these is the user's, and belongs into the address. */
const VIEW_KEYS = ["arrangement", "interval", "hiddenFlows"] as const satisfies readonly (keyof TimelineState)[];

interface Animation {
  readonly from: TimeScale;
  readonly to: TimeScale;
  readonly start: number;
}

export class Timeline {
  readonly elements: Elements;
  readonly machine = new InputMachine();
  readonly clock = new FrameClock();
  readonly painter: Painter;
  private readonly store = new Store<TimelineState>(INITIAL);
  private readonly labels: Labels;
  private readonly tooltip: Tooltip;
  private readonly minimap: Minimap;
  private readonly observer: ResizeObserver;
  private readonly unbind: () => void;
  private readonly life = new AbortController();
  /** While a page is printed there are no frames that would draw what a new size has cleared: pictures stay, squeezed by CSS. */
  private printing = false;
  private animation: Animation | null = null;
  private request = 0;
  private dirty = { data: false, window: false };
  private labelWidth = INITIAL_LABEL_WIDTH;
  /** Cached, because reading it from the element could force a layout in every frame. */
  private spacerHeight: CssPx = 0;
  /** Where the scroll bar was put last; NaN once the user has moved it. */
  private scrolledTo: CssPx = NaN;

  constructor(
    root: HTMLElement,
    readonly events: TimelineEvents,
  ) {
    const elements = buildElements(root);
    const { store, machine } = this;
    this.elements = elements;
    this.painter = new Painter(elements);
    this.tooltip = new Tooltip(elements);
    this.minimap = new Minimap(
      elements.minimap,
      () => this.window,
      (span) => this.apply(showSpan(span, false)),
    );
    this.labels = new Labels(elements.labels, {
      toggleSection: (pid) => this.apply(toggleSection(pid)),
      toggleTrack: (key) => this.apply(toggleTrack(key)),
      menu: (target, anchor) => events.menu(target, anchor),
    });
    bindSplitter(
      elements.splitter,
      () => this.labelWidth,
      (width) => this.setLabelWidth(width),
    );
    this.unbind = bindGestures({
      store,
      machine,
      elements,
      isOwnScroll: (top) => {
        if (top !== this.scrolledTo) this.scrolledTo = NaN;
        return top === this.scrolledTo;
      },
      toolChanged: () => events.view(),
      command: (command) => events.command(command),
    });
    elements.stage.addEventListener("click", (event) => this.clicked(event), { signal: this.life.signal });
    for (const [type, printing] of [["beforeprint", true] as const, ["afterprint", false] as const]) {
      window.addEventListener(type, () => this.print(printing), { signal: this.life.signal });
    }
    store.subscribe((state, before) => this.changed(state, before));
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(elements.stage);
    this.setLabelWidth(this.labelWidth);
    this.readTheme();
  }

  dispose(): void {
    cancelAnimationFrame(this.request);
    this.observer.disconnect();
    this.unbind();
    this.life.abort();
    this.elements.root.replaceChildren();
  }

  get state(): TimelineState {
    return this.store.state;
  }

  /** Changes the state; see state/commands.ts and state/navigation.ts. */
  apply(...commands: readonly TimelineCommand[]): void {
    this.store.apply(...commands);
  }

  /** The visible window. */
  get window(): Span {
    const { begin, end } = this.state.scale;
    return { begin, end };
  }

  /** Number of rectangles drawn in the last frame. */
  get boxesDrawn(): number {
    return this.painter.frame.boxes;
  }

  /** Events that the boxes of the last frame stand for, and those of them that share a box or a pixel column. */
  get eventsDrawn(): { readonly events: number; readonly merged: number } {
    const { events, merged } = this.painter.frame;
    return { events, merged };
  }

  /** Gives the keys to the stage, unless they are in use. */
  takeFocus(): void {
    if (focusIsFree()) focusQuietly(this.elements.stage);
  }

  /** Offers the minimap a trace that is not shown itself. */
  offerOverview(trace: Trace): void {
    this.minimap.offer(trace);
    this.schedule("data");
  }

  chooseTool(tool: Tool): void {
    this.machine.choose(tool);
    this.elements.stage.dataset["tool"] = this.machine.tool;
    this.events.view();
  }

  /** Shows or hides the progress bar. */
  busy(on: boolean): void {
    this.elements.progress.hidden = !on;
  }

  /** Reads the theme's colours and the screen density again. */
  readTheme(): void {
    const { trace } = this.state;
    this.painter.readTheme(trace);
    this.colour();
    this.minimap.setPalette(this.painter.palette, this.painter.ratio);
    this.fit();
  }

  get labelsWidth(): CssPx {
    return this.labelWidth;
  }

  setLabelWidth(width: CssPx): void {
    const { root, splitter } = this.elements;
    const most = Math.max(MIN_LABEL_WIDTH, root.clientWidth * MAX_LABEL_SHARE || 600);
    this.labelWidth = Math.min(Math.max(width, MIN_LABEL_WIDTH), most);
    root.style.setProperty("--tl-labels", `${this.labelWidth}px`);
    splitter.setAttribute("aria-valuenow", String(Math.round(this.labelWidth)));
  }

  /** A click on the row of the binding path goes to the piece. */
  private clicked(event: MouseEvent): void {
    const { path, scale } = this.state;
    const box = this.elements.stage.getBoundingClientRect();
    const piece = path && this.inBand(event.clientY - box.top) ? pieceAt(path, scale.toTime(event.clientX - box.left)) : -1;
    if (piece >= 0) this.events.piece(piece);
  }

  /** Whether a height of the stage is in the row of the binding path. */
  private inBand(y: CssPx): boolean {
    return y >= pathTop(this.state.trace) && y < rulerHeight(this.state);
  }

  private print(printing: boolean): void {
    this.printing = printing;
    if (!printing) this.fit();
  }

  /** Adapts canvases and state to the size of the stage. */
  private fit(): void {
    const { root, stage } = this.elements;
    const { clientWidth, clientHeight } = stage;
    if (clientWidth === 0 || this.printing) return;
    const top = rulerHeight(this.state);
    this.painter.resize(clientWidth, clientHeight, top);
    root.style.setProperty("--tl-ruler", `${top}px`);
    this.apply(resize(clientWidth, clientHeight));
    this.schedule("data");
  }

  /** Assigns a colour to every name; events with the selected name are highlighted. */
  private colour(): void {
    const { trace, selection } = this.state;
    if (trace) this.painter.colour(trace, commonName(selection));
  }

  private changed(state: TimelineState, before: TimelineState): void {
    const renamed = commonName(state.selection) !== commonName(before.selection);
    if (state.trace !== before.trace || renamed) this.colour();
    if (state.trace && state.trace !== before.trace) this.traceChanged(state.trace);
    if (rulerHeight(state) !== rulerHeight(before)) this.fit();
    if (state.layout !== before.layout) this.labels.reset();
    if (state.target !== before.target) this.startAnimation(state);
    if (VIEW_FIELDS.some((field) => state[field] !== before[field])) this.dirty.window = true;
    const data = renamed || DATA_FIELDS.some((field) => state[field] !== before[field]);
    this.schedule(data ? "data" : "overlay");
    if (state.selection !== before.selection) {
      if (state.trace) this.elements.status.textContent = describeSelection(state.trace, state.selection);
      this.events.selection();
    }
    if (before.arrangement !== null && VIEW_KEYS.some((key) => state[key] !== before[key])) this.events.view();
  }

  private traceChanged(trace: Trace): void {
    this.minimap.offer(trace);
    this.elements.stage.setAttribute("aria-label", describeTrace(trace));
    this.elements.data.setAttribute("aria-label", describeRows(trace));
  }

  private startAnimation(state: TimelineState): void {
    this.animation = null;
    if (state.target === state.scale) return;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.apply(jumpTo(state.target));
    else this.animation = { from: state.scale, to: state.target, start: performance.now() };
  }

  private advanceAnimation(now: number): void {
    if (!this.animation) return;
    const { from, start } = this.animation;
    const { target } = this.state;
    const t = Math.min(1, Math.max(0, (now - start) / ANIMATION_MS));
    const eased = 1 - (1 - t) ** 3;
    if (t >= 1) this.animation = null;
    this.apply(setAnimatedScale(t >= 1 ? target : interpolate(from, target, eased)));
  }

  private schedule(what: "data" | "overlay"): void {
    if (what === "data") this.dirty.data = true;
    if (this.request === 0) this.request = requestAnimationFrame((now) => this.render(now));
  }

  private render(now: number): void {
    this.request = 0;
    this.advanceAnimation(now);
    this.clock.begin(now);
    const { state } = this;
    const view = viewOf(state);
    const { data, window } = this.dirty;
    this.dirty = { data: false, window: false };
    if (view) {
      if (data) this.renderData(state, view);
      this.renderOverlay(state, view);
    }
    this.clock.end();
    if (window) this.events.window();
    if (this.animation) this.schedule("overlay");
  }

  private renderData(state: TimelineState, view: View): void {
    const { trace, layout, placed, scale } = view;
    const hits = rectsOfColumns(new EventLocator(trace, layout, placed, scale), state.hits, scale.end);
    this.painter.drawData(trace, layout, placed, scale, rowsHeight(state), hits, state.path, state.piece);
    if (state.arrangement) this.labels.update(trace, layout, placed, state.arrangement.hiddenTracks);
    this.minimap.draw(this.window, scale.width);
    const { scroller, spacer } = this.elements;
    const content = layout.contentHeight + layout.pinnedHeight;
    if (content !== this.spacerHeight) spacer.style.height = `${content}px`;
    this.spacerHeight = content;
    if (Math.abs(scroller.scrollTop - state.scroll) >= 1) {
      scroller.scrollTop = state.scroll;
      this.scrolledTo = scroller.scrollTop; // rounded, or less
    }
  }

  private renderOverlay(state: TimelineState, view: View): void {
    const { trace, layout, placed, scale } = view;
    const { selection, trackIndex, interval, marker, rubberBand, pointer } = state;
    const locator = new EventLocator(trace, layout, placed, scale);
    const box = this.hover(state, view);
    const hovered = box < 0 ? null : eventOfBox(trace, box);
    const known = hovered === null || selection.some((p) => sameEvent(p, hovered));
    this.painter.drawOverlay({
      scale,
      height: rowsHeight(state),
      rulerHeight: rulerHeight(state),
      selected: rectsOf(locator, trackIndex, selection, MAX_OUTLINES),
      hovered: known ? null : (rectsOf(locator, trackIndex, [hovered], 1)[0] ?? null),
      currentHit: rectOfRow(locator, state.hits, state.currentHit),
      onPath: state.path && this.pathRects(state, locator),
      flows: flowCurves(shownFlows(state.flows, state.hiddenFlows), trace, layout, placed, scale),
      interval,
      marker,
      rubberBand,
      cursor: pointer?.x ?? null,
    });
  }

  /** The events on the binding path that are on the screen. */
  private pathRects({ path, trackIndex, scale }: TimelineState, locator: EventLocator): ScreenRect[] {
    if (!path) return [];
    const shown: EventPosition[] = [];
    for (let i = pieceEndingAfter(path, scale.begin); i < path.length && path.begin[i]! <= scale.end; i++) {
      const position = onPath(path, i);
      if (position) shown.push(position);
    }
    return rectsOf(locator, trackIndex, shown, shown.length);
  }

  /** Shows the tooltip for the box, counter or piece of the path under the pointer; returns the box, -1 for none. */
  private hover(state: TimelineState, view: View): BoxIndex {
    const { pointer, path, scale } = state;
    const hoverPoint = this.machine.dragging ? null : pointer;
    const ruler = rulerHeight(state);
    const piece = hoverPoint && path && this.inBand(hoverPoint.y + ruler) ? pieceAt(path, scale.toTime(hoverPoint.x)) : -1;
    if (hoverPoint && path && piece >= 0) {
      this.tooltip.showPiece(path, piece, hoverPoint, ruler);
      return -1;
    }
    const box = hoverPoint && hoverPoint.y >= 0 ? boxAt(view, hoverPoint.x, hoverPoint.y) : -1;
    this.tooltip.show(view.trace, view, hoverPoint, box, ruler);
    return box;
  }
}
