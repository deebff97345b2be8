// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { COMPARISON, UNKNOWN } from "../../page/compare/comparison_testing";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";

const TOOL = { id: "compare", title: "Compare", group: "Summary", hosts: "all" } as const;
const show = (answer: unknown, keys: Record<string, string> = {}): Promise<Shown> => showPage(page, TOOL, answer, keys);
const press = async (shown: Shown, words: string): Promise<void> => {
  [...shown.root.querySelectorAll("button")].find((one) => one.textContent?.includes(words))?.click();
  await settle(shown.root);
};

describe("the page Compare", () => {
  it("asks for a base, without a request, and proposes the run before", async () => {
    const shown = await show({ error: { code: "bad_request", message: "no request expected" } });
    expect(shown.text()).toContain("Choose a base");
    expect(shown.text()).not.toContain("no request expected");
    await press(shown, "Compare with before, the run before");
    expect(shown.keys.get("base")).toBe("before");
  });

  it("says what changed, by how much, and that all rows add up", async () => {
    const shown = await show(COMPARISON, { base: "before" });
    expect(shown.text()).toContain("0.99 ms against 0.90 ms per step");
    expect(shown.text()).toContain("+90 us (+10.0%)");
    expect(shown.text()).toContain("95% interval +80 us to +100 us");
    expect(shown.text()).toContain("All rows add up to +90 us.");
    expect(shown.text()).toContain("The number of hosts differs");
    expect([...shown.root.querySelectorAll(".compare-bars li.uncertain .compare-name")].map((one) => one.textContent)).toEqual([
      "Idle: launch",
    ]);
    expect(shown.text()).toContain("No program of either run has a buffer assignment");
  });

  it("opens the ops of a contribution, and the time budget for a part of the step", async () => {
    const shown = await show(COMPARISON, { base: "before" });
    await press(shown, "jit_f: fusion.11");
    expect([shown.keys.get("tool"), shown.keys.get("filter"), shown.keys.get("base")]).toEqual([
      "hlo_stats",
      "hlo_op_name~/^(fusion\\\\.11)$/",
      "before",
    ]);
    await press(shown, "Idle: launch");
    expect(shown.keys.get("tool")).toBe("time_budget");
  });

  it("says what cannot be compared", async () => {
    const shown = await show(UNKNOWN, { base: "before" });
    expect(shown.text()).toContain("The base has no device with steps");
    expect(shown.text()).toContain("Contributions divide the difference of the step, which is unknown");
  });

  it("says that a run does not differ from itself", async () => {
    expect((await show(COMPARISON, { base: "r" })).text()).toContain("The base is this run: nothing can differ.");
  });
});
