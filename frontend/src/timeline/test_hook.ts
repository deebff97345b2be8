// Exposes the timeline's state as window.__timeline, for browser tests and the benchmark.
import type { FrameClock } from "./frame_clock";
import type { InputMachine } from "./input/input";
import { EventLocator, rectsOf } from "./layout/event_rects";
import type { ScreenRect } from "./layout/event_rects";
import { rowsHeight, viewOf } from "./state/state";
import type { TimelineState } from "./state/state";

/** The state exposed to tests. */
interface TimelineHook {
  readonly boxesDrawn: number;
  readonly boxesLoaded: number;
  readonly tracks: number;
  readonly lanes: number;
  /** [begin, end] in ps. */
  readonly window: readonly [number, number];
  readonly selection: readonly { readonly pid: number; readonly tid: number; readonly event: number; readonly name: string | null }[];
  /** How many of the selected events are within the rows on the screen and the window. */
  readonly selectionShown: number;
  readonly tool: string;
  readonly interval: readonly [number, number] | null;
  readonly flows: number;
  readonly frames: readonly number[];
  readonly work: readonly number[];
  readonly loading: boolean;
  /** Events that the drawn boxes stand for, and those of them that share a box or a pixel column. */
  readonly events: number;
  readonly merged: number;
  /** Begin and end of the recording in ps. */
  readonly full: readonly [number, number] | null;
  /** The binding path: its device, the number of pieces and the current one, -1 for none; null while it is not shown. */
  readonly path: { readonly device: string; readonly pieces: number; readonly piece: number } | null;
  readonly marker: { readonly at: number; readonly label: string } | null;
}

declare global {
  interface Window {
    __timeline?: TimelineHook;
    /** That of a base, above the timeline of the run. */
    __baseTimeline?: TimelineHook;
  }
}

interface Source {
  readonly state: TimelineState;
  readonly machine: InputMachine;
  readonly clock: FrameClock;
  readonly boxesDrawn: number;
  readonly eventsDrawn: { readonly events: number; readonly merged: number };
  readonly elements: { readonly progress: HTMLElement };
}

/** Puts the hook on the window; returns the function that removes it. */
export function exposeHook(timeline: Source, name: "__timeline" | "__baseTimeline" = "__timeline"): () => void {
  const hook: TimelineHook = {
    get boxesDrawn() {
      return timeline.boxesDrawn;
    },
    get boxesLoaded() {
      return timeline.state.trace?.begin.length ?? 0;
    },
    get tracks() {
      return timeline.state.trace?.tracks.length ?? 0;
    },
    get lanes() {
      return timeline.state.layout?.length ?? 0;
    },
    get window() {
      return [timeline.state.scale.begin, timeline.state.scale.end] as const;
    },
    get selection() {
      return timeline.state.selection.map(({ pid, tid, event, name }) => ({ pid, tid, event, name }));
    },
    get selectionShown() {
      const { state } = timeline;
      const view = viewOf(state);
      if (!view) return 0;
      const locator = new EventLocator(view.trace, view.layout, view.placed, view.scale);
      const rects = rectsOf(locator, state.trackIndex, state.selection, state.selection.length);
      const shown = ({ x, y, width, height }: ScreenRect): boolean =>
        y + height <= rowsHeight(state) && y >= 0 && x + width >= 0 && x <= view.scale.width;
      return rects.filter(shown).length;
    },
    get tool() {
      return timeline.machine.tool;
    },
    get interval() {
      const { interval } = timeline.state;
      return interval ? ([interval.begin, interval.end] as const) : null;
    },
    get flows() {
      return timeline.state.flows.length;
    },
    get frames() {
      return timeline.clock.frames;
    },
    get work() {
      return timeline.clock.work;
    },
    get loading() {
      return !timeline.elements.progress.hidden;
    },
    get events() {
      return timeline.eventsDrawn.events;
    },
    get merged() {
      return timeline.eventsDrawn.merged;
    },
    get full() {
      const { trace } = timeline.state;
      return trace && ([trace.full.begin, trace.full.end] as const);
    },
    get path() {
      const { path, piece } = timeline.state;
      return path && { device: path.device, pieces: path.length, piece };
    },
    get marker() {
      return timeline.state.marker;
    },
  };
  window[name] = hook;
  return () => {
    if (window[name] === hook) delete window[name];
  };
}
