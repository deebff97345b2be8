import { render } from "preact";
import { afterEach, expect, it, vi } from "vitest";
import { makeClient } from "../../api/client";
import { tableOf, unmount } from "../../base/testing";
import type { PageProps } from "../../page/page";
import { NO_BASE } from "../../page/testing";
import page from "./page";
import { SHORT, TIMES, drawingOf } from "./testing";

const root = document.createElement("div");

afterEach(() => {
  unmount(root);
  root.remove();
});

/** Shows the page of a module; answers of the server by what is asked. */
async function open(
  start: Record<string, string> = {},
  answers: { times?: unknown; more?: object; text?: string; modules?: string } = {},
): Promise<{ kept: Map<string, string>; asked: URL[] }> {
  const [kept, listeners, asked] = [new Map(Object.entries(start)), new Set<() => void>(), [] as URL[]];
  const state: PageProps["state"] = {
    get: (key) => kept.get(key) ?? null,
    set: (patch) => {
      for (const [key, value] of Object.entries(patch))
        if (value === null) kept.delete(key);
        else kept.set(key, value);
      listeners.forEach((listener) => listener());
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const answer = (url: URL): string => {
    if (url.pathname.endsWith("module_list")) return answers.modules ?? "jit_step(7)";
    if (url.searchParams.get("tag") === "hlo_stats") return JSON.stringify(answers.times ?? TIMES);
    if (url.searchParams.get("type") === "custom_call") return "module {}";
    if (url.searchParams.get("type") !== "json") return answers.text ?? SHORT;
    return JSON.stringify(drawingOf(url.searchParams.get("expand") === "fusion", answers.more));
  };
  const client = makeClient("http://host/p/index.html", (address) => {
    asked.push(new URL(address));
    return Promise.resolve(new Response(answer(new URL(address))));
  });
  const tool: PageProps["tool"] = {
    id: "graph_viewer",
    title: "Graph Viewer",
    group: "Ops",
    summary: "",
    hosts: "one_or_all",
    host_names: ["h"],
    available: true,
    reason: null,
    params: [],
  };
  document.body.append(root);
  render(<page.Page run="r" tool={tool} host="h" hosts={["h"]} client={client} state={state} base={NO_BASE} reading="own" />, root);
  await vi.waitFor(() => {
    if (!root.querySelector(".graph-node")) throw new Error("not drawn");
  });
  await vi.waitFor(() => {
    if (root.textContent?.includes("Reading")) throw new Error("loading");
  });
  await settle();
  return { kept, asked };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 8; i++) await new Promise((done) => setTimeout(done, 5));
};
const names = (): (string | null | undefined)[] => [...root.querySelectorAll(".graph-node .graph-name")].map((one) => one.textContent);
const nodeNamed = (name: string): Element | undefined =>
  [...root.querySelectorAll(".graph-node")].find((one) => one.querySelector(".graph-name")?.textContent === name);
const press = async (element: Element | null | undefined, type = "click"): Promise<void> => {
  element?.dispatchEvent(new MouseEvent(type, { bubbles: true }));
  await settle();
};
const button = (text: string): Element | undefined => [...root.querySelectorAll("button")].find((one) => one.textContent === text);

it("opens the program that takes most time, if the address names none", async () => {
  const { asked } = await open({}, { modules: "jit_step(7),jit_later(9)" });
  expect(asked.find((url) => url.searchParams.get("type") === "short_txt")?.searchParams.get("module_name")).toBe("jit_step(7)");
  unmount(root);
  const named = await open({ program_id: "9" }, { modules: "jit_step(7),jit_later(9)" });
  expect(named.asked.find((url) => url.searchParams.get("type") === "short_txt")?.searchParams.get("module_name")).toBe("jit_later(9)");
});

it("draws the entry computation; a click selects, a double click centres", async () => {
  const { kept } = await open();
  expect(names()).toEqual(["p0", "p1", "fusion", "reduce"]);
  expect(root.querySelector(".graph-details h2")?.textContent).toBe("main");
  await press(nodeNamed("reduce"));
  expect(kept.get("sel")).toBe("reduce");
  expect(root.querySelector(".graph-details")?.textContent).toMatch(
    /Self time20 us, 20.0% of the module's.*Framework opjit\(step\)\/reduce.*Sourcetrain.py:7.*Textreduce = f32/,
  );
  expect(nodeNamed("reduce")?.classList.contains("chosen")).toBe(true);
  await press(nodeNamed("reduce"), "dblclick");
  expect([kept.get("node_name"), kept.get("sel")]).toEqual(["reduce", undefined]);
});

it("opens a fusion in place and closes it", async () => {
  const { kept, asked } = await open();
  await press(root.querySelector(".graph-toggle"));
  expect(kept.get("expand")).toBe("fusion");
  expect(asked.at(-1)?.searchParams.get("expand")).toBe("fusion");
  expect(names()).toEqual(["p0", "p1", "param_0.1", "multiply.4", "reduce"]);
  expect(root.querySelector(".graph-box")?.textContent).toContain("fusion  self 80 us");
  // Its first instruction is chosen in an effect, which Preact runs a frame later.
  await vi.waitFor(() => expect(root.querySelector(".graph-details")?.textContent).toContain("Sourcetrain.py:9"));
  await press(root.querySelector(".graph-toggle"));
  expect(kept.has("expand")).toBe(false);
});

it("colours by measured values with a legend, and says where there are none", async () => {
  await open({ color: "flops" });
  expect(nodeNamed("fusion")?.getAttribute("aria-label")).toContain("FLOP rate: 25.0%");
  expect(nodeNamed("reduce")?.classList.contains("unmeasured")).toBe(true);
  expect(root.querySelector(".graph-legend")?.textContent).toContain(
    "0%100% of the peak of the device, 1 TFLOP/s; without fill: not measured",
  );
  unmount(root);
  await open({ color: "flops" }, { times: { ...TIMES, ops: tableOf(Object.fromEntries(TIMES.ops.columns.map(({ id }) => [id, []]))) } });
  expect(root.querySelector(".graph-legend")?.textContent).toContain("No times: no op of this module ran");
  expect(button("FLOPS")?.hasAttribute("disabled")).toBe(true);
});

it("says how many nodes are left out and gets them", async () => {
  const { kept } = await open({}, { more: { omitted: 153 } });
  expect(root.textContent).toContain("153 further nodes not shown");
  await press(button("Show all"));
  expect(kept.get("max_nodes")).toBe("157");
});

it("moves by keys and finds nodes", async () => {
  const { kept } = await open({ sel: "fusion" });
  const box = root.querySelector<HTMLElement>(".graph-view-box");
  const key = async (name: string): Promise<void> => {
    box?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    await settle();
  };
  await key("ArrowDown");
  expect(kept.get("sel")).toBe("reduce");
  await key("ArrowUp");
  await key("e");
  expect(kept.get("expand")).toBe("fusion");
  await key("Enter");
  expect(kept.get("node_name")).toBe("fusion");
  const find = root.querySelector<HTMLInputElement>(".graph-find input");
  if (find) find.value = "p0";
  find?.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
  expect(root.querySelector(".graph-find")?.textContent).toContain("1 node");
  find?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await settle();
  expect(kept.get("sel")).toBe("p0");
});

it("shows the graph alone, or the text alone", async () => {
  await open({ view: "graph" });
  expect(root.querySelector(".graph-text")).toBeNull();
  await press(button("Text"));
  expect([root.querySelector(".graph-text") !== null, root.querySelector(".graph-node")]).toEqual([true, null]);
});

it("shows the kernel of a custom call when it is opened", async () => {
  const { asked } = await open(
    { sel: "fusion" },
    { text: SHORT.replace("fusion(p0, p1), kind=kLoop, calls=fused_computation", 'custom-call(p0, p1), custom_call_target="k"') },
  );
  const kernels = (): URL[] => asked.filter((url) => url.searchParams.get("type") === "custom_call");
  const details = [...root.querySelectorAll("details")].find((one) => one.textContent?.startsWith("Program"));
  expect([details?.open, kernels().length]).toEqual([false, 0]);
  if (details) details.open = true;
  details?.dispatchEvent(new Event("toggle"));
  await vi.waitFor(() => expect(root.querySelector(".kernel-text")?.textContent).toBe("module {}"));
  expect(kernels()[0]?.searchParams.get("node_name")).toBe("fusion");
});
