// @vitest-environment jsdom
// The page on a made-up server: boxes, details, summary, search, errors, address.
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../api/error";
import type { Client, Params } from "../../api/client";
import type { PageProps } from "../../page/page";
import { NO_BASE } from "../../page/testing";
import { unmount } from "../../base/testing";
import { recordingContext } from "../../timeline/testing/context";
import { encodeContainer, encodeTrace } from "../../timeline/testing/synthetic";
import page from "./page";

const boxes = Array.from({ length: 10 }, (_, i) => ({ begin: i * 100_000, duration: 80_000, name: i % 2 ? "copy" : "fusion.1", event: i }));
const trace = encodeTrace({
  sections: [{ pid: 3, name: "/device:TPU:0", host: "vm", tracks: [{ tid: 1, name: "XLA Ops", boxes }] }],
  full: [0, 1_000_000],
});
const details = {
  name: "fusion.1",
  long_name: "%fusion.1 = f32[8]",
  section: "/device:TPU:0",
  track: "XLA Ops",
  pid: 3,
  tid: 1,
  row: 0,
  begin_ps: 200_000,
  duration_ps: 80_000,
  args: [{ key: "flops", value: 123 }],
  stack: ["a.py:1"],
  ancestors: [{ name: "jit_step", row: 0, event: 0, begin_ps: 0, duration_ps: 900_000 }],
};
const hits = encodeContainer(
  { total_hits: 1, strings: ["fusion.1"] },
  {
    track: Uint32Array.of(0),
    row: Uint16Array.of(0),
    begin_ps: Float64Array.of(200_000),
    duration_ps: Float64Array.of(80_000),
    name: Uint32Array.of(0),
    event: Uint32Array.of(2),
  },
);

const gap = (device: string, rank: number, begin_ps: number, duration_ps: number, call = "") => ({
  ...{ host: "vm", device, rank, begin_ps, duration_ps, percent: duration_ps / 1e4, steps: "", steps_percent: null },
  ...{ call, event: call, partial_call: "", partial_percent: null, traced: true, within_program: false, pid: 3 },
});
const gaps = {
  gaps: [
    gap("TPU 0", 1, 260_000, 300_000, "train.py:54 load_batch"),
    gap("TPU 1", 1, 0, 200_000),
    gap("TPU 0", 2, 800_000, 100_000),
    { ...gap("TPU 0", 3, 950_000, 10_000), within_program: true },
  ],
};

const path = {
  ...{ devices: ["TPU 0", "TPU 1"], device: "TPU 0", names: ["fusion.1"] },
  parts: [
    { id: "compute", name: "Ops", ps: 80_000 },
    { id: "idle_other", name: "Unexplained", ps: 20_000 },
  ],
  steps: [{ name: "step 1", begin_ps: 200_000, duration_ps: 100_000 }],
  ...{ part: [0, 1], begin_ps: [200_000, 280_000], duration_ps: [80_000, 20_000], count: [1, 1], name: [0, -1] },
  ...{ pid: [3, -1], tid: [1, -1], event: [2, -1], row: [0, -1], event_begin_ps: [200_000, -1], event_duration_ps: [80_000, -1] },
};
const slack = { bound: "exactly", ps: 0, why: "It is on the binding path.", path_ps: 80_000 };

const asked: Params[] = [];
let answer: (params: Params) => Promise<unknown>;
const ask = <T,>(params: Params | undefined): Promise<T> => {
  asked.push(params ?? {});
  return answer(params ?? {}) as Promise<T>;
};
const client: Client = {
  url: () => "",
  json: (_, params) => ask(params),
  bytes: (_, params) => ask(params),
  text: (_, params) => ask(params),
  post: () => ask({}),
};
const serve = (params: Params): Promise<unknown> => {
  if (params["format"] === "event") return Promise.resolve(details);
  if (params["format"] === "gaps") return Promise.resolve(gaps);
  if (params["format"] === "path") return Promise.resolve(path);
  if (params["format"] === "slack") return Promise.resolve(slack);
  return Promise.resolve(params["format"] === "search" ? hits : trace);
};

let root: HTMLElement;
let address: Map<string, string>;
/** Waits until a check holds: effects and frames come when they come. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 8000, interval: 20 });
const shown = (text: string) => eventually(() => expect(words()).toContain(text));

beforeEach(() => {
  answer = serve;
  asked.length = 0;
  address = new Map();
  vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener: () => undefined, removeEventListener: () => undefined }));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(1000);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(() => recordingContext().context);
  HTMLElement.prototype.setPointerCapture = () => undefined;
  HTMLElement.prototype.scrollIntoView = () => undefined;
  root = document.createElement("div");
  document.body.append(root);
});
afterEach(() => {
  unmount(root);
  root.remove();
  vi.unstubAllGlobals();
});

async function open(query: Record<string, string> = {}, base = NO_BASE) {
  for (const [key, value] of Object.entries(query)) address.set(key, value);
  const state: PageProps["state"] = {
    get: (key) => address.get(key) ?? null,
    set: (patch) => {
      for (const [key, value] of Object.entries(patch)) {
        if (value === null) address.delete(key);
        else address.set(key, value);
      }
    },
    subscribe: () => () => undefined,
  };
  const tool = {
    id: "trace_viewer@",
    title: "Trace viewer",
    group: "Time",
    summary: "",
    hosts: "several" as const,
    host_names: ["vm"],
    available: true,
    reason: null,
    params: [],
  };
  render(<page.Page run="r" base={base} reading="own" tool={tool} host={null} hosts={["vm"]} client={client} state={state} />, root);
  await eventually(() => expect(asked.length).toBeGreaterThan(0));
}
const button = (text: string) => [...root.querySelectorAll("button")].find((one) => one.textContent?.trim() === text);
const press = (key: string, shiftKey = false) =>
  stage()?.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
const words = () => root.textContent ?? "";
const stage = () => root.querySelector<HTMLElement>(".tl-stage");
function click(x: number, y: number): void {
  for (const type of ["pointermove", "pointerdown", "pointerup"])
    stage()?.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y + 24, bubbles: true }));
}
const drawn = () => eventually(() => expect(window.__timeline?.boxesDrawn).toBe(10));

describe("trace viewer page", () => {
  it("requests the whole trace and describes what it shows", async () => {
    await open();
    expect(asked[0]).toMatchObject({ run: "r", tag: "trace_viewer@", host: "vm", format: "columns", resolution: 2000 });
    await shown("1 us of 1 us visible");
    await shown("10 of 10 events on the screen, each drawn separately");
  });

  it("shows the details of a selected event and writes it to the address", async () => {
    await open();
    await drawn();
    click(240, 30);
    expect(asked.at(-1)).toMatchObject({ format: "event", pid: 3, tid: 1, event: 2, host: "vm" });
    for (const text of ["%fusion.1 = f32[8]", "Shown as", "flops", "123", "a.py:1", "jit_step"]) await shown(text);
    await eventually(() => expect(address.get("selected")).toBe("3.1.2"));
  });

  it("calls a track without a name by its thread", async () => {
    const unnamed = encodeTrace({
      sections: [{ pid: 3, name: "/host:CPU", host: "vm", tracks: [{ tid: 477, name: "", boxes }] }],
      full: [0, 1_000_000],
    });
    answer = (params) =>
      params["format"] === "event"
        ? Promise.resolve({ ...details, track: "" })
        : params["format"] === "columns"
          ? Promise.resolve(unnamed)
          : serve(params);
    await open();
    await drawn();
    click(240, 30);
    await eventually(() => {
      const rows = [...root.querySelectorAll(".tv-properties tr")].map((row) => [
        row.children[0]?.textContent,
        row.children[1]?.textContent,
      ]);
      expect(rows).toContainEqual(["Track", "thread 477"]);
    });
  });

  it("restores a link: window, selection, tool", async () => {
    await open({ window: "100000,500000", selected: "3.1.2", mode: "timing" });
    expect(asked[0]).toMatchObject({ start_time_ms: 0, end_time_ms: 0.0009 });
    await eventually(() => expect(window.__timeline?.selection).toMatchObject([{ event: 2, name: "fusion.1" }]));
    expect(window.__timeline?.window).toEqual([100_000, 500_000]);
    expect(root.querySelector('.tv-tools [aria-pressed="true"]')?.getAttribute("aria-label")).toBe("Timing (4)");
  });

  it("selects what a link to a place is about: the match in its window, which stays", async () => {
    await open({ window: "100000,500000", find: "fusion" });
    await eventually(() => expect(window.__timeline?.selection).toMatchObject([{ event: 2, name: "fusion.1" }]));
    expect(window.__timeline?.window).toEqual([100_000, 500_000]);
    await shown("1 of 1");
  });

  it.each([{ window: "600000,900000", find: "fusion" }, { find: "fusion" }, { find: "fu.*", match: "regex" }])(
    "goes to the match of a link, also outside its window: %o",
    async (query) => {
      await open(query);
      await eventually(() => expect(window.__timeline?.selection).toMatchObject([{ event: 2, name: "fusion.1" }]));
      const [begin, end] = window.__timeline?.window ?? [0, 0];
      expect(begin <= 200_000 && end >= 280_000).toBe(true);
    },
  );

  it("selects nothing for a search that a user typed", async () => {
    await open({ find: "fusion", match: "part" });
    await shown("1 match");
    await eventually(() => expect(window.__timeline?.boxesDrawn).toBeGreaterThan(0));
    expect(window.__timeline?.selection).toEqual([]);
  });

  it("finds the events of exactly the name in a link, and without any those that contain it", async () => {
    const [times, numbers] = [new Float64Array(0), new Uint32Array(0)];
    const columns = { track: numbers, row: new Uint16Array(0), begin_ps: times, duration_ps: times, name: numbers, event: numbers };
    const none = encodeContainer({ total_hits: 0, strings: [] }, columns);
    answer = (params) => (params["format"] === "search" && params["whole"] ? Promise.resolve(none) : serve(params));
    await open({ find: "fusion" });
    await shown("1 of 1");
    const searches = asked.filter((params) => params["format"] === "search").map((params) => params["whole"]);
    expect(searches).toEqual([1, undefined]);
    await eventually(() => expect(address.get("match")).toBe("part"));
  });

  it("finds an expression of a link as one", async () => {
    await open({ find: "^%?(?:fusion)$", match: "regex,case" });
    await shown("1 of 1");
    expect(asked.find((params) => params["format"] === "search")).toMatchObject({ query: "^%?(?:fusion)$", regex: 1, case: 1 });
    await eventually(() => expect(address.get("match")).toBe("regex,case"));
  });

  it("opens a link to a moment around it, with a line at it, and keeps it in the address", async () => {
    await open({ marker: "850000,peak: 2 GiB" });
    expect(asked[0]).not.toHaveProperty("start_time_ms");
    await eventually(() => expect(window.__timeline?.marker).toEqual({ at: 850_000, label: "peak: 2 GiB" }));
    const [begin, end] = window.__timeline?.window ?? [0, 0];
    expect(begin < 850_000 && end > 850_000).toBe(true);
    await eventually(() => expect(address.get("window")).toBeDefined());
    expect(address.get("marker")).toBe("850000,peak: 2 GiB");
  });

  it("opens where the devices work; the whole recording has a window in the address then", async () => {
    const late = encodeTrace({
      sections: [
        {
          pid: 3,
          name: "/device:GPU:0",
          tracks: [{ tid: 1, name: "Stream", boxes: [{ begin: 900_000, duration: 20_000, name: "kernel", event: 0 }] }],
        },
        { pid: 4, name: "/device:GPU:1", tracks: [] },
        {
          pid: 701,
          name: "/host:CPU",
          tracks: [{ tid: 1, name: "python", boxes: [{ begin: 0, duration: 1_000_000, name: "main", event: 0 }] }],
        },
      ],
      full: [0, 1_000_000],
    });
    answer = () => Promise.resolve(late);
    await open();
    await eventually(() => expect(window.__timeline?.window).toEqual([899_000, 921_000]));
    await shown("22 ns of 1 us visible");
    await new Promise((r) => setTimeout(r, 400));
    expect(address.get("window")).toBeUndefined();
    [...root.querySelectorAll("button")].find((b) => b.textContent === "Whole")?.click();
    await eventually(() => expect(address.get("window")).toBe("0,1000000"));
    await shown("1 section without events");
    expect(words()).not.toContain("GPU:1");
    [...root.querySelectorAll("button")].find((b) => b.textContent === "show")?.click();
    await shown("/device:GPU:1");
    await eventually(() => expect(address.get("empty")).toBe("1"));
  });

  it("has the keys as soon as it is open", async () => {
    await open();
    await drawn();
    expect(document.activeElement).toBe(stage());
  });

  it("adds up a rectangle on the server, and narrows it to a name", async () => {
    const one = { name: "fusion.1", count: 700, wall_ps: 9_000_000, self_ps: 4_000_000, min_ps: 1, max_ps: 8 };
    const sums = { events: 705, self_ps: 4_000_005, names: 2, rows: [one, { ...one, name: "copy", count: 5, wall_ps: 5, self_ps: 5 }] };
    answer = (params) => (params["format"] === "sums" ? Promise.resolve(sums) : serve(params));
    await open();
    await drawn();
    const at = (type: string, x: number, y: number) =>
      stage()?.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y + 24, bubbles: true }));
    at("pointerdown", 350, 25);
    at("pointermove", 720, 35);
    at("pointerup", 720, 35);
    expect(asked.at(-1)).toMatchObject({ format: "sums", areas: "3.1.0.0", start_time_ms: 0.00035, end_time_ms: 0.00072 });
    await shown("705 events of 2 names on 1 track in 370 ns");
    const cells = () =>
      [...root.querySelectorAll(".tv-many tbody tr")].map((row) =>
        [...row.querySelectorAll("td")].slice(0, 4).map((cell) => cell.textContent),
      );
    expect(cells()).toEqual([
      ["fusion.1", "700", "9 us", "4 us"],
      ["copy", "5", "0.005 ns", "0.005 ns"],
    ]);
    [...root.querySelectorAll<HTMLElement>(".tv-many .tv-link")].find((b) => b.textContent === "fusion.1")?.click();
    await shown("700 events of 1 name");
    expect(window.__timeline?.selection.map(({ name }) => name)).toEqual(["fusion.1", "fusion.1"]);
  });

  it("does not change the address after unmounting, when late responses arrive", async () => {
    let finish = (): void => undefined;
    answer = (params) => (params["format"] === "event" ? new Promise((done) => (finish = () => done(details))) : serve(params));
    await open({ selected: "3.1.2" });
    await eventually(() => expect(asked.at(-1)).toMatchObject({ format: "event" }));
    await drawn();
    unmount(root);
    address.clear();
    finish();
    await new Promise((r) => setTimeout(r, 500));
    expect([...address]).toEqual([]);
  });

  it("searches, counts, and visits a match", async () => {
    await open();
    await drawn();
    const field = root.querySelector<HTMLInputElement>("#tv-search");
    if (!field) throw new Error("no search box");
    const enter = () => field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    field.value = "fusion";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await eventually(() => expect(asked.at(-1)).toMatchObject({ format: "search", query: "fusion" }));
    await shown("1 match");
    enter();
    await shown("1 of 1");
    expect(window.__timeline?.selection).toMatchObject([{ event: 2 }]);
  });

  it("goes to the first match if Enter was pressed before the response", async () => {
    await open();
    await drawn();
    const field = root.querySelector<HTMLInputElement>("#tv-search");
    if (!field) throw new Error("no search box");
    field.value = "fusion";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await eventually(() => expect(field.value).toBe("fusion"));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    await shown("1 of 1");
    expect(window.__timeline?.selection).toMatchObject([{ event: 2 }]);
  });

  it("explains a failure and tries again", async () => {
    answer = () =>
      Promise.reject(new ApiError(422, "corrupt_profile", "The file ends inside a message.", { file: "vm.xplane.pb", offset: 77 }));
    await open();
    await shown("vm.xplane.pb");
    answer = serve;
    [...root.querySelectorAll("button")].find((b) => b.textContent === "Try again")?.click();
    await shown("10 of 10 events on the screen");
  });

  it("goes through the gaps of a device by length, forwards and back, and keeps the place in the address", async () => {
    await open();
    await drawn();
    expect(asked.some((params) => params["format"] === "gaps")).toBe(false);
    press("g");
    await shown("Gap 1 of 3: 300 ns on TPU 0, under train.py:54 load_batch");
    expect(window.__timeline?.window).toEqual([230_000, 590_000]);
    press("g");
    await shown("Gap 2 of 3: 100 ns on TPU 0, no host event covers half of it");
    press("G", true);
    await shown("Gap 1 of 3");
    press("G", true);
    await shown("Gap 3 of 3: 10 ns on TPU 0, between ops of one program");
    await eventually(() => expect([address.get("gap"), address.get("mark")]).toEqual(["TPU 0:3", "950000,960000"]));
    expect(asked.filter((params) => params["format"] === "gaps")).toHaveLength(1);
    press("Escape");
    await eventually(() => expect([root.querySelector(".tv-pane"), address.has("gap"), address.has("mark")]).toEqual([null, false, false]));
  });

  it("shows the binding path, goes along it, and says the slack of the selected event", async () => {
    await open();
    await drawn();
    press("b");
    await shown("Ops 80 ns (80.0%)");
    expect(words()).toContain("of 100 ns in 1 step around the window");
    expect(
      asked.filter((params) => params["format"] === "path").map(({ start_time_ms, end_time_ms }) => [start_time_ms, end_time_ms]),
    ).toEqual([[0, 0.001]]);
    await eventually(() => expect(address.get("path")).toBe("1"));
    press("n");
    await shown("0. It is on the binding path.");
    await eventually(() => expect(address.get("selected")).toBe("3.1.2"));
    press("]");
    await shown("Binding path of TPU 0: Unexplained, 20 ns, no event");
    await eventually(() => expect(address.has("selected")).toBe(false));
    expect(root.querySelector("tr[aria-current]")?.textContent).toContain("Unexplained");
    expect(window.__timeline?.path).toEqual({ device: "TPU 0", pieces: 2, piece: 1 });
    press("b");
    await eventually(() => expect([window.__timeline?.path, address.has("path")]).toEqual([null, false]));
  });

  it("opens a link to the binding path of a device; its button hides it, and another device is a choice away", async () => {
    await open({ path: "TPU 1" });
    await drawn();
    await eventually(() => expect(asked.find((params) => params["format"] === "path")?.["device"]).toBe("TPU 1"));
    const path = root.querySelector<HTMLButtonElement>("[aria-label='Binding path (B)']");
    expect(path?.getAttribute("aria-pressed")).toBe("true");
    path?.click();
    await eventually(() => expect(path?.getAttribute("aria-pressed")).toBe("false"));
    path?.click();
    await shown("Ops 80 ns");
    const device = root.querySelector<HTMLSelectElement>("[aria-label='Device of the path']");
    if (device) device.value = "TPU 0";
    device?.dispatchEvent(new Event("change", { bubbles: true }));
    await eventually(() => expect(asked.at(-1)?.["device"]).toBe("TPU 0"));
  });

  it("opens a link to a gap of any device", async () => {
    await open({ gap: "TPU 1:1" });
    await shown("Gap 1 of 1: 200 ns on TPU 1");
    expect(root.querySelector("[aria-current]")?.textContent).toContain("TPU 1");
  });

  it("lists the gaps, and selects the event that a gap's host call names", async () => {
    await open();
    await drawn();
    button("Gaps")?.click();
    await shown("Of the recording");
    expect(root.querySelectorAll(".tv-gaps tbody tr")).toHaveLength(3);
    button("train.py:54 load_batch")?.click();
    await eventually(() => expect(window.__timeline?.selection).toMatchObject([{ event: 2 }]));
    expect(asked.find((params) => params["format"] === "search")).toMatchObject({ query: "train.py:54 load_batch", case: 1 });
    await shown("%fusion.1 = f32[8]");
  });

  it("gives the pane no room until something is selected, and closes it by Escape", async () => {
    await open();
    await drawn();
    const pane = () => root.querySelector(".tv-pane") !== null;
    expect(pane()).toBe(false);
    click(240, 30);
    await eventually(() => expect(pane()).toBe(true));
    press("Escape");
    await eventually(() => expect(pane()).toBe(false));
  });

  it("hides processes, and keeps that in the address", async () => {
    await open();
    await drawn();
    button("Show ▾")?.click();
    await shown("Processes");
    root.querySelector<HTMLInputElement>(".tv-filter input")?.click();
    await eventually(() => expect(root.querySelectorAll(".tl-section")).toHaveLength(0));
    await eventually(() => expect(address.get("without")).toBe("3"));
    await shown("Show (1 off) ▾");
  });

  it("reports an empty trace", async () => {
    answer = () => Promise.resolve(encodeTrace({ sections: [], full: [0, 0] }));
    await open();
    await shown("The trace has no events");
  });

  it("lists the visible events in an accessible table", async () => {
    await open();
    await drawn();
    button("Table")?.click();
    await shown("10 visible boxes");
    expect(root.querySelectorAll(".tv-table tbody tr")).toHaveLength(10);
  });

  it("shows corrected times as recorded, and back", async () => {
    const problem = { code: "clock_skew", message: "The clock of GPU 0 is 3 ms behind its host's.", file: "h.xplane.pb" };
    answer = (params) => (params["tag"] === undefined ? Promise.resolve({ hosts: [], problems: [problem] }) : serve(params));
    await open({ clocks: "vm:2000" });
    await shown("Clocks of devices are corrected.");
    button("Show all times as recorded")?.click();
    await eventually(() => expect(address.get("clocks")).toBe("recorded,vm:2000"));
    unmount(root);
    await open();
    await shown("All times are shown as recorded, also those that cannot be right.");
    await eventually(() => expect(asked.some((params) => params["clocks"] === "recorded,vm:2000")).toBe(true));
    button("Show corrected times")?.click();
    await eventually(() => expect(address.get("clocks")).toBe("vm:2000"));
  });

  it("corrects the clocks of a base by its own offsets", async () => {
    const info = { tools: [{ id: "trace_viewer@", host_names: ["vm"] }] };
    const communication = new Map([["b", { host_offsets_ps: { vm: -3000 } }]]);
    answer = (params) => {
      if (params["tag"] === undefined) return Promise.resolve(info);
      if (params["tag"] === "communication") return Promise.resolve(communication.get(String(params["run"])));
      return params["tag"] === "trace_viewer@" ? serve(params) : Promise.reject(new ApiError(404, "no_data", "none"));
    };
    await open({ clocks: "vm:2000" }, { ...NO_BASE, run: "b" });
    const clocks = (run: string) =>
      asked.filter((params) => params["run"] === run && params["format"] === "columns").map((params) => params["clocks"]);
    await eventually(() => expect([clocks("r")[0], clocks("b")[0]]).toEqual(["vm:2000", "vm:-3000"]));
    await shown("Clocks are corrected: vm +2 ns. Base: vm −3 ns.");
  });
});
