import { describe, expect, it, vi } from "vitest";
import type { PageModule } from "../../page/page";
import { folderOf, holdLoading, loadAllWhenIdle, loadedPage, loadPage } from "./pages";

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

  it("knows a page at once after it was loaded", async () => {
    expect(loadedPage("overview_page", { "../../tools/overview_page/page.tsx": page("overview_page") })).toBeNull();
    const one = { "../../tools/overview_page/page.tsx": page("overview_page") };
    const shown = await loadPage("overview_page", one);
    expect(loadedPage("overview_page", one)).toBe(shown);
  });

  it("loads all pages once in idle time, one after another, whether or not one fails, and none while a page waits", async () => {
    const idle: (() => void)[] = [];
    vi.stubGlobal("requestIdleCallback", (run: () => void) => idle.push(run));
    const loaded: string[] = [];
    const load =
      (id: string, fails = false) =>
      () => (loaded.push(id), fails ? Promise.reject(new Error("cut")) : page(id)());
    const all = { "../../tools/a/page.tsx": load("a", true), "../../tools/b/page.tsx": load("b") };
    loadAllWhenIdle(all);
    loadAllWhenIdle(all);
    expect([idle.length, loaded]).toEqual([1, []]);
    idle.shift()?.();
    expect(loaded).toEqual(["a"]);
    const [first, second] = [holdLoading(), holdLoading()];
    await new Promise((done) => setTimeout(done));
    first();
    expect(idle).toEqual([]);
    second();
    expect(idle.length).toBe(1);
    idle.shift()?.();
    expect(loaded).toEqual(["a", "b"]);
    vi.unstubAllGlobals();
  });

  it("shows findings on pages other than the overview and the timeline", () => {
    const folders = ["overview_page", "trace_viewer", "generic", "time_budget", "memory_viewer"];
    const declared = folders.map((folder) => SOURCES[`../../tools/${folder}/page.tsx`]?.includes(", findings: ["));
    expect(declared).toEqual([false, false, false, true, true]);
  });
});
