import { expect, it } from "vitest";
import { clocksText } from "./clocks";

it("writes the offsets of hosts that differ", () => {
  expect(clocksText({ a: 0, b: -500, "c:1": 7 })).toBe("b:-500,c:1:7");
  expect(clocksText({})).toBe("");
});
