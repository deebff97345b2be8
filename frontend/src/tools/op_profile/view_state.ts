// The page's state in the address bar: grouping, order, limits, idle time, expanded and pinned nodes.
import type { UrlState } from "../../page/page";
import { FLAME_KEYS } from "../../base/flame/flame";
import { TOTALS_KEY } from "../../page/compare/per_step";
import { GROUPINGS } from "./nodes";
import type { Grouping } from "./nodes";
import { ORDERS } from "./rows";
import type { Options } from "./rows";

export interface ViewState extends Options {
  groupBy: Grouping;
  /** Whether idle time is part of the tree and of all shares. */
  idle: boolean;
  unattributed: boolean;
  /** A flame graph instead of the tree. */
  flame: boolean;
  /** Ids of expanded nodes; null until the user expands or collapses one. */
  open: ReadonlySet<string> | null;
  full: ReadonlySet<string>;
  pinned: string | null;
  /** The op to pin by name, where a link knows no id, and its program; null without one. */
  named: { op: string; program: string | null } | null;
}

export const LIMITS = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100] as const;

const list = (text: string | null): Set<string> => new Set((text ?? "").split(".").filter((id) => id !== "" && id !== "none"));

export function readView(state: Pick<UrlState, "get">): ViewState {
  const limit = Number(state.get("limit"));
  const open = state.get("open");
  return {
    groupBy: GROUPINGS.find((one) => one === state.get("group_by")) ?? "program",
    order: ORDERS.find((one) => one === state.get("order")) ?? "time",
    limit: LIMITS.find((one) => one === limit) ?? 10,
    top90: state.get("top90") === "1",
    idle: state.get("idle") === "1",
    unattributed: state.get("unattributed") === "true",
    flame: state.get("view") === "flame",
    open: open === null ? null : list(open),
    full: list(state.get("full")),
    pinned: state.get("node"),
    named: state.get("op") === null ? null : { op: state.get("op") ?? "", program: state.get("program_id") },
  };
}

const set = (ids: ReadonlySet<string>): string => [...ids].join(".");

/** The query keys of a change; default values are removed from the address. */
export function writeView(patch: Partial<ViewState>): Record<string, string | null> {
  const keys: Record<string, string | null> = {};
  if (patch.groupBy !== undefined)
    Object.assign(keys, { group_by: patch.groupBy === "program" ? null : patch.groupBy, open: null, full: null, node: null });
  if (patch.order !== undefined) keys["order"] = patch.order === "time" ? null : patch.order;
  if (patch.limit !== undefined) keys["limit"] = patch.limit === 10 ? null : String(patch.limit);
  if (patch.top90 !== undefined) keys["top90"] = patch.top90 ? "1" : null;
  if (patch.idle !== undefined) keys["idle"] = patch.idle ? "1" : null;
  if (patch.unattributed !== undefined) keys["unattributed"] = patch.unattributed ? "true" : null;
  if (patch.flame !== undefined) Object.assign(keys, { view: patch.flame ? "flame" : null, frame: null });
  if (patch.open !== undefined) keys["open"] = patch.open === null ? null : set(patch.open) || "none";
  if (patch.full !== undefined) keys["full"] = set(patch.full) || null;
  if (patch.pinned !== undefined) Object.assign(keys, { node: patch.pinned, op: null, program_id: null });
  return keys;
}

/** Keys that this page owns. */
export const OWN_KEYS = [
  TOTALS_KEY,
  "group_by",
  "order",
  "limit",
  "top90",
  "idle",
  "unattributed",
  "open",
  "full",
  "node",
  "op",
  "program_id",
  "view",
  ...FLAME_KEYS,
] as const;
