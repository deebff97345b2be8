// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { COMPARISON, UNKNOWN } from "../../page/compare/comparison_testing";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";

const TOOL = { id: "compare", title: "Compare", group: "Summary", hosts: "all" } as const;
const show = (answer: unknown, keys: Record<string, string> = {}): Promise<Shown> => showPage(page, TOOL, answer, keys);
const press = async (shown: Shown, words: string): Promise<void> => {
  [...shown.root.querySelectorAll<HTMLElement>("button, a")].find((one) => one.textContent?.includes(words))?.click();
  await settle(shown.root);
};

/** The page with a contribution selected. */
const selected = (what: string): Promise<Shown> => show(COMPARISON, { base: "before", "t1.row": `what~${what}` });

describe("the page Compare", () => {
  it("asks for a base, without a comparison, and proposes the run that shares most programs", async () => {
    const asked: string[] = [];
    const shown = await showPage(page, TOOL, (at: URL) => {
      asked.push(at.pathname);
      return [{ run: "before", shared: 0.98 }];
    });
    expect(shown.text()).toContain("Choose a base");
    expect(asked).toEqual(["/p/base_runs"]);
    await press(shown, "Compare with before: 98% of programs shared");
    expect(shown.keys.get("base")).toBe("before");
  });

  it("proposes nothing if no run shares most of its programs", async () => {
    const shown = await show([{ run: "before", shared: 0.2 }]);
    expect(shown.text()).toContain("No run is known to share most of its programs.");
    expect(shown.text()).not.toContain("Compare with before");
  });

  it("says above all figures that runs are hardly comparable", async () => {
    const caution = "Only 12% of the time is in programs that both runs have: the runs are hardly comparable.";
    const text = (await show({ ...COMPARISON, caution }, { base: "before" })).text();
    expect(text.indexOf(caution)).toBeGreaterThan(0);
    expect(text.indexOf(caution)).toBeLessThan(text.indexOf("10.0% slower"));
  });

  it("says what changed, and by how much", async () => {
    const shown = await show(COMPARISON, { base: "before" });
    expect(shown.text()).toContain("10.0% slower (900.0 to 990.0 us)");
    expect(shown.text()).toContain("+90 us (+10.0%)");
    expect(shown.text()).toContain("95% interval +80 us to +100 us");
    expect(shown.text()).toContain("The number of hosts differs");
    expect(shown.text()).toContain("No buffer assignments");
  });

  it("leads from a contribution to the row with the same number, to the timeline, and from a part to the time budget", async () => {
    const shown = await selected("jit_f: fusion.11 (mul)");
    await press(shown, "Row in ops");
    expect(shown.root.querySelector(".compare-ops .table-detail")?.textContent).toContain("+120 us");
    expect(shown.keys.has("tool")).toBe(false);
    await press(shown, "Timeline");
    expect(["tool", "find", "run", "base"].map((key) => shown.keys.get(key))).toEqual(["trace_viewer@", "fusion.11", undefined, "before"]);
  });

  it("leads from a part to the time budget, and from what is gone to the timeline of the base", async () => {
    const shown = await selected("Waits for launches (Kernel launch)");
    await press(shown, "Time budget");
    expect([shown.keys.get("tool"), shown.keys.get("part"), shown.keys.get("base")]).toEqual(["time_budget", "idle_launch", "before"]);
    expect(shown.keys.get("t1.row")).toBe("part~Waits for launches");
    const gone = await selected("jit_f: gone.3");
    await press(gone, "Timeline");
    expect(["tool", "find", "run"].map((key) => gone.keys.get(key))).toEqual(["trace_viewer@", "gone.3", "before"]);
    expect(gone.keys.has("base")).toBe(false);
  });

  it("says what cannot be compared", async () => {
    const shown = await show(UNKNOWN, { base: "before" });
    expect(shown.text()).toContain("The base has no device with steps");
    expect(shown.text()).toContain("No contributions");
  });

  it("says that a run does not differ from itself", async () => {
    expect((await show(COMPARISON, { base: "r" })).text()).toContain("The base is this run: nothing can differ.");
  });
});
