// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import type { Shown } from "../../page/testing";
import page from "./page";
import { MODULES, NOTHING, PROFILE } from "./testing";

// jsdom has no canvas to draw on.
vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

let shown: Shown;

const NO_EVENTS = { error: { code: "no_data", message: "No events." } };

/** Shows the page with an answer of the server, without memory over time; returns its keys of the address. */
async function show(body: unknown, keys: Record<string, string> = {}): Promise<Map<string, string>> {
  const answerTo = ({ searchParams }: URL) =>
    searchParams.get("tag") === "memory_profile"
      ? searchParams.has("modules")
        ? MODULES
        : body
      : new Response(JSON.stringify(NO_EVENTS), { status: 404 });
  shown = await showPage(page, { id: "memory_profile", title: "Memory profile", group: "Memory", hosts: "one" }, answerTo, keys);
  return shown.keys;
}

describe("the memory profile", () => {
  it("summarises the memory with the highest usage", async () => {
    await show(PROFILE);
    expect(shown.text()).toContain("at the peak 600 B of 1,000 B (60.0%) is in use");
    expect(shown.root.querySelector("select")?.value).toBe("0");
    expect(shown.text()).toContain("model/conv/Conv2D");
    expect(shown.text()).toContain("HLO modules");
    expect([...shown.root.querySelectorAll(".chart-legend button")].map((button) => button.textContent)).toEqual([
      "Stack",
      "Heap",
      "Free",
      "Fragmentation (right axis)",
    ]);
  });

  it("shows the memory in the address, and writes a choice to it", async () => {
    const keys = await show(PROFILE, { memory_id: "1" });
    expect(shown.text()).toContain("at the peak 10 B of 1,000 B");
    const select = shown.root.querySelector("select") as HTMLSelectElement;
    select.value = "0";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await settle(shown.root);
    expect(keys.get("memory_id")).toBe("0");
    expect(shown.text()).toContain("600 B of 1,000 B");
  });

  it("goes to the trace viewer at the peak", async () => {
    const keys = await show(PROFILE);
    const link = [...shown.root.querySelectorAll("a")].find((one) => one.textContent?.includes("trace viewer"));
    link?.click();
    expect(keys.get("tool")).toBe("trace_viewer@");
    expect([keys.get("marker"), keys.get("window")]).toEqual(["2000000000,peak of memory 0: 600 B", undefined]);
  });

  it("has a table for the chart, and arrow keys move over its points", async () => {
    await show(PROFILE);
    const chart = shown.root.querySelector(".chart-body") as HTMLElement;
    chart.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
    await settle(shown.root);
    expect(shown.root.querySelector(".chart [aria-live]")?.textContent).toContain("Event deallocation");
    const button = [...shown.root.querySelectorAll("button")].find((one) => one.textContent === "Table");
    button?.click();
    await settle(shown.root);
    expect(shown.root.querySelectorAll(".table").length).toBe(2);
  });

  it("asks for the runs of programs when their card is opened, those of the memory's device", async () => {
    await show(PROFILE);
    expect(shown.text()).not.toContain("Double click");
    [...shown.root.querySelectorAll("button")].find((one) => one.textContent === "HLO modules")?.click();
    await settle(shown.root);
    expect(shown.text()).toContain("1 run. Double click or Enter zooms the timeline to one.");
  });

  it("explains which events are missing", async () => {
    await show(NOTHING);
    expect(shown.text()).toContain("no allocator events");
    expect(shown.text()).toContain("MemoryAllocation");
    expect(shown.text()).toContain("host_tracer_level");
  });
});
