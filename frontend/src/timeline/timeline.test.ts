// @vitest-environment jsdom
// The whole timeline on a recorded canvas: pointer and keys in, window, selection and drawing out.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SAME_NAME } from "./draw/palette";
import { exposeHook } from "./test_hook";
import { calls, recordingContext } from "./testing/context";
import type { Stroke } from "./testing/context";
import { encodeTrace } from "./testing/synthetic";
import { resize, select, showTrace } from "./state/commands";
import { reveal } from "./state/navigation";
import { Timeline } from "./timeline";
import type { TimelineEvents } from "./timeline";
import { decodeTrace } from "./data/trace";

const WIDTH = 1000;
const HEIGHT = 324;
let now = 0;
let frames: FrameRequestCallback[] = [];
let opened: Timeline | null = null;

/** Runs animation frames until none is asked for. */
function settle(): void {
  for (let i = 0; i < 100 && frames.length > 0; i++) {
    const due = frames;
    frames = [];
    now += 16;
    for (const frame of due) frame(now);
  }
}

beforeEach(() => {
  frames = [];
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.stubGlobal("requestAnimationFrame", (f: FrameRequestCallback) => frames.push(f));
  vi.stubGlobal("cancelAnimationFrame", () => (frames = []));
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(WIDTH);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(HEIGHT);
  HTMLElement.prototype.setPointerCapture = () => undefined;
});
afterEach(() => {
  opened?.dispose();
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

const spec = {
  sections: [
    {
      pid: 3,
      name: "/device:TPU:0",
      tracks: [
        {
          tid: 1,
          name: "XLA Ops",
          boxes: Array.from({ length: 10 }, (_, i) => ({
            begin: i * 100_000,
            duration: 80_000,
            name: i % 2 ? "copy" : "fusion.1",
            event: i,
          })),
        },
      ],
    },
    {
      pid: 701,
      name: "/host:CPU",
      tracks: Array.from({ length: 25 }, (_, i) => ({ tid: i, name: `thread ${i}`, boxes: [{ begin: 0, duration: 5, name: "x" }] })),
    },
  ],
  full: [0, 1_000_000] as [number, number],
};

function open() {
  const logs = new Map<string, Stroke[]>();
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(function (this: HTMLCanvasElement) {
    const { context, log } = recordingContext();
    logs.set(this.className, log);
    return context;
  });
  const root = document.createElement("div");
  document.body.append(root);
  const events = {
    window: vi.fn(),
    selection: vi.fn(),
    view: vi.fn(),
    piece: vi.fn(),
    command: vi.fn<TimelineEvents["command"]>(),
    menu: vi.fn(),
  };
  const timeline = new Timeline(root, events);
  opened = timeline;
  timeline.apply(showTrace(decodeTrace(encodeTrace(spec))));
  settle();
  const stage = timeline.elements.stage;
  const pointer = (type: string, x: number, y: number, init: MouseEventInit = {}): void => {
    // jsdom has no pointer events; the handlers read what a mouse event has
    stage.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y + 24, bubbles: true, ...init }));
  };
  const key = (k: string, init: KeyboardEventInit = {}): void => {
    stage.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true, ...init }));
    settle();
  };
  const click = (x: number, y: number, init: MouseEventInit = {}): void => {
    pointer("pointermove", x, y);
    pointer("pointerdown", x, y, init);
    pointer("pointerup", x, y, init);
    settle();
  };
  return { timeline, events, root, logs, pointer, key, click };
}

describe("timeline", () => {
  it("shows the whole trace, names its tracks and starts large sections collapsed", () => {
    const { timeline, root } = open();
    expect([timeline.state.scale.begin, timeline.state.scale.end, timeline.state.scale.width]).toEqual([0, 1e6, WIDTH]);
    expect([...root.querySelectorAll(".tl-name")].map((e) => e.textContent)).toEqual(["/device:TPU:0", "XLA Ops", "/host:CPU"]);
    // ten boxes, and a stripe for each of the 25 tracks of the collapsed section
    expect(timeline.boxesDrawn).toBe(10 + 25);
    root.querySelectorAll<HTMLElement>(".tl-section button.tl-triangle")[1]?.click();
    settle();
    expect(root.querySelectorAll(".tl-track").length).toBeGreaterThan(10);
  });

  it("folds a section by a click on its name; canvases have roles and names", () => {
    const { root, timeline } = open();
    const tracks = () => root.querySelectorAll(".tl-track").length;
    expect(tracks()).toBe(1);
    root.querySelector<HTMLElement>(".tl-section .tl-name")?.click();
    settle();
    expect(tracks()).toBe(0);
    root.querySelector<HTMLElement>(".tl-section .tl-triangle")?.click();
    settle();
    expect(tracks()).toBe(1);
    const { data, minimap, stage } = timeline.elements;
    expect([data, minimap].map((canvas) => canvas.getAttribute("role"))).toEqual(["img", "img"]);
    expect(data.getAttribute("aria-label")).toBe("Events by time, a row per track: /device:TPU:0, /host:CPU");
    expect(stage.getAttribute("aria-label")).toContain("35 events");
  });

  it("selects by click, highlights events of the same name, clears by Escape", () => {
    const { timeline, events, click, key } = open();
    click(40, 30);
    expect(timeline.state.selection).toMatchObject([{ pid: 3, tid: 1, event: 0, name: "fusion.1" }]);
    expect(events.selection).toHaveBeenCalledOnce();
    expect(timeline.painter.frame.rects[SAME_NAME]?.length).toBe(5 * 4);
    key("Escape");
    expect(timeline.state.selection).toEqual([]);
    expect(timeline.painter.frame.rects[SAME_NAME]?.length).toBe(0);
  });

  it("adds with Control and selects many with a rectangle", () => {
    const { timeline, click, pointer } = open();
    click(40, 30);
    click(140, 30, { ctrlKey: true });
    expect(timeline.state.selection.map((p) => p.event)).toEqual([0, 1]);
    pointer("pointerdown", 350, 25);
    pointer("pointermove", 720, 35);
    pointer("pointerup", 720, 35);
    expect(timeline.state.selection.map((p) => p.event)).toEqual([3, 4, 5, 6, 7]);
  });

  it("zooms at the pointer, pans, frames and shows the whole trace by keys", () => {
    const { timeline, key, click, pointer } = open();
    pointer("pointermove", 500, 100);
    key("w");
    expect(timeline.state.scale.span).toBeCloseTo(1e6 / 1.5);
    expect(timeline.state.scale.toTime(500)).toBeCloseTo(5e5);
    key("d");
    expect(timeline.state.scale.begin).toBeCloseTo(1e6 / 6 + 2e5 / 1.5);
    key("0");
    expect(timeline.state.scale.span).toBeCloseTo(1e6);
    click(240, 30);
    key("f");
    expect([timeline.state.scale.begin, timeline.state.scale.end]).toEqual([192_000, 288_000]);
  });

  it("moves the selection by arrow keys and scrolls to it", () => {
    const { timeline, key, click } = open();
    click(40, 30);
    key("ArrowRight");
    key("ArrowRight");
    expect(timeline.state.selection[0]?.event).toBe(2);
    key("ArrowLeft");
    expect(timeline.state.selection[0]?.event).toBe(1);
  });

  it("marks intervals, keeps them under other tools, drags their ends", () => {
    const { timeline, key, pointer, click } = open();
    key("4");
    pointer("pointerdown", 105, 200);
    pointer("pointermove", 305, 200);
    pointer("pointerup", 305, 200);
    expect(timeline.state.interval).toEqual({ begin: 105_000, end: 305_000 });
    key("1");
    click(40, 30);
    expect(timeline.state.interval).not.toBeNull();
    key("4");
    pointer("pointermove", 305, 200);
    pointer("pointerdown", 305, 200);
    pointer("pointermove", 55, 200);
    pointer("pointermove", 45, 200);
    pointer("pointerup", 45, 200);
    expect(timeline.state.interval).toEqual({ begin: 45_000, end: 105_000 });
    click(800, 200);
    expect(timeline.state.interval).toBeNull();
    key("1");
    click(240, 30);
    key("m");
    expect(timeline.state.interval).toEqual({ begin: 200_000, end: 280_000 });
  });

  it("does not draw boxes again for a hover", () => {
    const { logs, pointer } = open();
    const before = logs.get("tl-data")?.length;
    pointer("pointermove", 42, 30);
    settle();
    expect(logs.get("tl-data")?.length).toBe(before);
    expect(calls(logs.get("tl-overlay") ?? [], "fillText").at(-1)?.[2]).toBe("42 ns");
    expect(document.querySelector(".tl-tooltip strong")?.textContent).toBe("fusion.1");
  });

  it("keeps a row in view that rows below took from it, though the scroll bar tells of its former place later", () => {
    const { timeline } = open();
    const event = { pid: 701, tid: 24, event: 0, row: 0, begin: 0, duration: 5, name: "x", count: 1 };
    timeline.apply(select([event]), reveal(event, false));
    settle();
    const { scroll } = timeline.state;
    timeline.apply(resize(WIDTH, HEIGHT / 2)); // a pane opens
    timeline.elements.scroller.dispatchEvent(new Event("scroll"));
    settle();
    expect(timeline.state.scroll).toBe(scroll + HEIGHT / 2);
    timeline.elements.scroller.scrollTop = scroll;
    timeline.elements.scroller.dispatchEvent(new Event("scroll"));
    expect(timeline.state.scroll).toBe(scroll); // by the user
  });

  it("passes search and help keys on, and ignores keys typed into a field", () => {
    const { timeline, events, key } = open();
    key("/");
    key("?");
    expect(events.command.mock.calls).toEqual([["search"], ["help"]]);
    const field = document.createElement("input");
    document.body.append(field);
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "w", bubbles: true }));
    settle();
    expect(timeline.state.scale.span).toBe(1e6);
  });

  it("keeps window, selection and arrangement when new boxes arrive", () => {
    const { timeline, click, key } = open();
    click(240, 30);
    key("f");
    const window = timeline.window;
    timeline.apply(showTrace(decodeTrace(encodeTrace({ ...spec, window: [0, 500_000] }))));
    settle();
    expect(timeline.window).toEqual(window);
    expect(timeline.state.selection[0]?.event).toBe(2);
  });

  it("zooms with Control and the wheel", () => {
    const { timeline, root } = open();
    timeline.elements.stage.dispatchEvent(
      new WheelEvent("wheel", { deltaY: -300, ctrlKey: true, clientX: 0, bubbles: true, cancelable: true }),
    );
    settle();
    expect(timeline.window).toEqual({ begin: 0, end: 5e5 });
    expect(root.querySelector(".tl-minimap")).not.toBeNull();
  });

  it("exposes its state to tests until it is disposed", () => {
    const { timeline, key } = open();
    const conceal = exposeHook(timeline);
    key("w");
    const hook = window.__timeline;
    expect(hook?.tracks).toBe(26);
    expect(hook?.frames.length).toBeGreaterThan(3);
    expect(hook?.window[1]).toBeLessThan(1e6);
    conceal();
    timeline.dispose();
    expect(window.__timeline).toBeUndefined();
  });
});
