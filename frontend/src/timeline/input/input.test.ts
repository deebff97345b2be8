import { describe, expect, it } from "vitest";
import { InputMachine } from "./input";
import type { Action, Input } from "./input";

const none = { shift: false, ctrl: false };
const down = (x: number, y: number, patch: Partial<Extract<Input, { type: "down" }>> = {}): Input => ({
  type: "down",
  x,
  y,
  button: 0,
  onRuler: false,
  grip: null,
  ...none,
  ...patch,
});
const move = (x: number, y: number): Input => ({ type: "move", x, y });
const up = (x: number, y: number): Input => ({ type: "up", x, y });
const key = (k: string, patch = {}): Input => ({ type: "key", key: k, ...none, ...patch });
const keyup = (k: string): Input => ({ type: "keyup", key: k });
const play = (machine: InputMachine, ...inputs: Input[]): Action[] => inputs.flatMap((input) => machine.feed(input));
const commands = (actions: Action[]) => actions.map((a) => (a.do === "command" ? a.command : a.do));

describe("tools", () => {
  it("are chosen by digits and by the characters that Shift makes of them", () => {
    for (const [keys, tool] of [
      ["1!", "select"],
      ["2@", "pan"],
      ["3#", "zoom"],
      ["4$", "timing"],
    ] as const) {
      for (const k of keys) {
        const machine = new InputMachine();
        expect(play(machine, key(k))).toEqual([{ do: "tool" }]);
        expect(machine.tool).toBe(tool);
      }
    }
  });

  it("Shift selects and Space pans while held", () => {
    const machine = new InputMachine();
    play(machine, key("4"), key("Shift", { shift: true }));
    expect(machine.tool).toBe("select");
    play(machine, keyup("Shift"));
    expect(machine.tool).toBe("timing");
    play(machine, key(" "));
    expect(machine.tool).toBe("pan");
    play(machine, { type: "cancel" });
    expect(machine.tool).toBe("timing");
  });
});

describe("the binding path", () => {
  it("is shown by B and gone along by N and brackets", () => {
    const keys = [key("b"), key("n"), key("]"), key("N", { shift: true }), key("[")];
    expect(commands(play(new InputMachine(), ...keys))).toEqual(["path", "next-piece", "next-piece", "previous-piece", "previous-piece"]);
  });
});

describe("select", () => {
  it("treats a small pointer movement as a click", () => {
    expect(play(new InputMachine(), down(10, 10), move(11, 11), up(11, 11))).toEqual([{ do: "click", x: 11, y: 11, add: false }]);
  });

  it("adds with Control, and with Shift", () => {
    expect(play(new InputMachine(), down(1, 1, { ctrl: true }), up(1, 1))).toEqual([{ do: "click", x: 1, y: 1, add: true }]);
    expect(play(new InputMachine(), down(1, 1, { shift: true }), up(1, 1))).toEqual([{ do: "click", x: 1, y: 1, add: true }]);
  });

  it("drags a rectangle", () => {
    expect(play(new InputMachine(), down(10, 10), move(30, 40), up(30, 40))).toEqual([
      { do: "rectangle", x0: 10, y0: 10, x1: 30, y1: 40, add: false, final: false },
      { do: "rectangle", x0: 10, y0: 10, x1: 30, y1: 40, add: false, final: true },
    ]);
  });

  it("only hovers without a button, and ignores the right one", () => {
    expect(play(new InputMachine(), move(5, 5))).toEqual([{ do: "hover", x: 5, y: 5 }]);
    expect(play(new InputMachine(), down(5, 5, { button: 2 }), up(5, 5))).toEqual([]);
  });
});

describe("pan, zoom, timing", () => {
  it("pans by the distance since the last move; the middle button always pans", () => {
    const machine = new InputMachine();
    expect(play(machine, key("2"), down(100, 100), move(90, 105), move(80, 110), up(80, 110))).toEqual([
      { do: "tool" },
      { do: "pan", dx: 10, dy: -5 },
      { do: "pan", dx: 10, dy: -5 },
    ]);
    expect(play(new InputMachine(), down(0, 0, { button: 1 }), move(10, 0))).toEqual([{ do: "pan", dx: -10, dy: 0 }]);
  });

  it("zooms in upwards around where the drag began", () => {
    const machine = new InputMachine();
    const [, first] = play(machine, key("3"), down(50, 100), move(60, 20));
    expect(first).toEqual({ do: "zoom", x: 50, factor: 0.5 });
    expect(play(machine, move(60, 100))).toEqual([{ do: "zoom", x: 50, factor: 2 }]);
    expect(play(machine, up(60, 100), move(61, 50))).toEqual([{ do: "hover", x: 61, y: 50 }]);
  });

  it("marks an interval, drags its ends, clears it by a click", () => {
    const machine = new InputMachine();
    play(machine, key("4"));
    expect(play(machine, down(10, 5), move(60, 5), up(60, 5))).toEqual([{ do: "interval", from: 10, to: 60 }]);
    expect(play(machine, down(60, 5, { grip: "end" }), move(70, 5), up(70, 5))).toEqual([{ do: "grip", end: "end", x: 70 }]);
    expect(play(machine, down(200, 5), up(200, 5))).toEqual([{ do: "clear-interval" }]);
  });

  it("lets a dragged end pass the other", () => {
    const machine = new InputMachine();
    play(machine, key("4"), down(60, 5, { grip: "end" }), move(50, 5));
    machine.swapGrip();
    expect(play(machine, move(10, 5))).toEqual([{ do: "grip", end: "begin", x: 10 }]);
  });

  it("measures on the axis with any tool, and keeps the mark when other tools click", () => {
    const machine = new InputMachine();
    expect(play(machine, down(10, -9, { onRuler: true }), move(40, -9), up(40, -9))).toEqual([{ do: "interval", from: 10, to: 40 }]);
    expect(play(machine, down(10, 9), up(10, 9)).map((a) => a.do)).toEqual(["click"]);
  });
});

describe("wheel and keys", () => {
  it("scrolls, pans with Shift, zooms with Control", () => {
    const wheel = (dx: number, dy: number, patch = {}): Input => ({ type: "wheel", x: 40, dx, dy, ...none, ...patch });
    expect(play(new InputMachine(), wheel(0, 30))).toEqual([{ do: "pan", dx: 0, dy: 30 }]);
    expect(play(new InputMachine(), wheel(0, 30, { shift: true }))).toEqual([{ do: "pan", dx: 30, dy: 0 }]);
    expect(play(new InputMachine(), wheel(0, -300, { ctrl: true }))).toEqual([{ do: "zoom", x: 40, factor: 0.5 }]);
  });

  it("maps XProf's letters", () => {
    const keys = ["w", "S", "a", "d", "f", "m", "0", "z", "/", "?", "Escape", "ArrowLeft", "ArrowDown", "Enter"];
    expect(commands(play(new InputMachine(), ...keys.map((k) => key(k))))).toEqual([
      "zoom-in",
      "zoom-out",
      "pan-left",
      "pan-right",
      "frame",
      "mark",
      "whole",
      "whole",
      "search",
      "help",
      "clear",
      "left",
      "down",
      "next-hit",
    ]);
    expect(commands(play(new InputMachine(), key("Enter", { shift: true })))).toEqual(["previous-hit"]);
    expect(commands(play(new InputMachine(), key("g"), key("G", { shift: true })))).toEqual(["next-gap", "previous-gap"]);
  });

  it("leaves keys with Control and unknown keys to the browser", () => {
    expect(play(new InputMachine(), key("f", { ctrl: true }), key("x"), key("Tab"), keyup("w"))).toEqual([]);
  });

  it("cancels a drag on Escape", () => {
    const machine = new InputMachine();
    play(machine, down(0, 0), move(50, 50), key("Escape"));
    expect(play(machine, up(50, 50))).toEqual([]);
  });
});
