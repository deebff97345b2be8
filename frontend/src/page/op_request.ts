// The request of the pages about ops: those of accelerators, or of the CPU if no accelerator ran any.
import type { PageProps } from "./page";
import type { Params } from "../api/client";
import { formatQuantity } from "../base/format";

/** Keys of the URL that are passed on to the server. */
const PASSED = ["backend", "unattributed"] as const;

/** Parameters of the request for the tool's data. */
export function opRequest({ run, tool, host, hosts, state }: PageProps, more: Params = {}): Params {
  const known = new Set(tool.params.map(({ name }) => name));
  const passed = Object.fromEntries(PASSED.filter((name) => known.has(name)).map((name) => [name, state.get(name)]));
  return {
    run,
    tag: tool.id,
    host: host ?? undefined,
    hosts: host === null ? hosts.join(",") : undefined,
    ...passed,
    ...(known.has("backend") ? { backend: state.get("backend") ?? "auto" } : {}),
    ...(known.has("near_sources") ? { near_sources: true } : {}),
    ...more,
  };
}

/** Clocks vary: rates up to this multiple of a peak are plausible. */
const TOLERANCE = 1.1;
/** Shares of a peak beyond this multiple say nothing (`formatDoubtful`). */
const LEFT_OUT = 10;
/** Why rates exceed what is possible. */
export const OUTSIDE = "Work of this op is done outside its recorded time.";

/** Whether a value exceeds a limit by more than clocks vary. */
export const beyond = (value: number, limit: number | null): boolean => limit !== null && limit > 0 && value > limit * TOLERANCE;

/** Says why a rate cannot be true; null without a limit. */
export function rateDoubt(limit: number | null, unit: string, what: string): ((value: number) => string | null) | null {
  return limit === null
    ? null
    : (value) => (beyond(value, limit) ? `More than ${what} (${formatQuantity(limit, unit)}). ${OUTSIDE}` : null);
}

/** Says why a share of a peak, as a fraction, cannot be true, or why it is slightly too large. */
export function shareDoubt(value: number): string | null {
  if (value > LEFT_OUT) return "Far more than 100%, and left out: this op only starts work, which is done outside its recorded time.";
  if (beyond(value, 1)) return "More than 100%: FLOPs and bytes are estimates, or work of this op is done outside its recorded time.";
  return Math.round(value * 1000) > 1000 ? "Slightly more than 100%: clocks vary, and FLOPs and bytes are estimates." : null;
}

/** "over 8 cores", or nothing for one core. */
export const overCores = (cores: number | null): string => (cores !== null && cores > 1 ? ` over ${cores} cores` : "");
