import { render } from "preact";
import { afterEach, expect, it } from "vitest";
import { makeClient } from "../../api/client";
import type { UrlState } from "../../page/page";
import { NO_BASE } from "../../page/testing";
import type { ToolInfo } from "../../api/types";
import { unmount } from "../../base/testing";
import page from "./page";
import { node, sample } from "./sample";

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
    return Promise.resolve(new Response(JSON.stringify(body)));
  });
  document.body.append(root);
  render(<page.Page run="r/1" base={NO_BASE} tool={tool} host="h" hosts={["h"]} client={client} state={state} />, root);
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
  expect(asked[0]).toBe("http://host/p/data?run=r%2F1&tag=op_profile&host=h&backend=auto&group_by=program");
  expect(names()).toEqual(["jit_f(7)", "loop fusion", "fusion.1", "copy", "while.1"]);
  expect(root.querySelector(".opp-card")).toBeNull();
  expect(root.querySelector(".opp-heads")?.textContent).toContain("% of busy");
  await press("ArrowDown", "ArrowDown", "ArrowRight");
  expect(names()).toContain("add.1");
  await press("Enter");
  expect(state.kept.get("node")).toBeTruthy();
  const card = root.querySelector(".opp-card")?.textContent ?? "";
  expect(card).toContain("loop fusion operation");
  expect(card).toContain("78.1% of the matrix unit's tiles hold data.");
  expect(card).toContain("Pad to 128");
  expect(card).toContain("%fusion.1 = f32[8]");
  const pinned = new Map(state.kept);
  [...root.querySelectorAll<HTMLElement>(".opp-card button")].find((one) => one.textContent === "Show in the graph viewer")?.click();
  expect(Object.fromEntries(state.kept)).toMatchObject({ tool: "graph_viewer", program_id: "7", node_name: "fusion.1" });
  expect(state.kept.has("node")).toBe(false);
  state.set({ tool: null, program_id: null, node_name: null, ...Object.fromEntries(pinned) }, "replace");
  await settle();
  await press("ArrowLeft", "ArrowLeft", "ArrowLeft");
  expect(names()).toEqual(["jit_f(7)", "loop fusion", "copy", "while.1"]);
});

it("marks utilisations above 100 %, and colours 0 %", async () => {
  const op = (name: string, flops: number, bytes: number) =>
    node(name, { time: 10e9, flops: flops * 0.5, hbm: Math.min(1, bytes / 1e9), bytes, runs: 1, category: "copy-start" });
  const tree = node("by_program", { time: 20e9, flops: 1, hbm: 0.5, bytes: 100 }, [
    node("jit_f(7)", { time: 20e9, flops: 0.5, hbm: 0.5, bytes: 100 }, [op("wild", 12, 100 * 2 ** 30), op("slow", 0, 10)]),
  ]);
  await open(sample({ byProgram: tree, byProgramExcludeIdle: tree }), memoryState({ open: "none" }));
  await press("ArrowRight");
  const [wild, slow] = ["wild", "slow"].map((name) =>
    [...root.querySelectorAll(".opp-line")].find((line) => line.querySelector(".opp-name > b")?.textContent === name),
  );
  const meters = (line: Element | undefined): string[] =>
    [...(line?.querySelectorAll(".meter") ?? [])].map(
      (meter) => `${meter.textContent}${meter.classList.contains("doubtful") ? " doubtful" : ""}`,
    );
  expect(meters(wild)).toEqual(["⚠ >1000% doubtful", "⚠ >1000% doubtful"]);
  expect(wild?.querySelector(".meter")?.getAttribute("data-tip")).toMatch(/outside its recorded time/);
  expect(wild?.querySelector(".meter-bar")).toBeNull();
  wild?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await settle();
  const card = root.querySelector(".opp-card")?.textContent ?? "";
  expect(card).toContain("⚠ Utilisation: More than 100%. Work of this op is done outside its recorded time.");
  expect(card).toContain("FLOPS utilisationi⚠ >1000%");
  expect(card).toMatch(/FLOP ratei⚠ .*FLOP\/s/);
  expect(card).toContain("⚠ 9.766 TiB/s⚠ >1000%");
  expect(meters(slow)[0]).toBe("0.0%");
  expect(slow?.querySelector<HTMLElement>(".meter-bar > i")?.style.minWidth).toBe("4px");
});

it("explains a profile without ops", async () => {
  await open({ byProgram: node("by_program", {}), byProgramExcludeIdle: node("by_program", {}), deviceType: "CPU_ONLY" });
  expect(root.querySelector(".panel-empty")?.textContent).toContain("This profile contains no XLA ops");
});

it("reports a malformed response", async () => {
  await open({ byCategory: {} });
  expect(root.querySelector(".panel-error")?.textContent).toContain("the op profile has no tree byProgram");
});
