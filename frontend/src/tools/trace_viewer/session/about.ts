// What is known of the selection: the details of one event, or sums over a rectangle.
import type { SelectedArea, SelectedEvent } from "../../../timeline/data/selection";
import type { AreaSums, EventDetails, Source } from "./source";

export class About {
  details: EventDetails | null = null;
  /** Sums over the selected rectangle; null while they are computed, or for other selections. */
  sums: AreaSums | null = null;
  error: unknown = null;
  private abort = new AbortController();

  /** `told` is called with the details of an event, and with null for sums and errors. */
  constructor(
    private readonly fetchDetails: (event: SelectedEvent, signal: AbortSignal) => Promise<EventDetails>,
    private readonly source: Pick<Source, "sums">,
    private readonly told: (details: EventDetails | null) => void,
  ) {}

  dispose(): void {
    this.abort.abort();
  }

  /** Fetches what belongs to a selection. */
  follow(selection: readonly SelectedEvent[], area: SelectedArea | null): void {
    this.abort.abort();
    const { signal } = (this.abort = new AbortController());
    this.details = this.sums = this.error = null;
    const [only, second] = selection;
    const one = only && !second && only.count === 1;
    const answer = one
      ? this.fetchDetails(only, signal).then((details) => () => (this.details = details))
      : only && area
        ? this.source.sums(area, signal).then((sums) => () => (this.sums = sums))
        : null;
    answer?.then(
      (keep) => {
        if (signal.aborted) return;
        keep();
        this.told(this.details);
      },
      (error: unknown) => {
        if (signal.aborted) return;
        this.error = error;
        this.told(null);
      },
    );
  }
}
