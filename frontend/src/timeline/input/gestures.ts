// Feeds DOM events to the input machine and executes its actions as commands on the store.
import { isTyping } from "../../base/keys";
import type { CssPx, Point, Ps, Span } from "../data/units";
import { boxAt } from "../layout/hit_test";
import { rulerHeight } from "../layout/layout";
import { perPs } from "../layout/window";
import { clearOne, markSelection, selectAt, selectIn, markInterval, setPointer, setRubberBand } from "../state/commands";
import { frameAt, frameSelection, pan, scrollBy, scrollTo, showAll, step, zoom } from "../state/navigation";
import { rowsHeight, viewOf } from "../state/state";
import type { TimelineCommand, TimelineState } from "../state/state";
import type { Store } from "../state/store";
import type { Action, Command, Input, InputMachine, IntervalEnd } from "./input";

/** Hit tolerance for the ends of the marked interval. */
const GRIP: CssPx = 5;
const KEY_ZOOM = 1.5;
const KEY_PAN = 0.2;
/** Distance per line, for wheels that report lines. */
const WHEEL_LINE: CssPx = 16;
/** Page Up and Page Down scroll by this share of the visible rows. */
const PAGE = 0.9;

/** The objects that gestures act on. */
interface GestureTargets {
  readonly store: Store<TimelineState>;
  readonly machine: InputMachine;
  readonly elements: { readonly stage: HTMLElement; readonly scroller: HTMLElement; readonly root: HTMLElement };
  /** Whether the scroll bar is where the timeline itself put it last. */
  isOwnScroll(top: CssPx): boolean;
  /** The mouse tool changed. */
  toolChanged(): void;
  /** A key command that is handled outside the timeline. */
  command(command: Command): void;
}

/** Listens on the stage and, for keys, on the window; returns a function that stops listening. */
export function bindGestures(targets: GestureTargets): () => void {
  const { store, machine } = targets;
  const { stage, scroller, root } = targets.elements;
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const feed = (input: Input): boolean => {
    const actions = machine.feed(input);
    for (const action of actions) perform(targets, action);
    return actions.length > 0;
  };
  const point = (event: MouseEvent): Point => pointOf(stage, store.state, event);
  stage.addEventListener(
    "pointerdown",
    (event) => {
      stage.setPointerCapture(event.pointerId);
      const { x, y } = point(event);
      const grip = gripAt(store.state, x);
      feed({ type: "down", x, y, button: event.button, onRuler: y < 0, grip, shift: event.shiftKey, ctrl: event.ctrlKey || event.metaKey });
      if (event.button === 1) event.preventDefault();
    },
    options,
  );
  stage.addEventListener(
    "pointermove",
    (event) => {
      const pressedPoint = point(event);
      store.apply(setPointer(pressedPoint));
      feed({ type: "move", ...pressedPoint });
      stage.classList.toggle("tl-grip", machine.tool === "timing" && gripAt(store.state, pressedPoint.x) !== null);
    },
    options,
  );
  stage.addEventListener("pointerup", (event) => feed({ type: "up", ...point(event) }), options);
  stage.addEventListener("dblclick", (event) => feed({ type: "double", ...point(event) }), options);
  stage.addEventListener("pointerleave", () => store.apply(setPointer(null)), options);
  stage.addEventListener("pointercancel", () => feed({ type: "cancel" }), options);
  root.addEventListener(
    "wheel",
    (event) => {
      if (event.target === scroller) return;
      const unit = event.deltaMode === 1 ? WHEEL_LINE : event.deltaMode === 2 ? rowsHeight(store.state) : 1;
      const { x } = point(event);
      feed({
        type: "wheel",
        x: Math.max(x, 0),
        dx: event.deltaX * unit,
        dy: event.deltaY * unit,
        shift: event.shiftKey,
        ctrl: event.ctrlKey || event.metaKey,
      });
      event.preventDefault();
    },
    { ...options, passive: false },
  );
  scroller.addEventListener(
    "scroll",
    () => {
      // the event of a position that was set here comes a frame later, when rows may have moved on
      if (targets.isOwnScroll(scroller.scrollTop)) return;
      if (Math.abs(scroller.scrollTop - store.state.scroll) >= 1) store.apply(scrollTo(scroller.scrollTop));
    },
    options,
  );
  bindKeys(stage, feed, options);
  return () => stop.abort();
}

function bindKeys(stage: HTMLElement, feed: (input: Input) => boolean, options: AddEventListenerOptions): void {
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.defaultPrevented || event.altKey || isTyping(event.target) || belongsElsewhere(stage, event)) return;
      const input: Input = { type: "key", key: event.key, shift: event.shiftKey, ctrl: event.ctrlKey || event.metaKey };
      if (feed(input)) event.preventDefault();
    },
    options,
  );
  window.addEventListener("keyup", (event) => feed({ type: "keyup", key: event.key }), options);
  window.addEventListener("blur", () => feed({ type: "cancel" }), options);
}

/** Whether the focused element handles a key: another timeline or a dialog handles all keys, a button or table those that operate it. */
function belongsElsewhere(stage: HTMLElement, event: KeyboardEvent): boolean {
  const target = event.target;
  const [own, other] = [stage.closest<HTMLElement>(".tl"), target instanceof Element ? target.closest(".tl") : null];
  if (other === null ? own?.dataset["aside"] !== undefined : other !== own) return true;
  if (!(target instanceof HTMLElement) || target === stage) return false;
  if (document.querySelector("dialog[open]") !== null || target.closest("[role=menu]") !== null) return true;
  const interactive = target.closest("button, a, summary, table, [role=grid], [role=tab], [role=separator], [tabindex]") !== null;
  return interactive && /^(Enter| |Tab|Arrow.*|Page.*|Home|End)$/.test(event.key);
}

function pointOf(stage: HTMLElement, state: TimelineState, event: MouseEvent): Point {
  const box = stage.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top - rulerHeight(state) };
}

function gripAt({ interval, scale }: TimelineState, x: CssPx): IntervalEnd | null {
  if (!interval) return null;
  if (Math.abs(scale.toPx(interval.begin) - x) <= GRIP) return "begin";
  return Math.abs(scale.toPx(interval.end) - x) <= GRIP ? "end" : null;
}

/** Executes one action of the machine. */
function perform({ store, machine, elements, ...targets }: GestureTargets, action: Action): void {
  switch (action.do) {
    case "click":
      return store.apply(selectAt(action, action.add));
    case "open":
      return store.apply(frameAt(action));
    case "rectangle":
      return action.final ? store.apply(setRubberBand(null), selectIn(action, action.add)) : store.apply(setRubberBand(action));
    case "pan":
      return store.apply(pan(action.dx, false), scrollBy(action.dy));
    case "zoom":
      return store.apply(zoom(action.factor, action.x, false));
    case "interval":
      return store.apply(markInterval(ordered(snap(store.state, action.from), snap(store.state, action.to))));
    case "grip":
      return moveGrip(store, machine, action.end, action.x);
    case "clear-interval":
      return store.apply(markInterval(null));
    case "hover":
      return;
    case "drop":
      return store.apply(setRubberBand(null));
    case "tool":
      elements.stage.dataset["tool"] = machine.tool;
      return targets.toolChanged();
    case "command": {
      const command = timelineCommand(store.state, action.command);
      if (command) store.apply(command);
      // clearing also concerns what the page shows of the selection
      if (!command || action.command === "clear") targets.command(action.command);
      return;
    }
  }
}

/** The state command of a key command; null for those handled outside the timeline. */
function timelineCommand(state: TimelineState, command: Command): TimelineCommand | null {
  const { width } = state.target;
  const x = state.pointer?.x ?? width / 2;
  switch (command) {
    case "zoom-in":
      return zoom(1 / KEY_ZOOM, x, true);
    case "zoom-out":
      return zoom(KEY_ZOOM, x, true);
    case "pan-left":
      return pan(-width * KEY_PAN, true);
    case "pan-right":
      return pan(width * KEY_PAN, true);
    case "page-up":
      return scrollBy(-rowsHeight(state) * PAGE);
    case "page-down":
      return scrollBy(rowsHeight(state) * PAGE);
    case "left":
    case "right":
    case "up":
    case "down":
      return step(command);
    case "frame":
      return frameSelection;
    case "mark":
      return markSelection;
    case "whole":
      return showAll;
    case "clear":
      return clearOne;
    case "search":
    case "next-hit":
    case "previous-hit":
    case "next-gap":
    case "previous-gap":
    case "path":
    case "next-piece":
    case "previous-piece":
    case "help":
    case "open":
      return null;
  }
}

/** Drags one end of the marked interval; past the other end, the two are swapped. */
function moveGrip(store: Store<TimelineState>, machine: InputMachine, end: IntervalEnd, x: CssPx): void {
  const { interval } = store.state;
  if (!interval) return;
  const time = snap(store.state, x);
  const fixed = end === "begin" ? interval.end : interval.begin;
  store.apply(markInterval(ordered(time, fixed)));
  if (time < fixed !== (end === "begin")) machine.swapGrip();
}

/** The time at a pixel, snapped to a nearby edge of the box under the pointer. */
function snap(state: TimelineState, x: CssPx): Ps {
  const view = viewOf(state);
  const time = state.scale.toTime(x);
  const y = state.pointer?.y ?? -1;
  const box = view && y >= 0 ? boxAt(view, x, y) : -1;
  if (!view || box < 0) return time;
  const reach = GRIP / perPs(view.scale);
  const begin = view.trace.begin[box]!;
  const end = begin + view.trace.duration[box]!;
  if (Math.abs(begin - time) <= reach) return begin;
  return Math.abs(end - time) <= reach ? end : time;
}

function ordered(a: Ps, b: Ps): Span {
  return a <= b ? { begin: a, end: b } : { begin: b, end: a };
}
