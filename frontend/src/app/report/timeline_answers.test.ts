// @vitest-environment node
// The timeline of a report: search, sums and events of the boxes in the file.
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { STORED_BASE, StoredAnswers, storedFetch, storedKey } from "../../api/stored";
import { makeClient } from "../../api/client";
import { encodeContainer } from "../../timeline/data/payload";
import { decodeSearchHits } from "../../timeline/data/search_hits";
import { decodeTrace } from "../../timeline/data/trace";
import { timelineAnswers } from "./timeline_answers";

const PLACE = { run: "r", tag: "trace_viewer@", host: "h" };
const HEADER = {
  version: 2,
  finest: true,
  full_timespan_ps: [0, 1000],
  window_ps: [0, 1000],
  resolution: 9,
  total_events: 7,
  merged_events: 3,
  truncated: false,
  partial: false,
  boxes: 5,
  sections: [{ pid: 1, name: "/device:TPU:0", host: "h", track_begin: 0, track_end: 1 }],
  tracks: [{ pid: 1, tid: 2, name: "Ops", rows: 2, events: 7 }],
  strings: ["Step", "matmul", "add"],
};
/** Row 0: a step [0, 100] and a block of three events; row 1: matmul [10, 40], add [50, 60], matmul [90, 120], which reaches out of the step. */
const BOXES = encodeContainer(HEADER, {
  track_start: Uint32Array.of(0, 5),
  row: Uint16Array.of(0, 0, 1, 1, 1),
  begin_ps: Float64Array.of(0, 200, 10, 50, 90),
  duration_ps: Float64Array.of(100, 30, 30, 10, 30),
  name: Uint32Array.of(0, 1, 1, 2, 1),
  count: Uint32Array.of(1, 3, 1, 1, 1),
  event: Uint32Array.of(0, 4, 1, 2, 3),
});
const DETAILS = { "1.2.2": { name: "add", args: [{ key: "shape", value: "f32[8]" }] } };

function client() {
  const all: [Record<string, string>, Uint8Array][] = [
    [{ ...PLACE, format: "columns" }, BOXES],
    [{ ...PLACE, format: "details" }, new TextEncoder().encode(JSON.stringify(DETAILS))],
  ];
  const packed = all.map(([, body]) => deflateSync(body));
  const answers = Object.fromEntries(
    all.map(([params], i) => [
      storedKey("page", Object.entries(params), {}),
      [i === 0 ? 0 : (packed[0]?.length ?? 0), packed[i]?.length ?? 0, 200] as const,
    ]),
  );
  const stored = new StoredAnswers(
    { report: { run: "r", base: null, trend: false, version: "", redacted: null }, defaults: {}, answers },
    new Uint8Array(Buffer.concat(packed)),
  );
  return makeClient(STORED_BASE, storedFetch(stored, timelineAnswers(stored)));
}

describe("the timeline of a report", () => {
  it("gives its window for any window, as the finest that there is", async () => {
    const trace = decodeTrace(await client().bytes("page", { ...PLACE, format: "columns", start_time_ms: 1, resolution: 5 }));
    expect([trace.begin.length, trace.finest, trace.window]).toEqual([5, true, { begin: 0, end: 1000 }]);
  });

  it("finds events by name and by stored arguments, by time, without merged blocks", async () => {
    const find = async (more: Record<string, string | number>) => {
      const hits = decodeSearchHits(await client().bytes("page", { ...PLACE, format: "search", limit: 10, ...more }));
      return [hits.total, [...hits.begin]];
    };
    expect(await find({ query: "MAT" })).toEqual([2, [10, 90]]);
    expect(await find({ query: "MAT", case: 1 })).toEqual([0, []]);
    expect(await find({ query: "^(Step|add)$", regex: 1, limit: 1 })).toEqual([2, [0]]);
    expect(await find({ query: "f32", args: 1 })).toEqual([1, [50]]);
    expect(await find({ query: "(", regex: 1 })).toEqual([0, []]);
  });

  it("adds up whole events of rows that touch a window", async () => {
    const ms = 1e-9;
    const areas = "1.2.0.9,7.7.0.1";
    const sums = await client().json<{ events: number; self_ps: number; rows: object[] }>("page", {
      ...PLACE,
      format: "sums",
      areas,
      start_time_ms: 45 * ms,
      end_time_ms: 100 * ms,
    });
    expect(sums.rows).toEqual([
      { name: "Step", count: 1, wall_ps: 100, self_ps: 60, min_ps: 100, max_ps: 100 },
      { name: "matmul", count: 1, wall_ps: 30, self_ps: 30, min_ps: 30, max_ps: 30 },
      { name: "add", count: 1, wall_ps: 10, self_ps: 10, min_ps: 10, max_ps: 10 },
    ]);
    expect([sums.events, sums.self_ps]).toEqual([3, 100]);
  });

  it("knows events as stored, else by their box, and none outside", async () => {
    const event = (number: number) =>
      client().json<Record<string, unknown>>("page", { ...PLACE, format: "event", pid: 1, tid: 2, event: number });
    expect(await event(2)).toEqual(DETAILS["1.2.2"]);
    expect(await event(1)).toMatchObject({ name: "matmul", track: "Ops", begin_ps: 10, duration_ps: 30, row: 1 });
    await expect(event(99)).rejects.toMatchObject({ code: "not_in_report" });
    await expect(client().json("page", { ...PLACE, format: "json" })).rejects.toMatchObject({ code: "not_in_report" });
  });
});
