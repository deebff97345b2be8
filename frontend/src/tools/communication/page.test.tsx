// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";
import { NOTHING, answer } from "./testing";

// jsdom has no canvas to draw on.
vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

let shown: Shown;

/** Shows the page with an answer of the server; returns its keys of the address. */
async function show(body: unknown, keys: Record<string, string> = {}): Promise<Map<string, string>> {
  shown = await showPage(page, { id: "communication", title: "Communication", group: "Time", hosts: "one_or_all" }, body, keys);
  return shown.keys;
}

describe("communication", () => {
  it("shows collectives and devices, and parts that the profile has", async () => {
    await show(answer({ notes: ["A note."] }));
    expect(shown.text()).toContain("most of it in all-reduce.1");
    expect(shown.text()).toContain("A note.");
    expect([...shown.root.querySelectorAll("section.card")].map((card) => card.getAttribute("aria-label"))).toEqual([
      "Collectives",
      "Communication by step",
      "Hidden share",
      "Devices",
    ]);
  });

  it("opens the trace viewer at the longest run of a collective", async () => {
    const keys = await show(answer());
    const grid = shown.root.querySelector('section[aria-label="Collectives"] [role="grid"]') as HTMLElement;
    grid.focus();
    for (const key of ["ArrowDown", "Enter"]) grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await settle(shown.root);
    expect([keys.get("tool"), keys.get("host")]).toEqual(["trace_viewer@", "h"]);
    expect(["3000,9000", "8000,10100"]).toContain(keys.get("window"));
  });

  it("explains a profile without devices", async () => {
    await show(NOTHING);
    expect(shown.text()).toContain("No device that could communicate");
  });
});
