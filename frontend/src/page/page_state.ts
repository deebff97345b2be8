// Helpers for state in the URL that several pages use.
import type { UrlState } from "./page";
import type { ToolInfo } from "../api/types";
import { ALL_HOSTS } from "../api/types";

interface KeyStore {
  get(key: string): string | null;
  set(patch: Readonly<Record<string, string | null>>): void;
}

/** State of one of several tables on a page, under keys such as `t1.sort`. */
export function storeAt(state: UrlState, prefix: string): KeyStore {
  return {
    get: (key) => state.get(`${prefix}.${key}`),
    set: (patch) => state.set(Object.fromEntries(Object.entries(patch).map(([key, value]) => [`${prefix}.${key}`, value])), "replace"),
  };
}

/** Keys of pages with several tables. */
const TABLE_KEYS = ["t1", "t2", "t3", "t4", "t5"].flatMap((table) => ["sort", "filter", "hide", "row"].map((key) => `${table}.${key}`));

/** The URL keys that open another tool of the same run; the keys in `own` are cleared. */
export function toolPatch(
  tool: string,
  host: string | null,
  own: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Record<string, string | null> {
  const cleared = Object.fromEntries([...own, ...TABLE_KEYS, "sort", "filter", "hide", "row"].map((key) => [key, null]));
  return { ...cleared, tool, tag: null, hosts: null, host: host === ALL_HOSTS ? null : host, ...more };
}

/** A file name that is valid on every system. */
export function fileNameOf(...parts: (string | null)[]): string {
  return parts
    .filter(Boolean)
    .join("_")
    .replace(/[^\w-]+/g, "_");
}

/** The number of hosts of a choice, ALL_HOSTS resolved. */
export function hostCount(tool: ToolInfo, host: string | null, hosts: readonly string[]): number {
  if (host !== ALL_HOSTS && !hosts.includes(ALL_HOSTS)) return Math.max(1, hosts.length);
  return Math.max(1, tool.host_names.filter((name) => name !== ALL_HOSTS).length);
}
