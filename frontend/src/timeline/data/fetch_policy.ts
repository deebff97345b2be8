// Decides when to request boxes again and for which time range (pure functions), and the loader that does so.
import type { Span } from "./units";

/** A loaded or requested range. */
export interface Loaded {
  readonly range: Span;
  /** Resolution of the boxes: pixel columns across `range`. */
  readonly resolution: number;
  /** Whether events were merged; if not, a finer request would return nothing new. */
  readonly filtered: boolean;
}

/** One request. */
export interface RangeRequest {
  readonly range: Span;
  readonly resolution: number;
}

/** Requested range, as a multiple of the visible one. */
const FETCH_FACTOR = 3;
/** The visible range, widened by this factor, must lie within the loaded range. */
const GROW_FACTOR = 2;
/** A loaded range longer than this multiple of the needed one is too coarse. */
const COARSE_FACTOR = 8;
/** Requested resolution as a multiple of the screen's, so that zooming in shows detail at once. */
const OVERSAMPLING = 2;
/** Device pixels a merged block may be wide before finer boxes are requested. */
const BLOCK_PIXELS = 4;

/** `span` widened by `factor` around its middle, clamped to `full`. */
export function grown(span: Span, factor: number, full: Span): Span {
  const middle = (span.begin + span.end) / 2;
  const half = ((span.end - span.begin) / 2) * factor;
  const begin = Math.max(full.begin, Math.min(middle - half, full.end));
  const end = Math.min(full.end, Math.max(middle + half, full.begin));
  return { begin, end: Math.max(begin, end) };
}

/** The request for a visible range of `pixels` device pixels. */
export function rangeFor(visible: Span, full: Span, pixels: number): RangeRequest {
  const range = grown(visible, FETCH_FACTOR, full);
  const share = length(range) / Math.max(length(visible), 1);
  return { range, resolution: Math.max(1, Math.ceil(pixels * OVERSAMPLING * Math.min(share, FETCH_FACTOR))) };
}

/** Whether a loaded (or requested) range suffices for the visible one. */
export function suffices(loaded: Loaded, visible: Span, full: Span, pixels: number): boolean {
  const near = grown(visible, GROW_FACTOR, full);
  if (near.begin < loaded.range.begin || near.end > loaded.range.end) return false;
  if (!loaded.filtered) return true;
  const needed = grown(visible, FETCH_FACTOR, full);
  if (length(loaded.range) > COARSE_FACTOR * length(needed)) return false;
  // the server limits its answer's size: only a clearly shorter range can come back finer
  const block = (length(loaded.range) / loaded.resolution) * (pixels / Math.max(length(visible), 1));
  return block <= BLOCK_PIXELS || length(needed) > 0.75 * length(loaded.range);
}

function length(span: Span): number {
  return span.end - span.begin;
}

/** Fetches data; null requests the whole trace. Rejects with the signal's reason when aborted. */
type FetchRange<T> = (wanted: RangeRequest | null, signal: AbortSignal) => Promise<T>;

interface LoaderEvents<T> {
  data(answer: T): void;
  /** Called with true while a request is pending. */
  busy(on: boolean): void;
  failed(error: unknown): void;
}

/** Runs one request at a time: a new one aborts the previous; old boxes remain until new ones arrive. */
export class Loader<T> {
  private flight: { readonly wanted: RangeRequest | null; readonly abort: AbortController } | null = null;

  constructor(
    private readonly fetchRange: FetchRange<T>,
    private readonly events: LoaderEvents<T>,
  ) {}

  /** Loads a given range, or the whole trace at the server's default resolution. */
  start(wanted: RangeRequest | null): void {
    this.flight?.abort.abort();
    const flight = { wanted, abort: new AbortController() };
    this.flight = flight;
    this.events.busy(true);
    this.fetchRange(wanted, flight.abort.signal).then(
      (answer) => {
        if (this.land(flight)) this.events.data(answer);
      },
      (error: unknown) => {
        if (this.land(flight)) this.events.failed(error);
      },
    );
  }

  /** Starts a request when neither the loaded nor the requested boxes suffice for the visible range. */
  update(loaded: Loaded, visible: Span, full: Span, pixels: number): void {
    if (suffices(loaded, visible, full, pixels)) return;
    const wanted = this.flight?.wanted;
    if (wanted && suffices({ ...wanted, filtered: true }, visible, full, pixels)) return;
    this.start(rangeFor(visible, full, pixels));
  }

  dispose(): void {
    this.flight?.abort.abort();
    this.flight = null;
  }

  private land(flight: { readonly abort: AbortController }): boolean {
    if (this.flight !== flight || flight.abort.signal.aborted) return false;
    this.flight = null;
    this.events.busy(false);
    return true;
  }
}
