// The view's state in the address bar of the tab: the parent window's query when TensorBoard frames us.
import type { UrlState } from "../api/page";
import { patchQuery, readQuery } from "../base/query";

/** The window whose address the reader sees: the parent when it is ours to touch, else our own. */
export function addressWindow(own: Window): Window {
  try {
    // Reading the address throws when the parent is of another origin (notebooks, proxies).
    if (own.parent !== own && typeof own.parent.location.search === "string") return own.parent;
  } catch {
    return own;
  }
  return own;
}

/** UrlState over a window's history; `set` without a real change adds no history step. */
export function makeUrlState(target: Window): UrlState {
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  target.addEventListener("popstate", tell);
  return {
    get: (key) => readQuery(target.location.search, key),
    set(patch, mode) {
      const { pathname, search, hash } = target.location;
      const next = patchQuery(search, patch);
      if (next === patchQuery(search, {})) return;
      const address = `${pathname}${next}${hash}`;
      if (mode === "push") target.history.pushState(target.history.state, "", address);
      else target.history.replaceState(target.history.state, "", address);
      tell();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
