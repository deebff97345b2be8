// What a preview of a large profile lacks: requested once, and awaited by all that needs the final rows and numbers of events.
import type { Trace } from "../../../timeline/data/trace";

interface RestEvents {
  /** Called with true while the rest is awaited. */
  busy(on: boolean): void;
  arrived(trace: Trace): void;
  failed(error: unknown): void;
}

export class Rest {
  /** Resolved once nothing is missing. */
  readonly whole: Promise<void>;
  private stage: "unknown" | "awaited" | "here" = "unknown";
  private resolve: () => void = () => undefined;

  constructor(
    private readonly request: () => Promise<Trace>,
    private readonly events: RestEvents,
  ) {
    this.whole = new Promise((resolve) => (this.resolve = resolve));
  }

  get isHere(): boolean {
    return this.stage === "here";
  }

  get isAwaited(): boolean {
    return this.stage === "awaited";
  }

  /** Notes an answer, and requests the rest if it is a preview; false for a preview that comes behind the rest. */
  accepts(trace: Trace): boolean {
    if (!trace.partial) {
      this.stage = "here";
      this.resolve();
      return true;
    }
    if (this.stage === "unknown") this.start();
    return !this.isHere;
  }

  private start(): void {
    this.stage = "awaited";
    this.request().then(
      (trace) => {
        this.accepts(trace);
        this.events.busy(false);
        this.events.arrived(trace);
      },
      (error: unknown) => {
        this.stage = "unknown";
        this.events.busy(false);
        this.events.failed(error);
      },
    );
  }
}
