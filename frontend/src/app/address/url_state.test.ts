import { beforeEach, describe, expect, it, vi } from "vitest";
import { addressWindow, fragmentBar, makeUrlState, queryBar } from "./url_state";

describe("URL state", () => {
  beforeEach(() => window.history.replaceState(null, "", "/?darkMode=true#profile"));

  it("keeps foreign keys and the hash", () => {
    const state = makeUrlState(queryBar(window));
    state.set({ run: "train/a", tool: "trace_viewer@" }, "push");
    expect(window.location.search + window.location.hash).toBe("?darkMode=true&run=train/a&tool=trace_viewer@#profile");
    expect(state.get("run")).toBe("train/a");
    state.set({ tool: null }, "replace");
    expect(state.get("tool")).toBeNull();
  });

  it("makes the full address of another view", () => {
    const state = makeUrlState(queryBar(window), ["run"]);
    state.set({ run: "a" }, "push");
    expect(state.href({ tool: "x", run: null })).toBe(`${window.location.origin}/?darkMode=true&tool=x#profile`);
    expect(window.location.search).toBe("?darkMode=true&run=a");
  });

  it("adds a history entry only for a change", () => {
    const state = makeUrlState(queryBar(window));
    const before = window.history.length;
    const heard = vi.fn();
    state.subscribe(heard);
    state.set({ run: "a" }, "push");
    state.set({ run: "a" }, "push");
    expect(window.history.length).toBe(before + 1);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it("notifies of the back button until unsubscribed", () => {
    const state = makeUrlState(queryBar(window));
    const heard = vi.fn();
    const stop = state.subscribe(heard);
    window.dispatchEvent(new PopStateEvent("popstate"));
    stop();
    window.dispatchEvent(new PopStateEvent("popstate"));
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it("restores its keys when the parent rewrites the address", () => {
    const state = makeUrlState(queryBar(window), ["run", "tool"]);
    state.set({ run: "a/b", tool: "x" }, "push");
    window.history.replaceState(null, "", "/?darkMode=false&run=old#profile");
    expect(state.get("run")).toBe("a/b");
    state.repair();
    expect(window.location.search).toBe("?darkMode=false&run=a/b&tool=x");
    window.history.replaceState(null, "", "/?darkMode=false&run=a%2Fb&tool=x#profile");
    state.repair();
    expect(window.location.search).toBe("?darkMode=false&run=a%2Fb&tool=x");
    state.set({ tool: "y" }, "replace");
    expect(state.get("run")).toBe("a/b");
  });

  it("does not change the address of other plugins", () => {
    const state = makeUrlState(queryBar(window), ["run"]);
    state.set({ run: "a" }, "push");
    window.history.pushState(null, "", "/?darkMode=true#scalars");
    window.dispatchEvent(new PopStateEvent("popstate"));
    state.repair();
    expect(window.location.search).toBe("?darkMode=true");
    expect(state.get("run")).toBe("a");
  });

  it("uses its own window when the parent has another origin", () => {
    const parent = {
      get location(): never {
        throw new DOMException("cross-origin", "SecurityError");
      },
    };
    const own = { parent } as unknown as Window;
    expect(addressWindow(own)).toBe(own);
    const near = { location: { search: "" } };
    expect(addressWindow({ parent: near } as unknown as Window)).toBe(near);
  });
});

describe("the fragment of a saved report", () => {
  beforeEach(() => window.history.replaceState(null, "", "/file.html"));

  it("holds the view, and links lead into it", () => {
    const state = makeUrlState(fragmentBar(window), ["run"]);
    state.set({ run: "a/b", tool: "x" }, "push");
    expect(window.location.hash).toBe("#run=a/b&tool=x");
    expect(state.href({ tool: "y" })).toBe("#run=a/b&tool=y");
    window.history.replaceState(null, "", "#run=c");
    window.dispatchEvent(new PopStateEvent("popstate"));
    expect([state.get("run"), state.get("tool")]).toEqual(["c", null]);
  });

  it("lasts until the page is closed where the history is refused", () => {
    const refuse = (): never => {
      throw new DOMException("opaque", "SecurityError");
    };
    const own = { location: { hash: "" }, history: { pushState: refuse, replaceState: refuse }, addEventListener: () => undefined };
    const state = makeUrlState(fragmentBar(own as unknown as Window), ["run", "tool"]);
    state.set({ run: "a" }, "push");
    state.set({ tool: "t" }, "replace");
    expect([state.get("run"), state.get("tool"), state.href({ tool: null })]).toEqual(["a", "t", "#run=a"]);
  });
});
