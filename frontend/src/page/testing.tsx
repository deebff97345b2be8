// For tests: shows a page with a made-up answer of the server.
import { render } from "preact";
import { afterEach, vi } from "vitest";
import { makeClient } from "../api/client";
import type { OpNotes } from "../base/documents";
import { patchQuery } from "../base/query";
import { unmount } from "../base/testing";
import { AddressContext } from "../widgets/content/link";
import type { Patch } from "../widgets/content/link";
import { readingOf } from "./page";
import type { PageModule, PageProps } from "./page";

/** Parts of a tool that a page shows. */
type Named = Pick<PageProps["tool"], "id" | "title" | "group" | "hosts">;

export interface Shown {
  root: HTMLElement;
  /** The keys of the address. */
  keys: Map<string, string>;
  text: () => string;
}

/** No base is chosen, and there is none to choose. */
export const NO_BASE: PageProps["base"] = { run: null, proposed: null, choices: [], choose: () => undefined };

/** Notes on ops of 8 cores whose peaks are known. */
export const NOTES: OpNotes = {
  on_cpu: false,
  cores: 8,
  unattributed_share: null,
  graphs: "",
  limits: { gflops_per_s: 1000, hbm_gib_per_s: 100, memory_gib_per_s: 100, what: "the peak of the device" },
};

/** Notes on ops of a CPU. */
export const ON_CPU: OpNotes = {
  ...NOTES,
  on_cpu: true,
  cores: null,
  limits: { gflops_per_s: null, hbm_gib_per_s: null, memory_gib_per_s: null, what: "what 8 threads of a CPU can do" },
};

/** Waits for the answer and the updates that follow it. */
export async function settle(root: Element): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((done) => setTimeout(done, 5));
  await vi.waitFor(() => {
    if (root.querySelector(".loading")) throw new Error("still loading");
  });
}

/** Shows the page with an answer, or a function from the requested address to it, and bases to choose; removed after the test. */
export async function showPage(
  { Page }: PageModule,
  tool: Named,
  answer: unknown,
  keys: Record<string, string> = {},
  bases: readonly string[] = ["before"],
): Promise<Shown> {
  const held = new Map(Object.entries(keys));
  const listeners = new Set<() => void>();
  const props: PageProps = {
    run: "r",
    reading: readingOf({ get: (key) => keys[key] ?? null }),
    host: "h",
    hosts: ["h"],
    base: {
      run: keys["base"] ?? null,
      proposed: "before",
      choices: bases.map((id) => ({ id, note: "" })),
      choose: (name) => props.state.set({ base: name }, "push"),
    },
    client: makeClient("http://host/p/index.html", async (address, request) => {
      const body: unknown =
        typeof answer === "function" ? await (answer as (at: URL, request: RequestInit) => unknown)(new URL(address), request) : answer;
      return body instanceof Response ? body : new Response(JSON.stringify(body));
    }),
    tool: { ...tool, summary: "", host_names: ["h"], available: true, reason: null, params: [] },
    state: {
      get: (key) => held.get(key) ?? null,
      set(patch) {
        for (const [key, value] of Object.entries(patch))
          if (value === null) held.delete(key);
          else held.set(key, value);
        listeners.forEach((listener) => listener());
      },
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
  const root = document.createElement("div");
  document.body.append(root);
  pages.add(root);
  const address = { href: (patch: Patch) => `/${patchQuery("", patch)}`, go: (patch: Patch) => props.state.set(patch, "push") };
  render(
    <AddressContext.Provider value={address}>
      <Page {...props} />
    </AddressContext.Provider>,
    root,
  );
  await settle(root);
  return { root, keys: held, text: () => root.textContent ?? "" };
}

const pages = new Set<Element>();

afterEach(() => {
  for (const root of pages) {
    unmount(root);
    root.remove();
  }
  pages.clear();
});
