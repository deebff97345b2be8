import { describe, expect, it } from "vitest";
import { chromeFile, readChromeTrace } from "./chrome_trace";

const trace = readChromeTrace(
  JSON.stringify({
    traceEvents: [
      { ph: "M", pid: 3, name: "process_name", args: { name: "/device:TPU:0" } },
      { ph: "M", pid: 3, tid: 1, name: "thread_name", args: { name: "XLA Ops" } },
      { ph: "M", pid: 3, tid: 1, name: "thread_sort_index", args: { sort_index: 1 } },
      { ph: "X", pid: 3, tid: 1, name: "outer", ts: 1, dur: 10, bind_id: "9877841622424448" },
      { ph: "X", pid: 3, tid: 1, name: "inner", ts: 2, dur: 3, args: { hlo: "fusion" } },
      { ph: "X", pid: 3, tid: 1, name: "across", ts: 4, dur: 20 },
      { ph: "i", pid: 3, tid: 1, name: "now", ts: 5, s: "t" },
      {
        ph: "C",
        pid: 3,
        name: "HBM",
        entries: [
          [1, 5],
          [2, 6],
        ],
      },
      {},
    ],
  }),
);

describe("chrome file", () => {
  it("has one event per counter sample and no empty element", () => {
    const { traceEvents } = JSON.parse(chromeFile(trace)) as { traceEvents: { ph: string; ts?: number }[] };
    expect(traceEvents.filter((e) => e.ph === "C")).toMatchObject([
      { ts: 1, args: { value: 5 } },
      { ts: 2, args: { value: 6 } },
    ]);
    expect(traceEvents.every((e) => e.ph)).toBe(true);
    expect(() => readChromeTrace("{}")).toThrow("no traceEvents");
  });
});
