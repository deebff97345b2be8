import { describe, expect, it } from "vitest";
import { decodeTrace } from "../../../timeline/data/trace";
import { eventOfBox } from "../../../timeline/data/selection";
import { encodeTrace } from "../../../timeline/testing/synthetic";
import { toldSelection } from "./told";

const boxes = [
  { begin: 0, duration: 800, name: "op", event: 0 },
  { begin: 1000, duration: 500, name: "op", event: 1, count: 3 },
];
const trace = decodeTrace(encodeTrace({ sections: [{ pid: 3, name: "TPU", tracks: [{ tid: 1, name: "Ops", boxes }] }], full: [0, 2000] }));
const [one, merged] = [eventOfBox(trace, 0), eventOfBox(trace, 1)];
const host = trace.sections[0]?.host ?? "";

describe("the selection that a program is told", () => {
  it("is nothing without events", () => expect(toldSelection(trace, [], null)).toBeNull());

  it("names single events with their line", () =>
    expect(toldSelection(trace, [one], null)).toEqual({ lines: [[host, "TPU", "Ops"]], events: [[0, "op", 0, 800]], area: null }));

  it("is a rectangle where boxes are merged", () => {
    const area = { window: { begin: 0.5, end: 1999.5 }, tracks: [{ pid: 3, tid: 1, first: 0, last: 2 }], name: null };
    expect(toldSelection(trace, [one, merged], area)).toEqual({
      lines: [[host, "TPU", "Ops"]],
      events: [],
      area: { begin: 0, end: 2000, name: null, rows: [[0, 0, 2]] },
    });
    expect(toldSelection(trace, [one], area)?.events).toHaveLength(1);
    expect(toldSelection(trace, [one, merged], null)?.events).toHaveLength(1);
  });
});
