// The session of an open trace: timeline, requests, search, and URL state.
import type { UrlState } from "../../../page/page";
import { Loader, rangeFor } from "../../../timeline/data/fetch_policy";
import type { Loaded } from "../../../timeline/data/fetch_policy";
import { exposeHook } from "../../../timeline/test_hook";
import { hitNear, longestHit, stepHit } from "../../../timeline/data/search_hits";
import type { SearchHits } from "../../../timeline/data/search_hits";
import type { Command } from "../../../timeline/input/input";
import { ALL_FLOWS } from "../../../timeline/layout/flows";
import { initialArrangement } from "../../../timeline/layout/layout";
import type { Arrangement } from "../../../timeline/layout/layout";
import { arrange, hideFlows, select, setFlows, setHits, setMarker, markInterval, showTrace } from "../../../timeline/state/commands";
import { reveal, revealRow, showSpan } from "../../../timeline/state/navigation";
import { foundAgain } from "../../../timeline/data/selection";
import type { SelectedEvent } from "../../../timeline/data/selection";
import type { Span } from "../../../timeline/data/units";
import { firstView, windowAround } from "../../../timeline/data/work";
import { Timeline } from "../../../timeline/timeline";
import { sectionTitle, trackKey } from "../../../timeline/data/trace";
import type { EventRef, Trace } from "../../../timeline/data/trace";
import { readChromeTrace } from "../export/chrome_trace";
import type { PairState } from "../pair/counterpart";
import type { ChromeTrace } from "../export/chrome_trace";
import { About } from "./about";
import { Binding } from "./binding";
import { Gaps } from "./gaps";
import { flowsOf } from "./source";
import { Rest } from "./rest";
import type { EventDetails, Gap, Query, Slack, Source, WantedBoxes } from "./source";
import { toldSelection } from "./told";
import { arrangementOf, readView, sameSet, spanText, viewPatch } from "./url";

const URL_DELAY_MS = 300;
/** Interval at which the components around the timeline update while the window moves. */
const MOVE_DELAY_MS = 100;
/** Resolution of the request for the minimap. */
const MINIMAP_RESOLUTION = 512;

export interface MenuTarget {
  readonly target: { readonly track: string } | { readonly section: number };
  readonly anchor: HTMLElement;
}

/** State that components show; `changed` is called after every change. */
export class Session {
  readonly timeline: Timeline;
  readonly gaps: Gaps;
  readonly binding: Binding;
  /** Kinds of the flows of all events that were selected so far. */
  readonly flowKinds = new Set<string>();
  error: unknown = null;
  /** Details of the selection. */
  readonly about: About;
  query: Query = { text: "", regex: false, whole: false, matchCase: false, args: false };
  hits: SearchHits | null = null;
  currentHit = -1;
  searching = false;
  searchError: unknown = null;
  menu: MenuTarget | null = null;
  command: (command: Command) => void = () => undefined;
  /** The base above this trace; null without one. */
  pair: PairState | null = null;
  /** Window, rows or arrangement changed. */
  moved: () => void = () => undefined;
  /** The selection changed. */
  selected: () => void = () => undefined;
  private readonly rest: Rest;
  private readonly loader: Loader<Trace>;
  private readonly unhook: () => void;
  private initial: Arrangement | null = null;
  /** The window without a key in the address; null if it is not known, because a link began elsewhere. */
  private home: Span | null = null;
  /** A step to the next or previous hit, requested while the search is running. */
  private awaited: 1 | -1 | 0 = 0;
  /** What a link with a search but no selection is about, until it is selected: the match in its window, or the longest. */
  private linked: { readonly window: Span | null } | null = null;
  private searchAbort = new AbortController();
  private readonly life = new AbortController();
  private urlTimer = 0;
  private lastTold: readonly SelectedEvent[] = [];
  private moveTimer: ReturnType<typeof setTimeout> | 0 = 0;

  constructor(
    root: HTMLElement,
    private readonly source: Source,
    private readonly state: UrlState,
    private readonly changed: () => void,
  ) {
    this.timeline = new Timeline(root, {
      window: () => this.windowMoved(),
      selection: () => this.selectionChanged(),
      view: () => this.viewChanged(),
      piece: (piece) => this.binding.go(piece),
      command: (command) => this.obey(command),
      menu: (target, anchor) => this.setMenu({ target, anchor }),
    });
    this.gaps = new Gaps(source, this.timeline, () => this.viewChanged(), this.life.signal);
    const slack = { path: source.path.bind(source), slack: this.slackOf.bind(this) };
    this.binding = new Binding(slack, this.timeline, () => this.viewChanged());
    this.about = new About(
      (event, signal) => source.event(event, this.hostOf(event), signal),
      source,
      (details) => this.told(details),
    );
    this.unhook = exposeHook(this.timeline);
    this.rest = new Rest(() => source.boxes(this.firstWanted(), this.life.signal), {
      busy: (on) => this.timeline.busy(on),
      arrived: (trace) => this.completed(trace),
      failed: (error) => this.failed(error),
    });
    this.loader = new Loader((wanted, signal) => source.boxes(wanted ?? this.firstWanted(), signal, !this.rest.isHere), {
      data: (trace) => this.arrived(trace),
      busy: (on) => this.timeline.busy(on || this.rest.isAwaited),
      failed: (error) => this.failed(error),
    });
    const view = readView(state);
    this.timeline.machine.choose(view.mode);
    this.timeline.apply(markInterval(view.mark), setMarker(view.marker), hideFlows(view.noFlows));
    this.binding.follow(view.path);
    for (const kind of view.noFlows) if (kind !== ALL_FLOWS) this.flowKinds.add(kind);
    if (view.query.text) this.search(view.how ? view.query : { ...view.query, whole: true }, !view.how);
    const typed = view.how && !view.query.regex && !view.query.whole; // by a user, who selected nothing
    if (view.query.text && view.selected.length === 0 && !typed) this.linked = { window: view.window };
    this.loader.start(null);
  }

  dispose(): void {
    window.clearTimeout(this.urlTimer);
    if (this.moveTimer !== 0) clearTimeout(this.moveTimer);
    for (const abort of [this.life, this.searchAbort]) abort.abort();
    this.about.dispose();
    this.binding.dispose();
    this.loader.dispose();
    this.unhook();
    this.timeline.dispose();
  }

  /** Repeats the request after a failure. */
  retry(): void {
    this.error = null;
    this.changed();
    this.loader.start(null);
  }

  /** The window in the address, or the whole trace. */
  private firstWanted(): WantedBoxes {
    const { clientWidth } = this.timeline.elements.stage;
    const pixels = Math.max(clientWidth, 300) * (devicePixelRatio || 1);
    const { trace } = this.timeline.state;
    const window = trace ? this.timeline.window : readView(this.state).window;
    if (window === null) return { range: null, resolution: 2 * pixels };
    return rangeFor(window, trace?.full ?? { begin: 0, end: Number.MAX_SAFE_INTEGER }, pixels);
  }

  private arrived(trace: Trace): void {
    if (!this.rest.accepts(trace)) return this.windowMoved();
    const first = this.timeline.state.trace === null;
    this.error = null;
    if (first) {
      const view = readView(this.state);
      this.initial = initialArrangement(trace);
      this.timeline.apply(arrange(arrangementOf(view, this.initial)));
    }
    this.timeline.apply(showTrace(trace));
    if (first) this.restore(trace);
    this.changed();
  }

  /** The whole trace replaces a preview: the same events stay selected; large sections collapse unless the user arranged some. */
  private completed(trace: Trace): void {
    const { arrangement, selection } = this.timeline.state;
    const before = this.initial;
    this.arrived(trace);
    if (selection.length > 0) this.timeline.apply(select(foundAgain(trace, selection)));
    this.windowMoved();
    this.initial = initialArrangement(trace);
    if (!arrangement || !before || !sameSet(arrangement.collapsedSections, before.collapsedSections)) return;
    this.timeline.apply(arrange({ ...arrangement, collapsedSections: this.initial.collapsedSections }));
  }

  /** Applies window and selection of the address once the trace is loaded; without a window, shows where devices work. */
  private restore(trace: Trace): void {
    const view = readView(this.state);
    const start = view.window ?? (view.marker ? windowAround(trace, view.marker.at) : firstView(trace));
    if (start) this.timeline.apply(showSpan(start, false));
    if (!view.window && !view.marker) this.home = this.timeline.window;
    this.timeline.takeFocus();
    for (const ref of view.selected) void this.selectByRef(ref, view.window === null ? "window" : "row");
    this.selectLinked();
    void this.binding.update();
    if (view.gap) void this.gaps.follow(view.gap, view.window === null).then(() => this.command("next-gap"));
    if (trace.window.begin > trace.full.begin || trace.window.end < trace.full.end) {
      const whole = { range: trace.full, resolution: MINIMAP_RESOLUTION };
      this.source.boxes(whole, this.life.signal, trace.partial).then(
        (answer) => {
          if (!this.life.signal.aborted) this.timeline.offerOverview(answer);
        },
        () => undefined, // the minimap remains empty
      );
    }
  }

  /** Selects an event by its reference, after fetching its time and row; `row`: brings its row into view, and leaves the window. */
  async selectByRef(ref: EventRef, show: "window" | "row"): Promise<void> {
    try {
      await this.rest.whole;
      if (this.life.signal.aborted) return;
      const d = await this.source.event(ref, this.hostOf(ref), this.life.signal);
      if (this.life.signal.aborted) return; // the address belongs to another page by now
      const event: SelectedEvent = { ...ref, name: d.name, begin: d.begin_ps, duration: d.duration_ps, count: 1, row: d.row ?? 0 };
      const others = this.timeline.state.selection.filter((p) => trackKey(p) !== trackKey(ref) || p.event !== ref.event);
      this.timeline.apply(select([...others, event]), show === "window" ? reveal(event, true) : revealRow(event));
    } catch (error) {
      if (this.life.signal.aborted) return;
      this.about.error = error;
      this.changed();
    }
  }

  private slackOf(event: EventRef, device: string, signal: AbortSignal): Promise<Slack> {
    return this.source.slack(event, this.hostOf(event), device, signal);
  }

  private hostOf(ref: EventRef): string {
    const { trace } = this.timeline.state;
    return trace?.sections.find((section) => section.pid === ref.pid)?.host ?? "";
  }

  private failed(error: unknown): void {
    if (this.life.signal.aborted) return;
    this.error = error;
    this.changed();
  }

  private windowMoved(): void {
    this.moved();
    const { trace, scale } = this.timeline.state;
    if (trace) {
      const loaded: Loaded = { range: trace.window, resolution: trace.resolution, filtered: trace.mergedEvents > 0 && !trace.finest };
      this.loader.update(loaded, this.timeline.window, trace.full, scale.width * (devicePixelRatio || 1));
    }
    if (this.moveTimer === 0) {
      this.moveTimer = globalThis.setTimeout(() => {
        this.moveTimer = 0;
        void this.binding.update();
        this.viewChanged();
      }, MOVE_DELAY_MS);
    }
  }

  private selectionChanged(): void {
    const { selection, area } = this.timeline.state;
    if (this.timeline.state.trace?.partial) this.about.follow([], null);
    else this.about.follow(selection, area);
    const [only, second] = selection;
    this.binding.select(only && !second && only.count === 1 ? only : null);
    this.selected();
    this.viewChanged();
  }

  /** Details of the selection arrived; null for sums and errors. */
  private told(details: EventDetails | null): void {
    if (details) {
      const flows = flowsOf(details);
      for (const { category } of flows) this.flowKinds.add(category);
      this.timeline.apply(setFlows(flows));
    }
    this.changed();
  }

  /** Searches the whole trace; an empty text ends the search. `orPart`: if no event has that name, for those that contain it. */
  search(query: Query, orPart = false): void {
    this.searchAbort.abort();
    this.query = query;
    this.awaited = 0;
    this.searchError = null;
    this.searching = query.text !== "";
    if (!this.searching) this.setHits(null);
    this.viewChanged();
    if (!this.searching) return;
    const abort = new AbortController();
    this.searchAbort = abort;
    const found = Promise.all([this.source.search(query, abort.signal), this.rest.whole]);
    found.then(
      ([hits]) => {
        if (abort.signal.aborted) return;
        if (orPart && hits.total === 0) return this.search({ ...query, whole: false });
        this.searching = false;
        this.setHits(hits);
        if (this.awaited !== 0) this.nextHit(this.awaited);
        else this.selectLinked();
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        this.searching = false;
        this.searchError = error;
        this.setHits(null);
      },
    );
  }

  private setHits(hits: SearchHits | null): void {
    this.hits = hits;
    this.currentHit = -1;
    this.timeline.apply(setHits(hits, -1));
    this.changed();
  }

  /** Selects what a link to a place is about, once both the trace and the hits are there. */
  private selectLinked(): void {
    if (!this.linked || !this.hits || this.timeline.state.trace === null) return;
    const { window } = this.linked;
    const hit = window ? hitNear(this.hits, window) : longestHit(this.hits);
    if (this.timeline.state.selection.length === 0) this.goToHit(hit, window === null);
    this.linked = null;
  }

  /** Goes to the next (or previous) hit; while a search is running, once it has hits. */
  nextHit(step: 1 | -1): void {
    this.awaited = this.searching ? step : 0;
    if (this.hits && !this.searching) this.goToHit(stepHit(this.hits, this.currentHit, step, this.timeline.window.begin));
  }

  /** Selects a hit and brings it into view; `zoomIn`: so that it is wide enough to see. */
  goToHit(index: number, zoomIn = true): void {
    const { hits } = this;
    const { trace } = this.timeline.state;
    const track = trace?.tracks[hits?.track[index] ?? -1];
    if (!hits || !track || index < 0) return;
    this.currentHit = index;
    this.timeline.apply(setHits(hits, index));
    const event: SelectedEvent = {
      pid: track.pid,
      tid: track.tid,
      event: hits.event[index] ?? 0,
      name: hits.strings[hits.name[index] ?? 0] ?? "",
      begin: hits.begin[index] ?? 0,
      duration: hits.duration[index] ?? 0,
      count: 1,
      row: hits.row[index] ?? 0,
    };
    this.goTo(event, zoomIn);
  }

  /** Selects an event and brings it into view. */
  goTo(event: SelectedEvent, zoomIn = true): void {
    this.timeline.apply(select([event]), reveal(event, zoomIn));
  }

  /** Selects the event that the host call under a gap is named after. */
  async goUnder(gap: Gap): Promise<void> {
    const event = await this.gaps.eventUnder(gap).catch(() => null);
    if (event && !this.life.signal.aborted) this.goTo(event, false);
  }

  /** Name of a track with its section, for tables. */
  trackName(track: { readonly pid: number; readonly tid: number }): string {
    const { trace, trackIndex } = this.timeline.state;
    const knownTrack = trace?.tracks[trackIndex.get(trackKey(track)) ?? -1];
    if (!trace || !knownTrack) return `${track.pid}.${track.tid}`;
    return `${sectionTitle(trace, knownTrack.section)} / ${knownTrack.name || knownTrack.tid}`;
  }

  /** Fetches all events of the visible window, for exports. */
  async visibleEvents(): Promise<ChromeTrace> {
    const { begin, end } = this.timeline.window;
    return readChromeTrace(await this.source.events(Math.max(0, begin), end));
  }

  /** Fetches all events of the window as a file of Perfetto. */
  visiblePerfetto(): Promise<ArrayBuffer> {
    const { begin, end } = this.timeline.window;
    return this.source.perfetto(Math.max(0, begin), end);
  }

  setMenu(menu: MenuTarget | null): void {
    this.menu = menu;
    this.changed();
  }

  private obey(command: Command): void {
    if (command === "next-hit") this.nextHit(1);
    else if (command === "previous-hit") this.nextHit(-1);
    else {
      if (command === "next-gap") void this.gaps.next(1);
      else if (command === "previous-gap") void this.gaps.next(-1);
      else if (command === "path") this.binding.toggle();
      else if (command === "next-piece") void this.binding.next(1);
      else if (command === "previous-piece") void this.binding.next(-1);
      else if (command === "clear") {
        this.gaps.leave();
        this.binding.leave();
      }
      this.command(command);
    }
  }

  private viewChanged(): void {
    this.moved();
    this.changed();
    window.clearTimeout(this.urlTimer);
    this.urlTimer = window.setTimeout(() => this.writeUrl(), URL_DELAY_MS);
  }

  /** Writes the view to the address immediately. */
  writeUrl(): void {
    const { window, machine } = this.timeline;
    const { trace, arrangement, selection, interval, marker, hiddenFlows } = this.timeline.state;
    if (!trace || trace.partial || !arrangement || !this.initial) return;
    if (selection !== this.lastTold) {
      this.lastTold = selection;
      this.state.tellSelection?.(toldSelection(trace, selection, this.timeline.state.area));
    }
    const atHome = this.home !== null && spanText(this.home) === spanText(window);
    const sameSections = sameSet(arrangement.collapsedSections, this.initial.collapsedSections);
    const patch = viewPatch({
      window: atHome ? null : window,
      selected: selection.filter((p) => p.count === 1),
      mark: interval,
      marker,
      mode: machine.chosen,
      query: this.query,
      how: true,
      collapsed: sameSections ? null : [...arrangement.collapsedSections],
      folded: [...arrangement.collapsedTracks],
      hidden: [...arrangement.hiddenTracks],
      pinned: arrangement.pinnedTracks,
      without: [...arrangement.hiddenSections],
      noFlows: [...hiddenFlows],
      gap: this.gaps.link,
      path: this.binding.link,
      empty: arrangement.showEmpty,
    });
    const changed = Object.entries(patch).some(([key, value]) => this.state.get(key) !== value);
    if (changed) this.state.set(patch, "replace");
  }
}
