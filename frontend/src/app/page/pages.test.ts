import { describe, expect, it } from "vitest";
import type { PageModule } from "../../page/page";
import { folderOf, loadPage } from "./pages";

const page = (id: string) => (): Promise<PageModule> => Promise.resolve({ ids: [id], Page: () => null as never });

const SOURCES = import.meta.glob<string>("../../tools/*/page.tsx", { query: "?raw", import: "default", eager: true });

describe("page discovery", () => {
  const found = { "../../tools/generic/page.tsx": page("generic"), "../../tools/trace_viewer/page.tsx": page("trace_viewer") };

  it("finds a page by its folder and strips old suffixes", async () => {
    expect(folderOf("trace_viewer@")).toBe("trace_viewer");
    expect((await loadPage("trace_viewer@", found)).ids).toEqual(["trace_viewer"]);
  });

  it("falls back to the generic page", async () => {
    expect((await loadPage("kernel_stats", found)).ids).toEqual(["generic"]);
  });

  it("shows findings on pages other than the overview and the timeline", () => {
    const folders = ["overview_page", "trace_viewer", "generic", "time_budget", "memory_viewer"];
    const declared = folders.map((folder) => SOURCES[`../../tools/${folder}/page.tsx`]?.includes(", findings: ["));
    expect(declared).toEqual([false, false, false, true, true]);
  });
});
