// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";
import { ANSWER, NOTHING } from "./testing";

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
    expect(shown.text()).toContain("23.3% of the step is waiting for host code");
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

  it("explains a profile without devices", async () => {
    await show(NOTHING);
    expect(shown.text()).toContain("No device to account for");
  });
});
