// What browser tests and the benchmark may look at: window.__timeline, and the clock of the frames.
import type { Timeline } from "./timeline";

/** Frames kept. */
const KEPT = 4000;
/** A longer pause means that nothing was to be drawn, not that a frame was late. */
const PAUSE_MS = 250;

/** Times of frames: from one to the next while something moves, and the work within each. */
export class FrameClock {
  /** ms between consecutive frames. */
  readonly frames: number[] = [];
  /** ms of script per frame. */
  readonly work: number[] = [];
  private last = Number.NEGATIVE_INFINITY;
  private started = 0;

  begin(now: number): void {
    const gap = now - this.last;
    this.last = now;
    if (gap < PAUSE_MS) push(this.frames, gap);
    this.started = performance.now();
  }

  end(): void {
    push(this.work, performance.now() - this.started);
  }
}

function push(list: number[], value: number): void {
  if (list.length >= KEPT) list.splice(0, KEPT / 2);
  list.push(value);
}

/** The state of the timeline as tests read it. */
export interface TimelineHook {
  readonly boxesDrawn: number;
  readonly boxesLoaded: number;
  readonly tracks: number;
  readonly lanes: number;
  /** [begin, end] in ps. */
  readonly window: readonly [number, number];
  readonly selection: readonly { readonly pid: number; readonly tid: number; readonly event: number; readonly name: string | null }[];
  readonly tool: string;
  readonly interval: readonly [number, number] | null;
  readonly flows: number;
  readonly frames: readonly number[];
  readonly work: readonly number[];
  readonly loading: boolean;
}

declare global {
  interface Window {
    __timeline?: TimelineHook;
  }
}

/** Puts the hook on the window; returns the function that takes it away. */
export function exposeHook(timeline: Timeline): () => void {
  const hook: TimelineHook = {
    get boxesDrawn() {
      return timeline.boxesDrawn;
    },
    get boxesLoaded() {
      return timeline.trace?.begin.length ?? 0;
    },
    get tracks() {
      return timeline.trace?.tracks.length ?? 0;
    },
    get lanes() {
      return timeline.layout?.length ?? 0;
    },
    get window() {
      return [timeline.scale.begin, timeline.scale.end] as const;
    },
    get selection() {
      return timeline.selection.map(({ pid, tid, event, name }) => ({ pid, tid, event, name }));
    },
    get tool() {
      return timeline.machine.tool;
    },
    get interval() {
      return timeline.interval ? ([timeline.interval.begin, timeline.interval.end] as const) : null;
    },
    get flows() {
      return timeline.flows.length;
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
  };
  window.__timeline = hook;
  return () => {
    if (window.__timeline === hook) delete window.__timeline;
  };
}
