// Which problems of runs were dismissed: until the tab is closed, or without storage until the page is.
import type { RunProblem } from "../address/view";

const KEY = "profile-problems-dismissed";
const MOST_KEPT = 200;
const dismissed = new Set<string>();

function stored(own: Window): string[] {
  try {
    const value: unknown = JSON.parse(own.sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(value) ? value.filter((id) => typeof id === "string") : [];
  } catch {
    return []; // Storage may be disabled, as in frames of notebooks.
  }
}

const idOf = (run: string, { where, message }: RunProblem): string => JSON.stringify([run, where, message]);

/** The problems of a run that were not dismissed. */
export function remaining(run: string, all: readonly RunProblem[], own: Window = window): RunProblem[] {
  const known = new Set([...dismissed, ...stored(own)]);
  return all.filter((one) => !known.has(idOf(run, one)));
}

export function dismiss(run: string, problems: readonly RunProblem[], own: Window = window): void {
  const ids = problems.map((one) => idOf(run, one));
  for (const id of ids) dismissed.add(id);
  try {
    own.sessionStorage.setItem(KEY, JSON.stringify([...new Set([...stored(own), ...ids])].slice(-MOST_KEPT)));
  } catch {
    // Without storage they stay dismissed until the page is closed.
  }
}

/** For tests. */
export function forgetDismissed(own: Window = window): void {
  dismissed.clear();
  own.sessionStorage.removeItem(KEY);
}
