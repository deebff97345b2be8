// The view's state in the address bar of the tab: in the parent window's query when embedded in TensorBoard.
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

/**
 * UrlState over a window's history; `set` without a change adds no history entry.
 *
 * TensorBoard rewrites the query with its initial value after the back button and when plugins are switched.
 * Therefore the values of our keys (`known`, and all that were set) are kept here, and `repair` restores them.
 */
export function makeUrlState(target: Window, known: Iterable<string> = []): AddressState {
  const ours = new Set(known);
  const listeners = new Set<() => void>();
  let held = target.location.search;

  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  /** The intended query: our keys as kept here, foreign keys unchanged. */
  const wanted = (): string => {
    const { search } = target.location;
    const patch: Record<string, string | null> = {};
    for (const key of ours) {
      const value = readQuery(held, key);
      if (readQuery(search, key) !== value) patch[key] = value;
    }
    return Object.keys(patch).length ? patchQuery(search, patch) : search;
  };
  const write = (search: string, mode: "push" | "replace"): void => {
    const { pathname, hash } = target.location;
    const address = `${pathname}${search}${hash}`;
    if (mode === "push") target.history.pushState(target.history.state, "", address);
    else target.history.replaceState(target.history.state, "", address);
    held = search;
  };
  const isOurs = (): boolean => ownsAddress(target);

  target.addEventListener("popstate", () => {
    if (!isOurs()) return;
    held = target.location.search;
    tell();
  });
  return {
    get: (key) => readQuery(ours.has(key) ? held : target.location.search, key),
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
    href(patch) {
      const { origin, pathname, hash } = target.location;
      return `${origin}${pathname}${patchQuery(wanted(), patch)}${hash}`;
    },
    repair() {
      if (!isOurs()) return;
      const search = wanted();
      if (search !== target.location.search) write(search, "replace");
    },
  };
}

/** Calls back periodically, because a frame gets no event when its parent rewrites the address. */
export function watchAddress(look: () => void): () => void {
  const timer = setInterval(look, WATCH_MS);
  return () => clearInterval(timer);
}
