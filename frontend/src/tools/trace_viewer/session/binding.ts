// The binding path: fetched around the window while it is shown, gone along piece by piece; the slack of the selected event.
import { formatTime } from "../../../base/format";
import { lookOf } from "../../../base/steps/step_category";
import { longestIn, pieceAt, pieceEndingAfter, pieceFrom, pieceOf } from "../../../timeline/data/binding_path";
import type { BindingPath, PieceIndex } from "../../../timeline/data/binding_path";
import { sameEvent } from "../../../timeline/data/selection";
import type { SelectedEvent } from "../../../timeline/data/selection";
import type { Span } from "../../../timeline/data/units";
import { setPath } from "../../../timeline/state/commands";
import { showPiece } from "../../../timeline/state/navigation";
import type { Timeline } from "../../../timeline/timeline";
import type { Slack, WirePath } from "./source";

/** Where paths and slack come from; `device` is "" for the one that the others wait for. */
interface Answers {
  path(window: Span, device: string, signal: AbortSignal): Promise<WirePath>;
  slack(event: SelectedEvent, device: string, signal: AbortSignal): Promise<Slack>;
}

/** The path is fetched for so many windows on each side of the visible one. */
const MARGIN = 1;
/** A window of so small a share of what was fetched asks for its pieces one by one, if some were put together. */
const CLOSER = 1 / 8;
/** In links: the device that the others wait for. */
const DEFAULT = "1";

export class Binding {
  on = false;
  error: unknown = null;
  /** Of the selected event; null while it is not known. */
  slack: Slack | null = null;
  slackError: unknown = null;
  /** The chosen device; "" for the one that the others wait for. */
  private device = "";
  private wanted: Span | null = null;
  private reading: Promise<void> = Promise.resolve();
  private abort = new AbortController();
  private asked = new AbortController();
  private subject: SelectedEvent | null = null;

  constructor(
    private readonly source: Answers,
    private readonly timeline: Timeline,
    private readonly changed: () => void,
  ) {}

  dispose(): void {
    this.abort.abort();
    this.asked.abort();
  }

  get path(): BindingPath | null {
    return this.timeline.state.path;
  }

  /** For links: "1", or the chosen device; null while the path is not shown. */
  get link(): string | null {
    return this.on ? this.device || DEFAULT : null;
  }

  /** The switch of a link. */
  follow(link: string | null): void {
    this.on = link !== null;
    this.device = link === null || link === DEFAULT ? "" : link;
  }

  toggle(): void {
    this.on = !this.on;
    this.error = null;
    this.wanted = null;
    if (this.on) void this.update();
    else this.timeline.apply(setPath(null, -1));
    this.select(this.subject);
    this.changed();
  }

  choose(device: string): void {
    this.device = device;
    this.wanted = null;
    void this.update();
    this.select(this.subject);
  }

  /** Fetches what the window needs and is not there yet. */
  update(around: Span = this.timeline.window): Promise<void> {
    const { trace } = this.timeline.state;
    if (this.on && trace && !trace.partial && !this.covers(around)) {
      const span = around.end - around.begin;
      const begin = Math.floor(Math.max(trace.full.begin, around.begin - MARGIN * span));
      const end = Math.ceil(Math.min(trace.full.end, around.end + MARGIN * span));
      this.reading = this.read({ begin, end });
    }
    return this.reading;
  }

  private async read(wanted: Span): Promise<void> {
    this.wanted = wanted;
    this.abort.abort();
    const { signal } = (this.abort = new AbortController());
    try {
      const wire = await this.source.path(wanted, this.device, signal);
      if (signal.aborted || !this.on) return;
      const { path: before, piece } = this.timeline.state;
      const path = pathOf(wire, wanted);
      this.error = null;
      const same = before && before.device === path.device && piece >= 0 ? pieceFrom(path, pieceOf(before, piece).begin) : -1;
      this.timeline.apply(setPath(path, same));
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
    }
    this.changed();
  }

  /** Whether what was asked for shows a window as it is. */
  private covers({ begin, end }: Span): boolean {
    const { wanted, path } = this;
    const { trace } = this.timeline.state;
    if (!wanted || !trace || wanted.begin > Math.max(begin, trace.full.begin) || wanted.end < Math.min(end, trace.full.end)) return false;
    const narrow = end - begin < CLOSER * (wanted.end - wanted.begin);
    return !(narrow && path && path.window.begin === wanted.begin && path.count.some((count) => count > 1));
  }

  /** Goes to the next piece, or the previous one; without a current piece to the longest of the window. */
  async next(step: 1 | -1): Promise<void> {
    if (!this.on) this.toggle();
    await this.update();
    const { path, piece } = this.timeline.state;
    if (!path || path.length === 0) return;
    if (piece < 0) return this.go(longestIn(path, this.timeline.window));
    const wanted = piece + step;
    if (wanted >= 0 && wanted < path.length) return this.go(wanted);
    await this.further(path, step);
  }

  /** Goes on where the pieces end that are here. */
  private async further(path: BindingPath, step: 1 | -1): Promise<void> {
    const edge = step > 0 ? path.window.end : path.window.begin;
    const span = this.timeline.window.end - this.timeline.window.begin;
    const last = pieceOf(path, step > 0 ? path.length - 1 : 0);
    const from = step > 0 ? last.end : last.begin;
    await this.update(step > 0 ? { begin: edge, end: edge + span } : { begin: edge - span, end: edge });
    const found = this.path;
    if (!found || found === path) return;
    const piece = step > 0 ? pieceEndingAfter(found, from) : pieceEndingAfter(found, from - 1) - (pieceAt(found, from - 1) < 0 ? 1 : 0);
    if (piece >= 0 && piece < found.length) this.go(piece);
  }

  go(piece: PieceIndex): void {
    const { path } = this;
    if (!path) return;
    this.timeline.apply(showPiece(path, piece));
    this.timeline.elements.status.textContent = this.sentence;
    this.changed();
  }

  /** No piece is the current one any more. */
  leave(): void {
    if (this.path) this.timeline.apply(setPath(this.path, -1));
  }

  /** The current piece in one sentence; "" without one. */
  get sentence(): string {
    const { path, piece } = this.timeline.state;
    if (!path || piece < 0) return "";
    const { part, duration, where } = pieceOf(path, piece);
    return `Binding path of ${path.device}: ${part}, ${formatTime(duration)}, ${where}`;
  }

  /** Fetches the slack of an event while the path is shown; null for other selections. */
  select(event: SelectedEvent | null): void {
    this.subject = event;
    this.asked.abort();
    this.slack = this.slackError = null;
    if (!event || !this.on) return;
    const { signal } = (this.asked = new AbortController());
    this.source.slack(event, this.device, signal).then(
      (slack) => {
        if (signal.aborted || !this.subject || !sameEvent(this.subject, event)) return;
        this.slack = slack;
        this.changed();
      },
      (error: unknown) => {
        if (signal.aborted) return;
        this.slackError = error;
        this.changed();
      },
    );
  }
}

/** The slack in words. */
export function slackText({ bound, ps, why }: Slack): string {
  if (bound === "unknown") return `Cannot tell. ${why}`;
  const time = ps > 0 ? formatTime(ps) : "0";
  return `${bound === "exactly" ? time : `${bound} ${time}`}. ${why}`;
}

/** The columns of an answer. */
export function pathOf(wire: WirePath, window: Span): BindingPath {
  return {
    device: wire.device,
    devices: wire.devices,
    window,
    parts: wire.parts.map(({ id, name, ps }) => {
      const { colour, striped = false } = lookOf(id);
      return { id, name, ps, fill: colour, striped };
    }),
    steps: wire.steps.map((step) => ({ name: step.name, begin: step.begin_ps, duration: step.duration_ps })),
    names: wire.names,
    length: wire.begin_ps.length,
    begin: Float64Array.from(wire.begin_ps),
    duration: Float64Array.from(wire.duration_ps),
    part: Uint16Array.from(wire.part),
    count: Uint32Array.from(wire.count),
    name: Int32Array.from(wire.name),
    pid: Int32Array.from(wire.pid),
    tid: Float64Array.from(wire.tid),
    event: Float64Array.from(wire.event),
    row: Int32Array.from(wire.row),
    eventBegin: Float64Array.from(wire.event_begin_ps),
    eventDuration: Float64Array.from(wire.event_duration_ps),
  };
}
