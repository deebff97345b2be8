// Chooses the module to show if the address names none: the one with the largest peak, if there are few modules.
import { documentOf } from "../../api/client";
import type { Client } from "../../api/client";
import { readModules } from "../../api/payload/modules";

/** With more modules the first is shown, because fetching the peaks of all would take too long. */
const MAX_ASKED = 24;

export interface Modules {
  names: string[];
  /** Peak in bytes in the memory space, by module name; absent if not fetched or not available. */
  peaks: ReadonlyMap<string, number>;
}

export async function loadModules(client: Client, run: string, host: string | null, space: string, signal: AbortSignal): Promise<Modules> {
  const names = readModules(await client.text("module_list", { run, host: host ?? undefined }, { signal }));
  if (names.length > MAX_ASKED) return { names, peaks: new Map() };
  const peaks = await Promise.all(
    names.map(async (name): Promise<[string, number] | null> => {
      try {
        const params = { run, host: host ?? undefined, module_name: name, memory_space: space };
        return [name, (await documentOf(client, "memory_viewer", params, { signal })).peak_bytes];
      } catch {
        // The error of a module is reported when it is chosen.
        return null;
      }
    }),
  );
  signal.throwIfAborted();
  return { names, peaks: new Map(peaks.filter((one) => one !== null)) };
}

/** The named module, else the one with the largest peak, else the first. */
export function chooseModule({ names, peaks }: Modules, wanted: string | null, program: string | null): string | null {
  if (wanted !== null) return wanted;
  const byProgram = program === null ? undefined : names.find((name) => name.endsWith(`(${program})`));
  if (byProgram !== undefined) return byProgram;
  let best = names[0] ?? null;
  for (const name of names) if (best !== null && (peaks.get(name) ?? 0) > (peaks.get(best) ?? 0)) best = name;
  return best;
}
