// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";
import { ANSWER, NOTHING, NO_STEPS, decomposed } from "./testing";

// jsdom has no canvas to draw on.
vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

let shown: Shown;

/** Shows the page with an answer of the server; returns its keys of the address. */
async function show(body: unknown, keys: Record<string, string> = {}): Promise<Map<string, string>> {
  shown = await showPage(page, { id: "time_budget", title: "Time budget", group: "Summary", hosts: "one_or_all" }, body, keys);
  return shown.keys;
}

describe("the time budget", () => {
  it("summarises the average step, with notes and host code", async () => {
    await show(ANSWER);
    expect(shown.text()).toContain("23.3% of the time from step to step is host compute (waits for host code)");
    expect(shown.text()).toContain("A note.");
    expect(shown.text()).toContain("load_batch (train.py:9)");
    expect(shown.text()).toContain("Between steps");
  });

  it("shows the device in the address, and writes a choice to it", async () => {
    const keys = await show(ANSWER, { device: "TPU 1" });
    expect(shown.text()).toContain("Average step of TPU 1");
    const select = shown.root.querySelector("select") as HTMLSelectElement;
    expect(select.value).toBe("TPU 1");
    select.value = "";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await settle(shown.root);
    expect(keys.has("device")).toBe(false);
    expect(shown.text()).toContain("Average step of all devices (mean)");
  });

  /** Answers of a run and of its base, whose host has another name. */
  const pair =
    (base: unknown, tool: Record<string, unknown> = {}) =>
    (url: URL): unknown => {
      const listed = { id: "time_budget", hosts: "one_or_all", host_names: ["other"], available: true, reason: null, ...tool };
      if (url.pathname.endsWith("/run_info")) return { tools: [listed] };
      return url.searchParams.get("run") === "before" ? base : ANSWER;
    };

  it("names the base and the difference of the step", async () => {
    await show(
      pair({
        ...ANSWER,
        steps: { number: [0], name: ["train 0"], begin_ps: [[1000, 1000]], duration_ps: [[80, 80]] },
        decomposition: decomposed({ base: "step", base_ps: 80, step_ps: 80 }),
        time_ps: [
          [
            [50, 0, 30],
            [50, 30, 0],
          ],
        ],
      }),
      { base: "before" },
    );
    await vi.waitFor(() => expect(shown.text()).toContain("Compared with before, host other."));
    expect(shown.text()).toContain("A step takes 0.15 ns, in the base 0.08 ns: +0.07 ns (+87.5%).");
  });

  it("says why there is no comparison, and removes the base", async () => {
    const keys = await show(pair(ANSWER, { available: false, reason: "It has no device." }), { base: "before" });
    await vi.waitFor(() => expect(shown.text()).toContain("No comparison with before: It has no device."));
    [...shown.root.querySelectorAll("button")].find((one) => one.textContent === "Remove the base")?.click();
    await settle(shown.root);
    expect(keys.has("base")).toBe(false);
  });

  it("does not compare steps if one side has none, nor hosts that do not correspond", async () => {
    await show(pair({ ...ANSWER, steps: NO_STEPS, time_ps: [] }), { base: "before" });
    await vi.waitFor(() => expect(shown.text()).toContain("One side has no steps"));
    await show(pair(ANSWER, { host_names: ["x", "y"] }), { base: "before" });
    await vi.waitFor(() => expect(shown.text()).toContain("It has no host named h."));
  });

  it("explains a profile without devices", async () => {
    await show(NOTHING);
    expect(shown.text()).toContain("No device to account for");
  });
});
