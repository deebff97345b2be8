import { describe, expect, it, vi } from "vitest";
import { grown, Loader, suffices, rangeFor } from "./fetch_policy";
import type { Loaded, RangeRequest } from "./fetch_policy";

const full = { begin: 0, end: 1000 };
const loaded = (begin: number, end: number, patch: Partial<Loaded> = {}): Loaded => ({
  range: { begin, end },
  resolution: 6000,
  filtered: true,
  ...patch,
});

describe("the requested range", () => {
  it("is three times the visible range around its middle, clamped to the trace", () => {
    expect(rangeFor({ begin: 400, end: 500 }, full, 1000)).toEqual({ range: { begin: 300, end: 600 }, resolution: 6000 });
    expect(rangeFor({ begin: 0, end: 100 }, full, 1000)).toEqual({ range: { begin: 0, end: 200 }, resolution: 4000 });
    expect(grown({ begin: 0, end: 1000 }, 3, full)).toEqual(full);
  });
});

describe("whether a loaded range suffices", () => {
  it("does until the visible range, grown twice, leaves it", () => {
    expect(suffices(loaded(300, 600), { begin: 400, end: 500 }, full, 1000)).toBe(true);
    expect(suffices(loaded(300, 600), { begin: 440, end: 540 }, full, 1000)).toBe(true);
    expect(suffices(loaded(300, 600), { begin: 460, end: 560 }, full, 1000)).toBe(false);
    expect(suffices(loaded(300, 600), { begin: 300, end: 600 }, full, 1000)).toBe(false);
  });

  it("does not once it is eight times what is needed", () => {
    expect(suffices(loaded(0, 1000, { resolution: 1e9 }), { begin: 500, end: 542 }, full, 1000)).toBe(true);
    expect(suffices(loaded(0, 1000, { resolution: 1e9 }), { begin: 500, end: 541 }, full, 1000)).toBe(false);
  });

  it("does not when the server answered coarsely and a smaller range would come back finer", () => {
    expect(suffices(loaded(0, 1000, { resolution: 500 }), { begin: 400, end: 600 }, full, 1000)).toBe(false);
    expect(suffices(loaded(0, 1000, { resolution: 500 }), { begin: 0, end: 1000 }, full, 1000)).toBe(true);
  });

  it("always does within the range when nothing was merged", () => {
    expect(suffices(loaded(0, 1000, { filtered: false }), { begin: 500, end: 500.1 }, full, 1000)).toBe(true);
    expect(suffices(loaded(0, 500, { filtered: false }), { begin: 490, end: 510 }, full, 1000)).toBe(false);
  });
});

/** A loader whose requests are answered by hand. */
function manual() {
  const flights: { wanted: RangeRequest | null; signal: AbortSignal; answer: (n: number) => void; fail: (e: Error) => void }[] = [];
  const events = { data: vi.fn<(n: number) => void>(), busy: vi.fn<(on: boolean) => void>(), failed: vi.fn<(e: unknown) => void>() };
  const loader = new Loader<number>(
    (wanted, signal) => new Promise((answer, fail) => flights.push({ wanted, signal, answer, fail })),
    events,
  );
  return { loader, flights, events };
}
const settle = () => new Promise((r) => setTimeout(r, 0));

describe("loader", () => {
  it("has one request at a time; the latest wins and the old one is aborted", async () => {
    const { loader, flights, events } = manual();
    loader.start(null);
    loader.update(loaded(0, 1000), { begin: 500, end: 510 }, full, 1000);
    expect(flights.map((f) => f.signal.aborted)).toEqual([true, false]);
    flights[0]?.answer(1);
    flights[1]?.answer(2);
    await settle();
    expect(events.data.mock.calls).toEqual([[2]]);
    expect(events.busy.mock.calls.at(-1)).toEqual([false]);
  });

  it("waits for a pending request that suffices instead of repeating it on every frame", () => {
    const { loader, flights } = manual();
    for (let i = 0; i < 60; i++) loader.update(loaded(0, 1000), { begin: 500 + i / 60, end: 510 + i / 60 }, full, 1000);
    expect(flights).toHaveLength(1);
  });

  it("reports a failure once, and nothing after dispose", async () => {
    const { loader, flights, events } = manual();
    loader.start(null);
    flights[0]?.fail(new Error("down"));
    await settle();
    expect(events.failed).toHaveBeenCalledOnce();
    loader.start(null);
    loader.dispose();
    flights[1]?.answer(3);
    await settle();
    expect(events.data).not.toHaveBeenCalled();
  });
});
