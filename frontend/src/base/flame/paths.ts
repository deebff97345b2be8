// A tree of frames from paths with values, of a run and of a base. Pure.
import type { FlameNode } from "./flame";

export interface FramePath {
  /** Names from the outermost frame to the innermost. */
  names: readonly string[];
  value: number;
  /** Source lines `FILE:LINE` of the frames; "" or absent for none. */
  places?: readonly string[];
}

interface Building extends FlameNode {
  value: number;
  base?: number | null;
  children: Building[];
  place?: string;
  known: Map<string, Building>;
}

const made = (name: string, withBase: boolean): Building => ({
  name,
  value: 0,
  children: [],
  known: new Map(),
  ...(withBase ? { base: null } : {}),
});

function add(root: Building, { names, value, places }: FramePath, ofBase: boolean, withBase: boolean): void {
  let node = root;
  const put = (): void => {
    if (ofBase) node.base = (node.base ?? 0) + value;
    else node.value += value;
  };
  put();
  names.forEach((name, i) => {
    let next = node.known.get(name);
    if (next === undefined) {
      next = made(name, withBase);
      node.known.set(name, next);
      node.children.push(next);
    }
    const place = places?.[i];
    if (place && next.place === undefined) next.place = place;
    node = next;
    put();
  });
}

/** Adds up paths; `base` null: there is none. Paths without value are left out. */
export function flameOfPaths(name: string, run: readonly FramePath[], base: readonly FramePath[] | null = null): FlameNode {
  const root = made(name, base !== null);
  for (const path of run) if (path.value > 0) add(root, path, false, base !== null);
  for (const path of base ?? []) if (path.value > 0) add(root, path, true, true);
  return root;
}
