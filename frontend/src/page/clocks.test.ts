import { expect, it } from "vitest";
import { clocksText, readHostOffsets } from "./clocks";

it("reads the offsets of hosts and writes those that differ", () => {
  const offsets = readHostOffsets({ host_offsets_ps: { a: 0, b: -500, "c:1": 7 }, ops: null });
  expect(clocksText(offsets)).toBe("b:-500,c:1:7");
  expect(clocksText(readHostOffsets({}))).toBe("");
  expect(() => readHostOffsets({ host_offsets_ps: { a: "late" } })).toThrow("the clock of a");
});
