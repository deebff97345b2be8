// The timeline of a base above that of the run: windows that move together, aligned at a step, and counterparts of events.
import type { ComparedRuns } from "../../../base/documents";
import { Loader } from "../../../timeline/data/fetch_policy";
import type { SelectedEvent } from "../../../timeline/data/selection";
import { sameTracks } from "../../../timeline/data/trace";
import type { Trace } from "../../../timeline/data/trace";
import type { CssPx, Ps, Span } from "../../../timeline/data/units";
import { initialArrangement } from "../../../timeline/layout/layout";
import { arrange, select, showTrace } from "../../../timeline/state/commands";
import { follow, reveal, scrollTo } from "../../../timeline/state/navigation";
import { exposeHook } from "../../../timeline/test_hook";
import { Timeline } from "../../../timeline/timeline";
import type { Session } from "../session/session";
import type { Source } from "../session/source";
import { findCounterpart, mappedArrangement, matchTracks, renamedOps, searchFor } from "./counterpart";
import type { Counterpart, PairState } from "./counterpart";
import { scrollBeside } from "./same_track";
import type { NamedStep } from "./steps";

type SideName = "run" | "base";

export class Pair implements PairState {
  readonly timeline: Timeline;
  error: unknown = null;
  counterpart: Counterpart | null = null;
  why: string | null = null;
  /** Steps of both runs by begin; the first correspond to each other, then the second, and so on. */
  steps: Readonly<Record<SideName, readonly NamedStep[]>> = { run: [], base: [] };
  /** Index of the step at which the recordings are aligned; null: at their start. */
  private aligned: number | null = null;
  private renamed: Readonly<Record<SideName, ReadonlyMap<string, string>>> = { run: new Map(), base: new Map() };
  private tracks: Readonly<Record<SideName, readonly (number | null)[]>> = { run: [], base: [] };
  private matched: { readonly run: Trace; readonly base: Trace } | null = null;
  private arranged: unknown = null;
  /** The timeline that the user moved last; the other one follows. */
  private leader: SideName = "run";
  /** Selections made here, which must not cause others. */
  private quiet = false;
  private search = new AbortController();
  private readonly loader: Loader<Trace>;
  private readonly life = new AbortController();
  private readonly unhook: () => void;

  constructor(
    root: HTMLElement,
    private readonly session: Session,
    private readonly sources: Readonly<Record<SideName, Source>>,
    private readonly changed: () => void,
  ) {
    root.dataset["aside"] = "";
    this.timeline = new Timeline(root, {
      window: () => this.baseMoved(),
      selection: () => this.chosen("base"),
      view: () => this.changed(),
      piece: () => undefined,
      command: () => undefined,
      menu: () => undefined,
    });
    this.unhook = exposeHook(this.timeline, "__baseTimeline");
    this.loader = new Loader((wanted, signal) => sources.base.boxes(wanted ?? { range: null, resolution: 2 * this.pixels }, signal), {
      data: (trace) => this.arrived(trace),
      busy: (on) => this.timeline.busy(on),
      failed: (error) => {
        this.error = error;
        this.changed();
      },
    });
    const lead = (event: Event): void => {
      this.leader = event.target instanceof Node && root.contains(event.target) ? "base" : "run";
    };
    for (const type of ["pointerdown", "wheel", "keydown"])
      document.addEventListener(type, lead, { capture: true, signal: this.life.signal });
    session.moved = () => this.runMoved();
    session.selected = () => this.chosen("run");
    session.pair = this;
    this.loader.start(null);
  }

  dispose(): void {
    this.life.abort();
    this.search.abort();
    this.loader.dispose();
    this.unhook();
    this.timeline.dispose();
    this.session.moved = () => undefined;
    this.session.selected = () => undefined;
    this.session.pair = null;
  }

  retry(): void {
    this.error = null;
    this.changed();
    this.loader.start(null);
  }

  /** Aligns the recordings at the begin of a step of both; null: at their start. */
  align(step: number | null): void {
    this.aligned = step;
    this.leader = "run";
    this.runMoved();
    this.changed();
  }

  setSteps(run: readonly NamedStep[], base: readonly NamedStep[]): void {
    this.steps = { run, base };
    this.runMoved();
    this.chosen("run");
  }

  setComparison(found: ComparedRuns | null): void {
    const run = renamedOps(found);
    this.renamed = { run, base: new Map([...run].map(([mine, theirs]) => [theirs, mine])) };
    this.chosen("run");
  }

  private get pixels(): number {
    return Math.max(this.timeline.elements.stage.clientWidth, 300) * (devicePixelRatio || 1);
  }

  /** What is added to times of the run to get those of the base. */
  private get offset(): Ps {
    const [run, base] = this.aligned === null ? [] : [this.steps.run[this.aligned], this.steps.base[this.aligned]];
    if (run && base) return base.begin - run.begin;
    return (this.timeline.state.trace?.full.begin ?? 0) - (this.session.timeline.state.trace?.full.begin ?? 0);
  }

  private arrived(answer: Trace): void {
    const first = this.timeline.state.trace === null;
    this.error = null;
    if (first) this.timeline.apply(arrange(initialArrangement(answer)));
    this.timeline.apply(showTrace(answer));
    if (first) {
      this.leader = "run";
      this.runMoved();
      this.chosen("run");
    }
    this.changed();
  }

  private runMoved(): void {
    if (!this.match()) return;
    const { state, labelsWidth } = this.session.timeline;
    if (state.arrangement !== this.arranged) this.arrange();
    if (this.leader !== "run") return;
    if (this.timeline.labelsWidth !== labelsWidth) this.timeline.setLabelWidth(labelsWidth);
    const { begin, end } = this.session.timeline.window;
    this.timeline.apply(follow({ begin: begin + this.offset, end: end + this.offset }), scrollTo(this.scrollBeside("run")));
  }

  private baseMoved(): void {
    this.load();
    if (this.leader !== "base" || !this.match()) return;
    const { begin, end } = this.timeline.window;
    this.session.timeline.apply(follow({ begin: begin - this.offset, end: end - this.offset }), scrollTo(this.scrollBeside("base")));
  }

  /** Where the other side must scroll to so that the same track is at the top. */
  private scrollBeside(side: SideName): CssPx {
    const [from, to] = [this.of(side).state, this.of(side === "run" ? "base" : "run").state];
    if (!from.trace || !from.layout || !to.trace || !to.layout) return from.scroll;
    return scrollBeside({ trace: from.trace, layout: from.layout }, { trace: to.trace, layout: to.layout }, this.tracks[side], from.scroll);
  }

  /** Requests boxes for the visible window. */
  private load(): void {
    const { trace, scale } = this.timeline.state;
    const window = this.timeline.window;
    if (!trace || !meet(window, trace.full)) return;
    this.loader.update(
      { range: trace.window, resolution: trace.resolution, filtered: trace.mergedEvents > 0 && !trace.finest },
      window,
      trace.full,
      scale.width * (devicePixelRatio || 1),
    );
  }

  /** Matches the tracks of both traces; false until both are there. */
  private match(): boolean {
    const [run, base] = [this.session.timeline.state.trace, this.timeline.state.trace];
    if (!run || !base) return false;
    const known = this.matched;
    if (known && sameTracks(known.run, run) && sameTracks(known.base, base)) return true;
    this.matched = { run, base };
    this.tracks = { run: matchTracks(run, base), base: matchTracks(base, run) };
    this.arranged = null;
    return true;
  }

  /** Collapses, hides and pins what is collapsed, hidden and pinned in the run. */
  private arrange(): void {
    const { trace: run, arrangement: wanted } = this.session.timeline.state;
    const { trace: base, arrangement: own } = this.timeline.state;
    if (!run || !base || !wanted || !own) return;
    this.arranged = wanted;
    this.timeline.apply(arrange(mappedArrangement(run, base, this.tracks.run, wanted, own)));
  }

  private chosen(side: SideName): void {
    if (this.quiet) return;
    this.search.abort();
    this.counterpart = null;
    this.why = null;
    const selection = this.of(side).state.selection;
    const only = selection.length === 1 && selection[0]?.count === 1 ? selection[0] : null;
    if (side === "run" || only === null) this.choose(side === "run" ? "base" : "run", null);
    if (only !== null && this.match()) void this.look(side, only);
    this.changed();
  }

  private of(side: SideName): Timeline {
    return side === "run" ? this.session.timeline : this.timeline;
  }

  /** Selects an event on a side without looking for its counterpart. */
  private choose(side: SideName, event: SelectedEvent | null): void {
    const timeline = this.of(side);
    if (event === null && timeline.state.selection.length === 0) return;
    this.quiet = true;
    timeline.apply(select(event === null ? [] : [event]), ...(event === null ? [] : [reveal(event, false)]));
    this.quiet = false;
  }

  /** Finds the counterpart of a selected event and selects it on the other side. */
  private async look(side: SideName, event: SelectedEvent): Promise<void> {
    const abort = new AbortController();
    this.search = abort;
    const other: SideName = side === "run" ? "base" : "run";
    const query = (text: string) => ({ text, regex: true, whole: false, matchCase: true, args: false });
    try {
      const name = event.name ?? "";
      const [own, theirs] = await Promise.all([
        this.sources[side].search(query(searchFor(name, new Map())), abort.signal),
        this.sources[other].search(query(searchFor(name, this.renamed[side])), abort.signal),
      ]);
      const [from, to] = [this.of(side).state.trace, this.of(other).state.trace];
      if (abort.signal.aborted || !from || !to) return;
      const counterpart = findCounterpart(
        event,
        { trace: from, hits: own, steps: this.steps[side] },
        { trace: to, hits: theirs, steps: this.steps[other] },
        this.tracks[side],
      );
      if (typeof counterpart === "string") {
        this.why =
          side === "run"
            ? `No counterpart in the base: ${counterpart}.`
            : `${name} of the base has no counterpart in the run: ${counterpart}.`;
        if (side === "base") this.choose("run", null);
      } else {
        this.counterpart = side === "run" ? { run: event, base: counterpart } : { run: counterpart, base: event };
        this.choose(other, counterpart);
      }
    } catch {
      if (abort.signal.aborted) return;
      this.why = "The counterpart could not be searched.";
    }
    this.changed();
  }
}

const meet = (a: Span, b: Span): boolean => a.begin < b.end && b.begin < a.end;
