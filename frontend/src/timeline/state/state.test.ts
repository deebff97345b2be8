import { describe, expect, it, vi } from "vitest";
import { decodeTrace } from "../data/trace";
import { encodeTrace } from "../testing/synthetic";
import {
  arrange,
  clearOne,
  markInterval,
  markSelection,
  resize,
  select,
  selectAt,
  selectIn,
  setPointer,
  setRubberBand,
  showTrace,
  toggleSection,
} from "./commands";
import { setAnimatedScale, frameSelection, animateTo, jumpTo, pan, reveal, scrollTo, showAll, showGap, step, zoom } from "./navigation";
import { INITIAL, rowsHeight, viewOf } from "./state";
import type { TimelineCommand, TimelineState } from "./state";
import { Store } from "./store";
import { TimeScale } from "../../base/time_scale";

const boxes = Array.from({ length: 10 }, (_, i) => ({ begin: i * 100_000, duration: 80_000, name: i % 2 ? "copy" : "fusion", event: i }));
const answer = decodeTrace(
  encodeTrace({
    sections: [
      { pid: 3, name: "TPU", tracks: [{ tid: 1, name: "Ops", boxes }] },
      {
        pid: 7,
        name: "CPU",
        tracks: Array.from({ length: 30 }, (_, i) => ({
          tid: i,
          name: `thread ${i}`,
          boxes: [{ begin: 500_000, duration: 10, name: "x", event: 0 }],
        })),
      },
    ],
    full: [0, 1_000_000],
  }),
);
const run = (state: TimelineState, ...commands: TimelineCommand[]): TimelineState => commands.reduce((s, command) => command(s), state);
const opened = run(INITIAL, resize(1000, 224), showTrace(answer));

describe("the store", () => {
  it("notifies subscribers once per change, and not when nothing changed", () => {
    const store = new Store(opened);
    const listener = vi.fn();
    const stop = store.subscribe(listener);
    store.apply(setPointer({ x: 1, y: 2 }), setRubberBand(null));
    store.apply(setRubberBand(null), pan(0, false));
    expect(listener).toHaveBeenCalledExactlyOnceWith(store.state, opened);
    stop();
    store.apply(setPointer(null));
    expect(listener).toHaveBeenCalledOnce();
  });
});

describe("commands", () => {
  it("keep a selected event in view when the rows lose height, unless it was scrolled away", () => {
    // thread 5 begins at 22 + 21 + 22 + 5 * 21 = 170
    const event = { pid: 7, tid: 5, event: 0, row: 0, name: "x", begin: 500_000, duration: 10, count: 1 };
    const selected = run(opened, toggleSection(7), select([event]));
    expect(run(selected, resize(1000, 124)).scroll).toBe(170 + 2 * 18 - 100);
    expect(run(selected, scrollTo(300), resize(1000, 124)).scroll).toBe(300);
    expect(run(selected, select([]), resize(1000, 124)).scroll).toBe(0);
  });

  it("frame a gap, mark it, and show the section of its device", () => {
    const hidden = arrange({ ...(opened.arrangement ?? ({} as never)), hiddenSections: new Set([3]) });
    const shown = run(opened, toggleSection(7), hidden, scrollTo(300), showGap({ begin: 80_000, end: 100_000 }, 3));
    expect(shown.interval).toEqual({ begin: 80_000, end: 100_000 });
    expect([shown.target.begin, shown.target.end]).toEqual([78_000, 102_000]);
    expect([shown.arrangement?.hiddenSections.size, shown.scroll]).toEqual([0, 0]);
    expect(run(opened, showGap({ begin: 80_000, end: 100_000 }, null)).interval).not.toBeNull();
    expect(run(opened, showGap({ begin: 80_000, end: 100_000 }, 7)).arrangement?.collapsedSections.size).toBe(0);
  });

  it("show the whole trace first, large sections collapsed, and keep the view afterwards", () => {
    expect([opened.scale.begin, opened.scale.end, opened.scale.width]).toEqual([0, 1e6, 1000]);
    expect([...(opened.arrangement?.collapsedSections ?? [])]).toEqual([7]);
    expect(rowsHeight(opened)).toBe(200);
    const zoomed = run(opened, zoom(0.5, 0, false), showTrace(answer));
    expect([zoomed.scale.end, zoomed.layout]).toEqual([5e5, opened.layout]);
  });

  it("select by point and rectangle, toggle with add, clear one thing at a time", () => {
    const one = run(opened, selectAt({ x: 40, y: 30 }, false));
    expect(one.selection.map((p) => p.event)).toEqual([0]);
    expect(run(one, selectAt({ x: 140, y: 30 }, true), selectAt({ x: 40, y: 30 }, true)).selection.map((p) => p.event)).toEqual([1]);
    const many = run(opened, selectIn({ x0: 720, y0: 35, x1: 350, y1: 25 }, false), markInterval({ begin: 0, end: 5 }));
    expect(many.selection).toHaveLength(5);
    expect(run(many, markSelection).interval).toEqual({ begin: 300_000, end: 780_000 });
    const cleared = run(many, setRubberBand({ x0: 0, y0: 0, x1: 1, y1: 1 }), clearOne, clearOne);
    expect([cleared.rubberBand, cleared.selection, cleared.interval]).toEqual([null, [], { begin: 0, end: 5 }]);
    expect(run(cleared, clearOne).interval).toBeNull();
  });

  it("animate towards a target that further commands build on", () => {
    const first = run(opened, zoom(0.5, 0, true));
    expect([first.scale.end, first.target.end]).toEqual([1e6, 5e5]);
    const second = run(first, zoom(0.5, 0, true));
    expect(second.target.end).toBe(2.5e5);
    expect(run(second, setAnimatedScale(second.target)).scale).toBe(second.target);
    expect(run(second, showAll).target.span).toBe(1e6);
    expect(run(opened, animateTo(opened.scale.zoom(100, 0))).target.span).toBeLessThanOrEqual(1.04e6);
  });

  it("reveal an event: expand its section, scroll to its row, move the window", () => {
    const event = { pid: 7, tid: 29, row: 0, begin: 500_000, duration: 10 };
    const shown = run(opened, jumpTo(opened.scale.zoom(0.1, 0)), reveal(event, true));
    expect(shown.arrangement?.collapsedSections.has(7)).toBe(false);
    expect(shown.scroll).toBeGreaterThan(0);
    expect([shown.target.begin, shown.target.end].map(Math.round)).toEqual([499_950, 500_060]);
    expect(run(opened, reveal({ ...event, pid: 99 }, true))).toBe(opened);
  });

  it("reveal all of an event that a window has a part of, also on a folded track", () => {
    const event = { pid: 3, tid: 1, row: 0, begin: 200_000, duration: 80_000 };
    const folded = arrange({ ...(opened.arrangement ?? ({} as never)), collapsedTracks: new Set(["3.1"]) });
    const at = (begin: number) => run(opened, folded, jumpTo(new TimeScale(begin, begin + 200_000, 1000)), reveal(event, false));
    expect(at(190_000).target.begin).toBe(190_000);
    expect([at(270_000).target.begin, at(270_000).target.end]).toEqual([140_000, 340_000]);
    expect(at(190_000).arrangement?.collapsedTracks.size).toBe(0);
    const inside = run(opened, jumpTo(new TimeScale(210_000, 220_000, 1000)), reveal(event, false));
    expect(inside.target.begin).toBe(210_000);
  });

  it("step from event to event, starting at the middle of the screen", () => {
    const middle = run(opened, step("right"));
    expect(middle.selection.map((p) => p.event)).toEqual([5]);
    expect(run(middle, step("left"), step("left")).selection.map((p) => p.event)).toEqual([3]);
    expect(run(middle, frameSelection).target.begin).toBe(492_000);
  });

  it("keep the scroll position within the rows", () => {
    const expanded = run(opened, toggleSection(7));
    expect(run(expanded, scrollTo(1e6)).scroll).toBe((expanded.layout?.contentHeight ?? 0) - 200);
    expect(run(expanded, scrollTo(300), resize(1000, 2000)).scroll).toBe(0);
    expect(run(expanded, scrollTo(300), toggleSection(7)).scroll).toBe(0);
  });

  it("do nothing before there is a trace", () => {
    for (const command of [showAll, step("up"), selectAt({ x: 1, y: 1 }, false), scrollTo(10)]) {
      expect(run(INITIAL, command)).toMatchObject({ trace: null, selection: [], scroll: 0 });
    }
    expect(viewOf(INITIAL)).toBeNull();
    const arranged = run(
      INITIAL,
      arrange({ ...(opened.arrangement ?? ({} as never)), hiddenTracks: new Set(["3.1"]) }),
      resize(500, 200),
      showTrace(answer),
    );
    expect(arranged.arrangement?.hiddenTracks.has("3.1")).toBe(true);
    expect(run(arranged, select([])).selection).toEqual([]);
  });
});
