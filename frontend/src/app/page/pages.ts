// Finds the page of a tool: the folder below tools/ named like the tool id, else the generic table.
import type { PageModule } from "../../page/page";

type Load = () => Promise<PageModule>;

const FOUND = import.meta.glob<PageModule>("../../tools/*/page.tsx", { import: "default" });
const GENERIC = "generic";

/** Folder name -> loader, from the paths found by the bundler. */
function pagesByFolder(found: Record<string, Load>): Map<string, Load> {
  const pages = new Map<string, Load>();
  for (const [path, load] of Object.entries(found)) {
    const folder = /([^/]+)\/page\.tsx$/.exec(path)?.[1];
    if (folder !== undefined) pages.set(folder, load);
  }
  return pages;
}

/** The folder of a tool's page, such as `trace_viewer` for `trace_viewer@`. */
export function folderOf(toolId: string): string {
  return toolId.replace(/[@^#]+$/, "");
}

function loaderOf(toolId: string, found: Record<string, Load>): Load | undefined {
  const pages = pagesByFolder(found);
  return pages.get(folderOf(toolId)) ?? pages.get(GENERIC);
}

/** What was loaded, by its loader. */
const loaded = new Map<Load, PageModule>();

async function kept(load: Load): Promise<PageModule> {
  const page = await load();
  loaded.set(load, page);
  return page;
}

/** Loads the page of a tool (its own chunk), or the generic table page. */
export function loadPage(toolId: string, found: Record<string, Load> = FOUND): Promise<PageModule> {
  const load = loaderOf(toolId, found);
  if (!load) return Promise.reject(new Error(`no page for ${toolId}`));
  return kept(load);
}

/** The page of a tool if it was loaded before: shown, and asking for its data, without waiting for a promise. */
export function loadedPage(toolId: string, found: Record<string, Load> = FOUND): PageModule | null {
  const load = loaderOf(toolId, found);
  return (load && loaded.get(load)) ?? null;
}

let waiting: Load[] | null = null;
let holds = 0;
let resume: (() => void) | null = null;

/** Stops `loadAllWhenIdle` until the returned function is called: a page waits for its data, which the server makes meanwhile. */
export function holdLoading(): () => void {
  holds += 1;
  return () => {
    holds -= 1;
    if (holds > 0) return;
    resume?.();
    resume = null;
  };
}

/** Loads all pages, one at a time, while the browser is idle, so that the next one opens at once. Safari has no idle time. */
export function loadAllWhenIdle(found: Record<string, Load> = FOUND): void {
  if (waiting !== null || typeof requestIdleCallback === "undefined") return;
  const left = (waiting = Object.values(found));
  const next = (): void => {
    if (holds > 0) {
      resume = next;
      return;
    }
    const load = left.shift();
    // A page that fails now is loaded again, and its failure shown, when it is opened.
    if (load !== undefined)
      requestIdleCallback(
        () =>
          void kept(load)
            .catch(() => undefined)
            .then(next),
      );
  };
  next();
}
