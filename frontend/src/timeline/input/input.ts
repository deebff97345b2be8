// Translates mouse and key input to actions: a state machine without DOM access, testable without a browser.
import type { CssPx } from "../data/units";

export const TOOLS = ["select", "pan", "zoom", "timing"] as const;
export type Tool = (typeof TOOLS)[number];

/** An end of the marked interval. */
export type IntervalEnd = "begin" | "end";

interface Modifiers {
  readonly shift: boolean;
  /** Control or, on a Mac, command. */
  readonly ctrl: boolean;
}

export type Input =
  | ({
      readonly type: "down";
      readonly x: CssPx;
      readonly y: CssPx;
      readonly button: number;
      readonly onRuler: boolean;
      readonly grip: IntervalEnd | null;
    } & Modifiers)
  | { readonly type: "move"; readonly x: CssPx; readonly y: CssPx }
  | { readonly type: "up"; readonly x: CssPx; readonly y: CssPx }
  | { readonly type: "double"; readonly x: CssPx; readonly y: CssPx }
  | { readonly type: "cancel" }
  | ({ readonly type: "wheel"; readonly x: CssPx; readonly dx: CssPx; readonly dy: CssPx } & Modifiers)
  | ({ readonly type: "key"; readonly key: string } & Modifiers)
  | { readonly type: "keyup"; readonly key: string };

export type Command =
  | "frame"
  | "mark"
  | "whole"
  | "clear"
  | "search"
  | "next-hit"
  | "previous-hit"
  | "next-gap"
  | "previous-gap"
  | "path"
  | "next-piece"
  | "previous-piece"
  | "help"
  | "left"
  | "right"
  | "up"
  | "down"
  | "zoom-in"
  | "zoom-out"
  | "pan-left"
  | "pan-right"
  | "page-up"
  | "page-down"
  | "open";

export type Action =
  | { readonly do: "click"; readonly x: CssPx; readonly y: CssPx; readonly add: boolean }
  | { readonly do: "open"; readonly x: CssPx; readonly y: CssPx }
  | {
      readonly do: "rectangle";
      readonly x0: CssPx;
      readonly y0: CssPx;
      readonly x1: CssPx;
      readonly y1: CssPx;
      readonly add: boolean;
      readonly final: boolean;
    }
  | { readonly do: "pan"; readonly dx: CssPx; readonly dy: CssPx }
  | { readonly do: "zoom"; readonly x: CssPx; readonly factor: number }
  | { readonly do: "interval"; readonly from: CssPx; readonly to: CssPx }
  | { readonly do: "grip"; readonly end: IntervalEnd; readonly x: CssPx }
  | { readonly do: "clear-interval" }
  | { readonly do: "hover"; readonly x: CssPx; readonly y: CssPx }
  | { readonly do: "drop" }
  | { readonly do: "tool" }
  | { readonly do: "command"; readonly command: Command };

type Gesture =
  | { readonly kind: "none" }
  | { readonly kind: "press"; readonly tool: Tool; readonly x: CssPx; readonly y: CssPx; readonly add: boolean; readonly ruler: boolean }
  | {
      readonly kind: "drag";
      readonly tool: Tool;
      readonly x: CssPx;
      readonly y: CssPx;
      readonly add: boolean;
      readonly lastX: CssPx;
      readonly lastY: CssPx;
    }
  | { readonly kind: "grip"; readonly end: IntervalEnd };

/** Pointer movement below this counts as a click. */
const DRAG: CssPx = 3;
/** Dragging this far with the zoom tool doubles or halves the window's length. */
const ZOOM_DRAG: CssPx = 80;
const WHEEL_ZOOM: CssPx = 300;

const TOOL_KEYS: Readonly<Record<string, Tool>> = {
  "1": "select",
  "!": "select",
  "2": "pan",
  "@": "pan",
  "3": "zoom",
  "#": "zoom",
  "4": "timing",
  $: "timing",
};

const COMMAND_KEYS: Readonly<Record<string, Command>> = {
  w: "zoom-in",
  s: "zoom-out",
  a: "pan-left",
  d: "pan-right",
  f: "frame",
  g: "next-gap",
  b: "path",
  n: "next-piece",
  "]": "next-piece",
  "[": "previous-piece",
  m: "mark",
  "0": "whole",
  z: "whole",
  "/": "search",
  "?": "help",
  escape: "clear",
  arrowleft: "left",
  arrowright: "right",
  arrowup: "up",
  arrowdown: "down",
  pageup: "page-up",
  pagedown: "page-down",
  enter: "next-hit",
};

/** The state machine. `feed` returns the actions; `tool` is the active tool, `chosen` the one active without held keys. */
export class InputMachine {
  chosen: Tool = "select";
  private gesture: Gesture = { kind: "none" };
  private heldShift = false;
  private heldSpace = false;

  /** Shift selects and Space pans for as long as they are held. */
  get tool(): Tool {
    if (this.heldSpace) return "pan";
    return this.heldShift ? "select" : this.chosen;
  }

  get dragging(): boolean {
    return this.gesture.kind === "drag" || this.gesture.kind === "grip";
  }

  choose(tool: Tool): void {
    this.chosen = tool;
  }

  /** Swaps the dragged end of the interval, which passed the other one. */
  swapGrip(): void {
    if (this.gesture.kind !== "grip") return;
    this.gesture = { kind: "grip", end: this.gesture.end === "begin" ? "end" : "begin" };
  }

  feed(input: Input): Action[] {
    switch (input.type) {
      case "down":
        return this.down(input);
      case "move":
        return this.move(input.x, input.y);
      case "up":
        return this.up(input.x, input.y);
      case "double":
        return [{ do: "open", x: input.x, y: input.y }];
      case "cancel":
        this.gesture = { kind: "none" };
        this.heldShift = this.heldSpace = false;
        return [{ do: "drop" }, { do: "tool" }];
      case "wheel":
        return wheel(input);
      case "key":
        return this.key(input);
      case "keyup":
        return this.release(input.key);
    }
  }

  private down(input: Extract<Input, { type: "down" }>): Action[] {
    if (input.button > 1) return [];
    if (input.button === 0 && input.grip !== null && this.tool === "timing") {
      this.gesture = { kind: "grip", end: input.grip };
      return [];
    }
    const tool = input.button === 1 ? "pan" : input.onRuler ? "timing" : this.tool;
    const add = input.ctrl || (input.shift && this.chosen === "select");
    this.gesture = { kind: "press", tool, x: input.x, y: input.y, add, ruler: input.onRuler };
    return [];
  }

  private move(x: CssPx, y: CssPx): Action[] {
    const g = this.gesture;
    if (g.kind === "none") return [{ do: "hover", x, y }];
    if (g.kind === "grip") return [{ do: "grip", end: g.end, x }];
    if (g.kind === "press") {
      if (Math.hypot(x - g.x, y - g.y) < DRAG) return [];
      this.gesture = { kind: "drag", tool: g.tool, x: g.x, y: g.y, add: g.add, lastX: g.x, lastY: g.y };
      return this.move(x, y);
    }
    this.gesture = { ...g, lastX: x, lastY: y };
    switch (g.tool) {
      case "select":
        return [{ do: "rectangle", x0: g.x, y0: g.y, x1: x, y1: y, add: g.add, final: false }];
      case "pan":
        return [{ do: "pan", dx: g.lastX - x, dy: g.lastY - y }];
      case "zoom":
        return [{ do: "zoom", x: g.x, factor: 2 ** ((y - g.lastY) / ZOOM_DRAG) }];
      case "timing":
        return [{ do: "interval", from: g.x, to: x }];
    }
  }

  private up(x: CssPx, y: CssPx): Action[] {
    const g = this.gesture;
    this.gesture = { kind: "none" };
    if (g.kind === "press") {
      // a click with the timing tool clears the marked interval; with other tools it selects
      if (g.tool === "timing") return [{ do: "clear-interval" }];
      return g.tool === "select" ? [{ do: "click", x, y, add: g.add }] : [];
    }
    if (g.kind === "drag" && g.tool === "select") {
      return [{ do: "rectangle", x0: g.x, y0: g.y, x1: x, y1: y, add: g.add, final: true }];
    }
    return [];
  }

  private key(input: Extract<Input, { type: "key" }>): Action[] {
    const { key, shift, ctrl } = input;
    if (ctrl) return [];
    const tool = TOOL_KEYS[key];
    if (tool !== undefined) {
      this.chosen = tool;
      return [{ do: "tool" }];
    }
    if (key === "Shift" || key === " ") {
      if (key === " ") this.heldSpace = true;
      else this.heldShift = true;
      return [{ do: "tool" }];
    }
    const command = COMMAND_KEYS[key.toLowerCase()];
    if (command === undefined) return [];
    if (command === "clear") this.gesture = { kind: "none" };
    if (command === "next-hit" && shift) return [{ do: "command", command: "previous-hit" }];
    if (command === "next-gap" && shift) return [{ do: "command", command: "previous-gap" }];
    if (command === "next-piece" && shift) return [{ do: "command", command: "previous-piece" }];
    return [{ do: "command", command }];
  }

  private release(key: string): Action[] {
    if (key === " ") this.heldSpace = false;
    else if (key === "Shift") this.heldShift = false;
    else return [];
    return [{ do: "tool" }];
  }
}

function wheel(input: Extract<Input, { type: "wheel" }>): Action[] {
  if (input.ctrl) {
    return [{ do: "zoom", x: input.x, factor: 2 ** (input.dy / WHEEL_ZOOM) }];
  }
  // with Shift held, some browsers report horizontal wheel movement and some vertical
  if (input.shift) return [{ do: "pan", dx: input.dx || input.dy, dy: 0 }];
  return [{ do: "pan", dx: input.dx, dy: input.dy }];
}
