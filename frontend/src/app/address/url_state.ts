// The view's state in the address bar of the tab: in the parent window's query when embedded in TensorBoard, in the
// fragment of a saved report.
import type { UrlState } from "../../page/page";
import type { Patch } from "../../widgets/content/link";
import { patchQuery, readQuery } from "../../base/query";

/** TensorBoard names the open plugin in the hash. */
const OUR_HASHES = ["", "#", "#profile"];
const WATCH_MS = 250;

/** The window whose address is shown: the parent if it is TensorBoard of the same origin, else our own. */
export function addressWindow(own: Window): Window {
  try {
    // Reading the address throws when the parent has another origin (notebooks, proxies).
    if (own.parent !== own && typeof own.parent.location.search === "string") return own.parent;
  } catch {
    return own;
  }
  return own;
}

/** The state with what the shell needs besides. */
export interface AddressState extends UrlState {
  /** The full address of the view with keys changed. */
  href: (patch: Patch) => string;
  /** Writes our keys again where the parent window dropped them. */
  repair: () => void;
}

/** Whether the address is that of the plugin, not of another one in TensorBoard. */
export const ownsAddress = (target: Pick<Window, "location">): boolean => OUR_HASHES.includes(target.location.hash);

/** Where a state is written. */
export interface AddressBar {
  /** The query as it is now: "" or `?key=value&...`. */
  query: () => string;
  write: (query: string, mode: "push" | "replace") => void;
  /** The full address with another query. */
  href: (query: string) => string;
  /** Whether the address is ours now. */
  isOurs: () => boolean;
  /** Calls back after the back and forward buttons. */
  watch: (moved: () => void) => void;
}

/** The query of a window. */
export function queryBar(target: Window): AddressBar {
  const path = (query: string): string => `${target.location.pathname}${query}${target.location.hash}`;
  return {
    query: () => target.location.search,
    write(query, mode) {
      if (mode === "push") target.history.pushState(target.history.state, "", path(query));
      else target.history.replaceState(target.history.state, "", path(query));
    },
    href: (query) => `${target.location.origin}${path(query)}`,
    isOurs: () => ownsAddress(target),
    watch: (moved) => target.addEventListener("popstate", moved),
  };
}

/** The fragment of a window, which a file has as well. Frames of other origins may refuse to change theirs: the view then lasts until they are closed. */
export function fragmentBar(own: Window): AddressBar {
  return {
    query: () => (own.location.hash.length > 1 ? `?${own.location.hash.slice(1)}` : ""),
    write(query, mode) {
      const fragment = `#${query.slice(1)}`;
      try {
        if (mode === "push") own.history.pushState(own.history.state, "", fragment);
        else own.history.replaceState(own.history.state, "", fragment);
      } catch {
        // An opaque origin.
      }
    },
    href: (query) => `#${query.slice(1)}`,
    isOurs: () => true,
    watch: (moved) => own.addEventListener("popstate", moved),
  };
}

/**
 * UrlState over an address bar; `set` without a change adds no history entry.
 *
 * TensorBoard rewrites the query with its initial value after the back button and when plugins are switched.
 * Therefore the values of our keys (`known`, and all that were set) are kept here, and `repair` restores them.
 */
export function makeUrlState(bar: AddressBar, known: Iterable<string> = []): AddressState {
  const ours = new Set(known);
  const listeners = new Set<() => void>();
  let held = bar.query();

  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  /** The intended query: our keys as kept here, foreign keys unchanged. */
  const wanted = (): string => {
    const query = bar.query();
    if (query === held) return query; // as nearly always; each link of a page asks
    const patch: Record<string, string | null> = {};
    for (const key of ours) {
      const value = readQuery(held, key);
      if (readQuery(query, key) !== value) patch[key] = value;
    }
    return Object.keys(patch).length ? patchQuery(query, patch) : query;
  };
  const write = (query: string, mode: "push" | "replace"): void => {
    bar.write(query, mode);
    held = query;
  };

  bar.watch(() => {
    if (!bar.isOurs()) return;
    held = bar.query();
    tell();
  });
  return {
    get: (key) => readQuery(ours.has(key) ? held : bar.query(), key),
    set(patch, mode) {
      for (const key of Object.keys(patch)) ours.add(key);
      const now = wanted();
      const changed = Object.entries(patch).some(([key, value]) => readQuery(now, key) !== (value === "" ? null : value));
      if (!changed) return;
      write(patchQuery(now, patch), mode);
      tell();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    href: (patch) => bar.href(patchQuery(wanted(), patch)),
    repair() {
      if (!bar.isOurs()) return;
      const query = wanted();
      if (query !== bar.query()) write(query, "replace");
    },
  };
}

/** Calls back periodically, because a frame gets no event when its parent rewrites the address. */
export function watchAddress(look: () => void): () => void {
  const timer = setInterval(look, WATCH_MS);
  return () => clearInterval(timer);
}
