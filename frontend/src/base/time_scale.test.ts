import { describe, expect, it } from "vitest";
import { TimeScale, tickStep } from "./time_scale";

describe("TimeScale", () => {
  const scale = new TimeScale(1000, 3000, 200);

  it("maps both ways", () => {
    expect(scale.psPerPx).toBe(10);
    expect(scale.toPx(2000)).toBe(100);
    expect(scale.toTime(50)).toBe(1500);
  });

  it("pans by pixels", () => {
    const moved = scale.pan(-20);
    expect([moved.begin, moved.end]).toEqual([800, 2800]);
  });

  it("zooms about the pointer", () => {
    const near = scale.zoom(0.5, 50);
    expect(near.toPx(1500)).toBe(50);
    expect(near.span).toBe(1000);
  });

  it("clamps position and span", () => {
    const at = (s: TimeScale): number[] => [s.begin, s.end];
    expect(at(new TimeScale(-500, 500, 10).clamp(0, 10_000, 10))).toEqual([0, 1000]);
    expect(at(new TimeScale(9_500, 10_500, 10).clamp(0, 10_000, 10))).toEqual([9000, 10_000]);
    expect(at(new TimeScale(-9e9, 9e9, 10).clamp(0, 10_000, 10))).toEqual([0, 10_000]);
    expect(at(new TimeScale(500, 501, 10).clamp(0, 10_000, 101))).toEqual([450, 551]);
  });

  it("puts ticks on round times", () => {
    expect(scale.ticks(50).map((t) => t.at)).toEqual([1000, 1500, 2000, 2500, 3000]);
    expect(new TimeScale(-10, 10, 100).ticks(50).map((t) => t.px)).toEqual([0, 50, 100]);
  });

  it.each([
    [0.1, 1],
    [1, 1],
    [1.1, 2],
    [2, 2],
    [3, 5],
    [6, 10],
    [12_000, 20_000],
    [1e9, 1e9],
  ])("steps %d -> %d", (least, step) => {
    expect(tickStep(least)).toBe(step);
  });
});
