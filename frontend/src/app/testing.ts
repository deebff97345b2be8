// Helpers of the component tests: mount, wait, and a client that answers from a table.
import { render } from "preact";
import type { ComponentChild } from "preact";
import { makeClient } from "../api/client";
import type { Client } from "../api/client";
import { unmount } from "../base/testing";

let root: HTMLElement | null = null;

export function mount(node: ComponentChild): HTMLElement {
  root = document.createElement("div");
  document.body.append(root);
  render(node, root);
  return root;
}

export function cleanup(): void {
  if (root) unmount(root);
  root?.remove();
  root = null;
}

/** Waits for effects, promises and re-rendering. */
export async function flush(): Promise<void> {
  for (let i = 0; i < 12; i++) await new Promise((done) => setTimeout(done, 5));
}

export function text(selector: string): string {
  return document.querySelector(selector)?.textContent?.trim() ?? "";
}

/** A client with canned responses by route; a function gets the query; `{error: ...}` becomes status 500. */
export function fakeClient(routes: Record<string, unknown>): Client {
  return makeClient("http://host/p/index.html", (address) => {
    const url = new URL(address);
    const entry = routes[url.pathname.split("/").pop() ?? ""];
    const body: unknown = typeof entry === "function" ? (entry as (q: URLSearchParams) => unknown)(url.searchParams) : entry;
    const failed = typeof body === "object" && body !== null && "error" in body;
    return Promise.resolve(
      new Response(JSON.stringify(body ?? { error: { code: "tool_not_found", message: "no route" } }), {
        status: failed || body === undefined ? 500 : 200,
      }),
    );
  });
}
