import { describe, expect, it } from "vitest";
import { eventOfBox, foundAgain } from "../../../timeline/data/selection";
import { decodeTrace } from "../../../timeline/data/trace";
import { encodeTrace } from "../../../timeline/testing/synthetic";
import { Rest } from "./rest";

const boxes = [
  { begin: 0, duration: 10, name: "a", event: 0 },
  { begin: 20, duration: 10, name: "b", event: 1 },
];
const made = (partial: boolean, tid = 1, more: typeof boxes = []) =>
  decodeTrace(
    encodeTrace({ sections: [{ pid: 3, name: "/device:GPU:0", tracks: [{ tid, name: "t", boxes: [...boxes, ...more] }] }], partial }),
  );

function rest(answer: () => Promise<ReturnType<typeof made>>) {
  const log: string[] = [];
  const made = new Rest(answer, {
    busy: (on) => log.push(`busy ${on}`),
    arrived: (trace) => log.push(`arrived, partial ${trace.partial}`),
    failed: (error) => log.push(String(error)),
  });
  void made.whole.then(() => log.push("whole"));
  return { made, log };
}
const turn = () => new Promise((resolve) => setTimeout(resolve));

describe("the rest of a large profile", () => {
  it("is not requested if nothing is missing", async () => {
    const { made: one, log } = rest(() => Promise.reject(new Error("asked")));
    expect([one.accepts(made(false)), one.isHere, one.isAwaited]).toEqual([true, true, false]);
    await turn();
    expect(log).toEqual(["whole"]);
  });

  it("is requested once by previews, and replaces those that come later", async () => {
    let asked = 0;
    const { made: one, log } = rest(() => {
      asked += 1;
      return Promise.resolve(made(false));
    });
    expect([one.accepts(made(true)), one.accepts(made(true)), one.isAwaited]).toEqual([true, true, true]);
    await turn();
    expect([asked, one.isHere, one.accepts(made(true))]).toEqual([1, true, false]);
    expect(log).toEqual(["busy false", "arrived, partial false", "whole"]);
  });

  it("is requested again after a failure", async () => {
    const { made: one, log } = rest(() => Promise.reject(new Error("gone")));
    one.accepts(made(true));
    await turn();
    expect([log, one.isHere, one.isAwaited]).toEqual([["busy false", "Error: gone"], false, false]);
    expect([one.accepts(made(true)), one.isAwaited]).toEqual([true, true]);
  });
});

describe("a selected event in the whole trace", () => {
  it("is found by its time on another track, under another number", () => {
    const event = eventOfBox(made(true), 1);
    const whole = made(false, 7, [{ begin: 12, duration: 2, name: "c", event: 1 }]);
    whole.event[2] = 2;
    const gone = [
      { ...event, name: "other" },
      { ...event, begin: 21 },
    ];
    expect(foundAgain(whole, [...gone, event])).toEqual([{ ...event, tid: 7, event: 2 }]);
  });
});
