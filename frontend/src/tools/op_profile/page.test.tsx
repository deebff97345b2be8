import { render } from "preact";
import { afterEach, expect, it } from "vitest";
import { makeClient } from "../../api/client";
import type { UrlState } from "../../page/page";
import { NO_BASE, ON_CPU } from "../../page/testing";
import type { ToolInfo } from "../../api/types";
import { unmount } from "../../base/testing";
import { AddressContext } from "../../widgets/content/link";
import page from "./page";
import { node, root as rootOf, sample } from "./sample";

const tool: ToolInfo = {
  id: "op_profile",
  title: "Op Profile",
  group: "Ops",
  summary: "",
  hosts: "one_or_all",
  host_names: ["h"],
  available: true,
  reason: null,
  params: [
    { name: "group_by", type: "string", default: "program" },
    { name: "backend", type: "string", default: "device" },
  ],
};
const root = document.createElement("div");

function memoryState(start: Record<string, string> = {}): UrlState & { kept: Map<string, string> } {
  const kept = new Map(Object.entries(start));
  const listeners = new Set<() => void>();
  return {
    kept,
    get: (key) => kept.get(key) ?? null,
    set: (patch) => {
      for (const [k, v] of Object.entries(patch))
        if (v === null) kept.delete(k);
        else kept.set(k, v);
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 8; i++) await new Promise((done) => setTimeout(done, 5));
};

async function open(body: unknown, state = memoryState()): Promise<string[]> {
  const asked: string[] = [];
  const client = makeClient("http://host/p/index.html", (url) => {
    asked.push(url);
    const answer = url.includes("smart_suggestion") ? { findings: [], silent: [] } : body;
    return Promise.resolve(new Response(JSON.stringify(answer)));
  });
  document.body.append(root);
  render(
    <AddressContext.Provider value={{ href: () => "", go: (patch, mode) => state.set(patch, mode) }}>
      <page.Page run="r/1" base={NO_BASE} reading="own" tool={tool} host="h" hosts={["h"]} client={client} state={state} />
    </AddressContext.Provider>,
    root,
  );
  await settle();
  return asked;
}

const grid = (): HTMLElement => root.querySelector<HTMLElement>('[role="treegrid"]') ?? root;
const names = (): string[] => [...root.querySelectorAll(".opp-name > b")].map((cell) => cell.textContent ?? "");
async function press(...keys: string[]): Promise<void> {
  for (const key of keys) {
    grid().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await settle();
  }
}

afterEach(() => {
  unmount(root);
  root.remove();
});

it("expands and collapses by arrow keys, pins by Enter, and writes it to the address", async () => {
  const state = memoryState();
  const asked = await open(sample(), state);
  expect(asked[0]).toBe("http://host/p/page?run=r%2F1&tag=op_profile&host=h&backend=auto&group_by=program");
  expect(names()).toEqual(["jit_f(7)", "loop fusion", "fusion.1", "copy", "while.1"]);
  expect(root.querySelector(".opp-card")).toBeNull();
  expect(root.querySelector(".opp-heads")?.textContent).toContain("% of busy");
  await press("ArrowDown", "ArrowDown", "ArrowRight");
  expect(names()).toContain("add.1");
  await press("Enter");
  expect(state.kept.get("node")).toBeTruthy();
  const card = root.querySelector(".opp-card")?.textContent ?? "";
  expect(card).toContain("loop fusion operation");
  expect(card).toContain("Matrix units used: 78.1% by the layout; the rest is padding.");
  expect(card).toContain("Pad to 128");
  expect(card).toContain("Source: f.py:3");
  expect(card).toContain("%fusion.1 = f32[8]");
  const pinned = new Map(state.kept);
  [...root.querySelectorAll<HTMLElement>(".opp-card a")].find((one) => one.textContent === "Show in the graph viewer")?.click();
  expect(Object.fromEntries(state.kept)).toMatchObject({ tool: "graph_viewer", program_id: "7", node_name: "fusion.1" });
  expect(state.kept.has("node")).toBe(false);
  state.set({ tool: null, program_id: null, node_name: null, ...Object.fromEntries(pinned) }, "replace");
  await settle();
  await press("ArrowLeft", "ArrowLeft", "ArrowLeft");
  expect(names()).toEqual(["jit_f(7)", "loop fusion", "copy", "while.1"]);
});

it("pins the op that the address names, until another one is chosen", async () => {
  const state = memoryState({ op: "fusion.1", program_id: "7" });
  await open(sample(), state);
  expect(root.querySelector(".opp-card h2")?.textContent).toBe("fusion.1");
  expect(root.querySelector('[aria-selected="true"] .opp-name > b')?.textContent).toBe("fusion.1");
  root.querySelector<HTMLElement>('.opp-card [aria-label="Close details"]')?.click();
  await settle();
  expect([root.querySelector(".opp-card"), state.kept.has("op"), state.kept.has("program_id")]).toEqual([null, false, false]);
});

it("says which op a source is of, and that there is none", async () => {
  const op = (name: string, source: object) => node(name, { time_ps: 1e9, runs: 1, category: "copy", ...source });
  const ops = rootOf({ time_ps: 2e9 }, [
    op("copy.1", { source_file: "a/b/f.py", source_stack: "a/b/f.py:3:1\n", source_of: "add.1" }),
    op("copy.2", { source_file: "", source_line: 0, source_stack: "" }),
  ]);
  const state = memoryState({ op: "copy.1" });
  await open(sample({ ops, idle: [] }), state);
  const source = (): string => root.querySelector(".opp-card")?.textContent ?? "";
  expect(source()).toContain("Source: f.py:3 (of add.1, the closest op with a source)");
  expect(root.querySelector(".opp-source pre")?.textContent).toBe("a/b/f.py:3:1");
  state.set({ op: "copy.2" }, "replace");
  await settle();
  expect(source()).toContain("Source: none, the compiler kept no source of this op.");
});

it("marks utilisations above 100 %, and colours 0 %", async () => {
  const op = (name: string, use: number, hbm: number, bytes: number) =>
    node(name, { time_ps: 10e9, use, hbm, bytes, runs: 1, category: "copy-start" });
  const ops = rootOf({ time_ps: 20e9, use: 1, hbm: 0.5, bytes: 100 }, [
    node("jit_f(7)", { time_ps: 20e9, use: 0.5, hbm: 0.5, bytes: 100 }, [op("wild", 12, 100, 100 * 2 ** 30), op("slow", 0, 1e-8, 10)]),
  ]);
  await open(sample({ ops, idle: [] }), memoryState({ open: "none" }));
  await press("ArrowRight");
  const [wild, slow] = ["wild", "slow"].map((name) =>
    [...root.querySelectorAll(".opp-line")].find((line) => line.querySelector(".opp-name > b")?.textContent === name),
  );
  const meters = (line: Element | undefined): string[] =>
    [...(line?.querySelectorAll(".meter") ?? [])].map(
      (meter) => `${meter.textContent}${meter.classList.contains("doubtful") ? " doubtful" : ""}`,
    );
  expect(meters(wild)).toEqual(["- doubtful", "- doubtful"]);
  expect(wild?.querySelector(".meter")?.getAttribute("data-tip")).toMatch(/outside its recorded time/);
  expect(wild?.querySelector(".meter-bar")).toBeNull();
  expect(root.querySelector(".opp-doubts")?.textContent).toMatch(/outside its recorded time/);
  wild?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await settle();
  const card = root.querySelector(".opp-card")?.textContent ?? "";
  expect(card).toContain(
    "⚠ Utilisation: Far more than 100%, and left out: this op only starts work, which is done outside its recorded time.",
  );
  expect(card).toContain("FLOPS utilisationi-");
  expect(card).toMatch(/FLOP ratei⚠ .*FLOP\/s/);
  expect(card).toContain("⚠ 9.766 TiB/s-");
  expect(meters(slow)[0]).toBe("0.0%");
  expect(slow?.querySelector<HTMLElement>(".meter-bar > i")?.style.minWidth).toBe("4px");
});

it("explains a profile without ops", async () => {
  await open(sample({ ops: rootOf({}), idle: [], device: "CPU_ONLY", notes: ON_CPU }));
  expect(root.querySelector(".panel-empty")?.textContent).toContain("This profile contains no XLA ops");
});

it("shows the card of an op while the pointer is on its name", async () => {
  await open(sample(), memoryState());
  const name = root.querySelectorAll(".opp-line .opp-name")[2];
  name?.dispatchEvent(new Event("pointerenter"));
  await settle();
  expect(root.querySelector(".opp-card h2")?.textContent).toBe("fusion.1");
  expect(root.querySelector('.opp-card [aria-label="Close details"]')).toBeNull();
  name?.dispatchEvent(new Event("pointerleave"));
  await settle();
  expect(root.querySelector(".opp-card")).toBeNull();
});
