// @vitest-environment jsdom
import { render } from "preact";
import { describe, expect, it } from "vitest";
import { RunTimeline } from "./timeline";
import { layout, runsOf, runKey } from "./timeline_model";
import type { TransferTimeline } from "../../base/documents";
import type { Run } from "./timeline_model";

const KINDS = [
  "send",
  "recv",
  "send-done",
  "recv-done",
  "DeviceToHost START",
  "DeviceToHost END",
  "HostToDevice START",
  "HostToDevice END",
];
const ANSWER: TransferTimeline = {
  kinds: KINDS,
  hosts: [
    {
      host: "h",
      names: ["reduce", "gather"],
      parts: {
        device: [0, 0, 0, 0, 0],
        run: ["7", "7", "8", "7", "7"],
        rendezvous: [0, 0, 0, 1, 0],
        kind: [0, 3, 0, 0, 4],
        begin_ps: [100, 500, 900, 300, 150],
        end_ps: [200, 600, 950, 310, 160],
      },
      flows: [
        [0, 0],
        [1, 4],
      ],
    },
  ],
};

describe("runs", () => {
  const runs = runsOf(ANSWER);

  it("are parts of one collective in one run of a module, counted per device", () => {
    expect(runs.map(runKey)).toEqual(["reduce 1: h TPU 0", "gather 1: h TPU 0", "reduce 2: h TPU 0"]);
    expect(runs[0]?.parts.map(({ kind }) => kind)).toEqual(["send", "DeviceToHost START", "recv-done"]);
    expect(runs[0]?.flows).toEqual([
      [0, 2],
      [0, 1],
    ]);
  });

  it("fill the width from the first begin to the last end", () => {
    const { placed, beginPs, lengthPs } = layout(runs[0] as Run);
    expect([beginPs, lengthPs]).toEqual([100, 500]);
    expect(placed.map(({ lane, from, to }) => [lane, from, to])).toEqual([
      [0, 0, 0.2],
      [1, 0.1, 0.12],
      [0, 0.8, 1],
    ]);
  });

  it("are drawn with a curve for every flow", () => {
    const root = document.createElement("div");
    render(<RunTimeline run={runs[0] as Run} />, root);
    expect(root.querySelectorAll(".run-bar")).toHaveLength(3);
    expect(root.querySelectorAll(".run-flow")).toHaveLength(2);
    expect(root.querySelector("svg")?.getAttribute("aria-label")).toContain("3 parts of reduce");
  });
});
