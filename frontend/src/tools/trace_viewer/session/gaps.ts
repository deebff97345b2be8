// The longest gaps of the devices: fetched when first asked for, gone through by length, one of them current.
import { formatPercent, formatTime } from "../../../base/format";
import type { SelectedEvent } from "../../../timeline/data/selection";
import { showGap } from "../../../timeline/state/navigation";
import type { Timeline } from "../../../timeline/timeline";
import type { Gap, Source } from "./source";

/** Stands for all devices. */
export const ALL = "";

/** The name of a gap's device, with its host if there are several: what links call it. */
export function deviceOf(gap: Gap, gaps: readonly Gap[]): string {
  return gaps.some(({ host }) => host !== gap.host) ? `${gap.host}: ${gap.device}` : gap.device;
}

/** What the host did under a gap. */
export function causeOf({ call, partial_call, partial_percent, traced, within_program }: Gap): string {
  if (within_program) return "between ops of one program";
  if (call) return `under ${call}`;
  if (partial_call && partial_percent !== null) return `${formatPercent(partial_percent)} of it under ${partial_call}`;
  return traced ? "no host event covers half of it" : "no host event under it: Python functions were not recorded";
}

export class Gaps {
  /** Null until they are fetched. */
  list: readonly Gap[] | null = null;
  error: unknown = null;
  device = ALL;
  current: Gap | null = null;
  private fetching: Promise<void> | null = null;

  constructor(
    private readonly source: Source,
    private readonly timeline: Timeline,
    private readonly changed: () => void,
    private readonly signal: AbortSignal,
  ) {}

  /** Fetches the gaps once; at first those of the device with the longest one are shown. */
  load(): Promise<void> {
    this.fetching ??= this.source.gaps(this.signal).then(
      (list) => {
        if (this.signal.aborted) return;
        this.list = list;
        this.device = list[0] ? deviceOf(list[0], list) : ALL;
        this.changed();
      },
      (error: unknown) => {
        if (this.signal.aborted) return;
        this.error = error;
        this.fetching = null;
        this.changed();
      },
    );
    return this.fetching;
  }

  /** The devices, that with the longest gap first. */
  get devices(): readonly string[] {
    const list = this.list ?? [];
    return [...new Set(list.map((gap) => deviceOf(gap, list)))];
  }

  /** The gaps of the chosen device, longest first. */
  get shown(): readonly Gap[] {
    const list = this.list ?? [];
    return this.device === ALL ? list : list.filter((gap) => deviceOf(gap, list) === this.device);
  }

  choose(device: string): void {
    this.device = device;
    this.changed();
  }

  /** Goes to the next shorter gap (or the next longer one), at the ends to the other end. */
  async next(step: 1 | -1): Promise<void> {
    await this.load();
    const { shown } = this;
    const at = this.current ? shown.indexOf(this.current) : step > 0 ? -1 : 0;
    const gap = shown[(at + step + shown.length) % shown.length];
    if (gap) this.show(gap);
  }

  show(gap: Gap): void {
    this.current = gap;
    this.timeline.apply(showGap({ begin: gap.begin_ps, end: gap.begin_ps + gap.duration_ps }, gap.pid));
    this.timeline.elements.status.textContent = this.sentence;
    this.changed();
  }

  leave(): void {
    this.current = null;
  }

  /** The current gap in one sentence; "" without one. */
  get sentence(): string {
    const { current, list, shown } = this;
    if (!current || !list) return "";
    const length = formatTime(current.duration_ps);
    return `Gap ${shown.indexOf(current) + 1} of ${shown.length}: ${length} on ${deviceOf(current, list)}, ${causeOf(current)}`;
  }

  /** `DEVICE:RANK` of the current gap, for links. */
  get link(): string | null {
    return this.current && this.list ? `${deviceOf(this.current, this.list)}:${this.current.rank}` : null;
  }

  /** Goes to the gap of a link; `frame` is false if the link has a window of its own. */
  async follow(link: string, frame: boolean): Promise<void> {
    await this.load();
    const list = this.list ?? [];
    const gap = list.find((one) => [deviceOf(one, list), one.device].some((device) => `${device}:${one.rank}` === link));
    if (!gap || this.signal.aborted) return;
    this.device = deviceOf(gap, list);
    if (frame) this.show(gap);
    this.current = gap;
    this.changed();
  }

  /** The event that the gap's cause is named after, else the one around it; null if neither is found. */
  async eventUnder(gap: Gap): Promise<SelectedEvent | null> {
    for (const name of new Set([gap.call, gap.event, gap.partial_call])) {
      const event = name === "" ? null : await this.longestIn(gap, name);
      if (event !== null) return event;
    }
    return null;
  }

  /** Of the events of a name the one that covers most of the gap. */
  private async longestIn(gap: Gap, text: string): Promise<SelectedEvent | null> {
    const query = { text, regex: false, whole: false, matchCase: true, args: false };
    const hits = await this.source.search(query, this.signal);
    const trace = this.timeline.state.trace;
    let best: SelectedEvent | null = null;
    let most = 0;
    for (let i = 0; i < hits.length; i++) {
      const [begin, duration] = [hits.begin[i] ?? 0, hits.duration[i] ?? 0];
      const track = trace?.tracks[hits.track[i] ?? -1];
      const covered = Math.min(begin + duration, gap.begin_ps + gap.duration_ps) - Math.max(begin, gap.begin_ps);
      if (!track || covered < most || (covered === most && (!best || duration >= best.duration))) continue;
      most = covered;
      const name = hits.strings[hits.name[i] ?? 0] ?? "";
      best = { pid: track.pid, tid: track.tid, event: hits.event[i] ?? 0, name, begin, duration, count: 1, row: hits.row[i] ?? 0 };
    }
    return best;
  }
}
