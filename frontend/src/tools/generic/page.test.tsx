import { render } from "preact";
import { afterEach, expect, it } from "vitest";
import { makeClient } from "../../api/client";
import type { UrlState } from "../../page/page";
import { NO_BASE } from "../../page/testing";
import type { ToolInfo } from "../../api/types";
import { unmount } from "../../base/testing";
import page, { tableStore } from "./page";

const tool: ToolInfo = {
  id: "x",
  title: "X tool",
  group: "Data",
  summary: "",
  hosts: "one",
  host_names: ["h"],
  available: true,
  reason: null,
  params: [{ name: "group_by", type: "string", default: "program" }],
};
const root = document.createElement("div");

function memoryState(start: Record<string, string> = {}): UrlState & { kept: Map<string, string> } {
  const kept = new Map(Object.entries(start));
  return {
    kept,
    get: (key) => kept.get(key) ?? null,
    set: (patch) => {
      for (const [k, v] of Object.entries(patch))
        if (v === null) kept.delete(k);
        else kept.set(k, v);
    },
    subscribe: () => () => undefined,
  };
}

async function open(status: number, body: unknown, state = memoryState()): Promise<string> {
  const asked: string[] = [];
  const client = makeClient("http://host/p/index.html", (url) => {
    asked.push(url);
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  });
  document.body.append(root);
  render(<page.Page run="r/1" base={NO_BASE} reading="own" tool={tool} host="h" hosts={["h"]} client={client} state={state} />, root);
  for (let i = 0; i < 8; i++) await new Promise((done) => setTimeout(done, 5));
  return asked[0] ?? "";
}

afterEach(() => {
  unmount(root);
  root.remove();
});

const table = { cols: [{ id: "a", label: "A", type: "number" }], rows: [{ c: [{ v: 1 }] }] };

it("requests the tool's data with the parameters in the address", async () => {
  const url = await open(200, table, memoryState({ group_by: "category", other: "1" }));
  expect(url).toBe("http://host/p/page?run=r%2F1&tag=x&host=h&group_by=category");
  expect(root.textContent).toContain("1 row");
});

it("shows several tables as tabs, without those that have no columns", async () => {
  await open(200, [table, { cols: [], rows: [] }, table]);
  expect([...root.querySelectorAll('[role="tab"]')].map((t) => t.textContent)).toEqual(["Table 1 (1 row)", "Table 3 (1 row)"]);
});

it("explains errors, empty responses and responses that are not tables", async () => {
  await open(422, { error: { code: "corrupt_profile", message: "bad wire type", details: { file: "h.xplane.pb", offset: 77 } } });
  expect(root.textContent).toContain("Bad wire type. File h.xplane.pb, byte 77.");
  unmount(root);
  await open(404, { error: { code: "no_data", message: "No TPU here." } });
  expect(root.querySelector(".panel-empty")?.textContent).toContain("No TPU here.");
  unmount(root);
  await open(200, { traceEvents: [] });
  expect(root.textContent).toContain("not a table");
});

it("separates the state of several tables", () => {
  const state = memoryState();
  tableStore(state, "t2.").set({ sort: "-a" });
  expect(state.kept.get("t2.sort")).toBe("-a");
  expect(tableStore(state, "t2.").get("sort")).toBe("-a");
});
