// Parses the server's trace-event JSON, the source of the exported files.

/** One element of `traceEvents`. Times in us. */
export interface ChromeEvent {
  readonly ph: string;
  readonly name?: string;
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly bind_id?: number | string;
  readonly cat?: string;
  readonly id?: number | string;
  /** Samples of a counter: [ts, value...] each. */
  readonly entries?: readonly (readonly number[])[];
}

export interface ChromeTrace {
  readonly traceEvents: readonly Partial<ChromeEvent>[];
  readonly [key: string]: unknown;
}

/** Parses the server's response. Throws if it is not a trace. */
export function readChromeTrace(text: string): ChromeTrace {
  const value = JSON.parse(text) as Partial<ChromeTrace> | null;
  if (typeof value !== "object" || value === null || !Array.isArray(value.traceEvents)) {
    throw new Error("the server's response has no traceEvents");
  }
  return value as ChromeTrace;
}

/** The trace as text for a file, without the empty last element of the server's response. */
export function chromeFile(trace: ChromeTrace): string {
  const traceEvents = trace.traceEvents
    .filter((event) => event.ph !== undefined)
    .map(withEntries)
    .flat();
  return JSON.stringify({ displayTimeUnit: "ns", traceEvents });
}

/** Splits grouped counter samples into one event each, as other viewers expect. */
function withEntries(event: Partial<ChromeEvent>): Partial<ChromeEvent>[] {
  if (event.ph !== "C" || !event.entries) return [event];
  const { entries, ...rest } = event;
  return entries.map(([ts, value]) => ({ ...rest, ...(ts === undefined ? {} : { ts }), args: { value: value ?? 0 } }));
}
