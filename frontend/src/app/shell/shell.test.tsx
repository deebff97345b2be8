import { cleanup, flush, text, mount } from "../testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PageProps } from "../../page/page";
import type { RunInfo, RunSummary, Status, ToolInfo } from "../../api/types";
import { fakeClient } from "../testing";
import { forgetFindings, loadFindings } from "../../page/findings";
import { forgetDismissed } from "./dismissed";
import { Shell } from "./shell";
import { makeUrlState, queryBar } from "../address/url_state";

const run = (name: string, mtime_ms: number): RunSummary => ({
  run: name,
  session: name,
  directory: "",
  hosts: 2,
  bytes: 2048,
  mtime_ms,
  problems: [],
});
const tool = (id: string, patch: Partial<ToolInfo> = {}): ToolInfo => ({
  id,
  title: id.toUpperCase(),
  group: "Ops",
  summary: `About ${id}.`,
  hosts: "one",
  host_names: ["h1", "h2"],
  available: true,
  reason: null,
  params: [],
  ...patch,
});
const info = (name: string, patch: Partial<RunInfo> = {}): RunInfo => ({
  run: name,
  device_types: ["TPU v4"],
  problems: [],
  hosts: [{ name: "h1", bytes: 1, mtime_ms: 1, kind: "xplane", problem: null }],
  tools: [
    tool("off", { available: false, reason: "No steps in this profile." }),
    tool("stats"),
    tool("trace_viewer@", { hosts: "several", group: "Time" }),
  ],
  ...patch,
});
const status: Status = {
  version: "1",
  logdir: "logs",
  absolute_logdir: "/home/logs",
  patterns: ["plugins/profile/<session>/<host>.xplane.pb"],
  scanned_directories: 3,
  scan_ms: 1,
  runs: 0,
  capture_enabled: false,
  problems: [],
};

const Page = ({ run, tool, host, hosts, reading, state }: PageProps) => (
  <button type="button" id="page" onClick={() => state.set({ "my.key": "1" }, "replace")}>
    {[run, tool.id, host ?? "many", hosts.join("+"), ...(reading === "xprof" ? [reading] : [])].join("|")}
  </button>
);

function open(search: string, routes: Record<string, unknown> = {}) {
  window.history.replaceState(null, "", `/${search}#profile`);
  const client = fakeClient({
    config: {},
    runs_info: [run("old", 1e12), run("new", 2e12)],
    run_info: (q: URLSearchParams) => info(q.get("run") ?? ""),
    status,
    ...routes,
  });
  mount(
    <Shell
      client={client}
      state={makeUrlState(queryBar(window))}
      address={() => window.location.href}
      load={() => Promise.resolve({ ids: [], Page })}
    />,
  );
  return flush();
}

beforeEach(() => {
  cleanup();
  forgetDismissed();
  forgetFindings();
});

it("says above every page what the server has to say", async () => {
  await open("");
  expect(document.querySelector(".report-note")).toBeNull();
  cleanup();
  await open("", { config: { note: "The tab Profile is that of another." } });
  expect(text(".report-note")).toBe("The tab Profile is that of another.");
});
afterEach(() => cleanup());

describe("shell", () => {
  it("opens the newest run with its first tool that has data", async () => {
    await open("?darkMode=1");
    expect(text("#page")).toBe("new|stats|h1|h1");
    expect(text(".crumbs")).toBe("newSTATSh1");
    expect(text(".picker-label")).toMatch(/TPU\sv4/);
  });

  it("opens links, including those with old ids", async () => {
    await open("?run=old&tag=trace_viewer^&hosts=h1,h2");
    expect(text("#page")).toBe("old|trace_viewer@|many|h1+h2");
  });

  it("writes a chosen tool to the address and removes the page's keys", async () => {
    await open("?darkMode=1&run=old&tool=stats&sort=-time");
    document.querySelector<HTMLButtonElement>("#page")?.click();
    await flush();
    expect(window.location.search).toBe("?darkMode=1&run=old&tool=stats&sort=-time&my.key=1");
    document.querySelector<HTMLButtonElement>('[data-tool="trace_viewer@"]')?.click();
    await flush();
    expect(window.location.search).toBe("?darkMode=1&run=old&tool=trace_viewer@");
    expect(window.location.hash).toBe("#profile");
    expect(text("#page")).toBe("old|trace_viewer@|h1|h1");
  });

  it("folds tools without data at the end, with the reason; opened if one of them is shown", async () => {
    await open("?tool=stats");
    expect(text(".tool-group:last-child summary")).toBe("No data (1)");
    expect(document.querySelector<HTMLDetailsElement>(".no-data")?.open).toBe(false);
    cleanup();
    await open("?tool=off");
    expect(document.querySelector<HTMLDetailsElement>(".no-data")?.open).toBe(true);
    expect(text('.no-data [data-tool="off"]')).toBe("OFFNo steps in this profile.");
    expect(text(".panel")).toContain("No steps in this profile.");
  });

  it("switches the reading of all pages in the address, kept on the way to another tool and undone by the back button", async () => {
    await open("?run=new&tool=stats");
    const pressed = () => text('.reading [aria-pressed="true"]');
    expect(pressed()).toBe("Measured");
    [...document.querySelectorAll<HTMLButtonElement>(".reading button")][1]?.click();
    await flush();
    expect(window.location.search).toBe("?run=new&tool=stats&reading=xprof");
    expect([pressed(), text("#page")]).toEqual(["As XProf", "new|stats|h1|h1|xprof"]);
    expect(text(".crumbs")).toContain("XProf's reading");
    document.querySelector<HTMLElement>('[data-tool="trace_viewer@"]')?.click();
    await flush();
    expect(window.location.search).toBe("?run=new&tool=trace_viewer@&reading=xprof");
    window.history.replaceState(null, "", "/?run=new&tool=stats#profile");
    window.dispatchEvent(new PopStateEvent("popstate"));
    await flush();
    expect([pressed(), text("#page")]).toEqual(["Measured", "new|stats|h1|h1"]);
  });

  it("names tools, run and the tab by addresses that open in other tabs", async () => {
    await open("?run=new&tool=stats&reading=xprof&sort=-time");
    const path = (selector: string) => document.querySelector<HTMLAnchorElement>(selector)?.href.replace(window.location.origin, "");
    expect(path('[data-tool="trace_viewer@"]')).toBe("/?run=new&tool=trace_viewer@&reading=xprof#profile");
    expect([...document.querySelectorAll(".crumb")].map((one) => one.getAttribute("href")?.replace(window.location.origin, ""))).toEqual([
      "/?run=new&tool=overview_page&reading=xprof#profile",
      "/?run=new&tool=stats&reading=xprof#profile",
    ]);
    expect(document.title).toBe("STATS · new · Profile");
  });

  it("has a link to the content for the keyboard", async () => {
    await open("?run=new");
    const first = document.querySelector<HTMLElement>(".shell a");
    expect(first?.textContent).toBe("Skip to content");
    first?.click();
    expect(document.activeElement?.tagName).toBe("MAIN");
    expect(window.location.hash).toBe("#profile");
  });

  it("chooses, keeps and removes a base", async () => {
    await open("?run=new&tool=stats");
    document.querySelector<HTMLButtonElement>(".base-picker button")?.click();
    await flush();
    const options = [...document.querySelectorAll<HTMLElement>('.base-picker [role="option"]')];
    expect(options.map((one) => one.textContent)).toEqual([expect.stringContaining("this run"), expect.stringContaining("the run before")]);
    options[1]?.click();
    await flush();
    expect(window.location.search).toBe("?run=new&tool=stats&base=old");
    expect(text(".no-base")).toContain("STATS shows one run at a time, without the base old.");
    document.querySelector<HTMLButtonElement>('[data-tool="trace_viewer@"]')?.click();
    await flush();
    expect(window.location.search).toBe("?run=new&tool=trace_viewer@&base=old");
    document.querySelector<HTMLButtonElement>('[aria-label="Remove the base"]')?.click();
    await flush();
    expect(window.location.search).toBe("?run=new&tool=trace_viewer@");
    expect(document.querySelector(".no-base")).toBeNull();
  });

  it("says that a base is not in the log directory, and that it is the run itself", async () => {
    await open("?run=new&tool=stats&base=gone");
    expect(text(".base-picker")).toContain("not found");
    cleanup();
    await open("?run=new&tool=stats&base=new");
    expect(text(".base-picker")).toContain("the same run");
  });

  it("reports an unknown tool, below the tools that there are", async () => {
    await open("?run=old&tool=nonsense");
    expect(text(".panel")).toContain("There is no tool named nonsense");
    expect(document.querySelector("[data-tool=stats]")).not.toBeNull();
    document.querySelector<HTMLButtonElement>(".panel button")?.click();
    await flush();
    expect(text("#page")).toBe("old|stats|h1|h1");
    expect(text("h1")).toBe("STATS");
  });

  it("reports an unknown run", async () => {
    await open("?run=gone");
    expect(text(".panel")).toContain("There is no session named gone");
    document.querySelector<HTMLButtonElement>(".panel button")?.click();
    await flush();
    expect(text("#page")).toBe("new|stats|h1|h1");
  });

  it("explains an empty logdir", async () => {
    await open("", { runs_info: [] });
    expect(text(".doc")).toContain("none in 3 directories");
    expect(text(".doc")).toContain("/home/logs/plugins/profile/<session>/<host>.xplane.pb");
    expect(text(".doc pre")).toContain('jax.profiler.trace("/home/logs")');
    // A step of asynchronous dispatch ends with its work only if the program waits for it within the annotation.
    expect(text(".doc pre")).toMatch(/StepTraceAnnotation\(.*\):\n {12}state = .*\n {12}jax\.block_until_ready\(state\)/);
  });

  it("says what to do with a file in place of a log directory", async () => {
    const path = "/home/logs/odd name.json";
    const problem = { code: "logdir_is_file", message: "The logdir is a file.", file: "odd name.json", remedy: "Serve it." };
    await open("", { runs_info: [], status: { ...status, logdir: path, absolute_logdir: path, problems: [problem] } });
    expect(text(".doc h1")).toBe("The log directory is a file");
    expect(text(".doc pre")).toBe("tpu-profile serve '/home/logs/odd name.json'");
    expect(text(".doc")).toContain("<logdir>/plugins/profile/<session>/<host>.xplane.pb");
    expect(text(".doc")).not.toContain("Capture one from your program");
  });

  it("warns of files that could not be read", async () => {
    const problem = { code: "corrupt_profile", message: "bad wire type", file: "h1.xplane.pb", offset: 1234 };
    await open("", { run_info: info("new", { hosts: [{ name: "h1", bytes: 1, mtime_ms: 1, kind: "xplane", problem }] }) });
    expect(text(".problems")).toBe("h1.xplane.pb: bad wire type (byte 1,234)");
  });

  it("tells a problem with its remedy on every page, until it is dismissed", async () => {
    const skipped = (offset: number) => ({
      code: "skipped_records",
      message: `7 bytes at offset ${String(offset)} were left out.`,
      file: "h1.xplane.pb",
      offset,
      remedy: "Copy the file again.",
    });
    const problems = (...offsets: number[]) => ({
      run_info: (q: URLSearchParams) => info(q.get("run") ?? "", { problems: offsets.map(skipped) }),
    });
    await open("?run=new&tool=stats", problems(5));
    expect(text(".problems")).toBe("h1.xplane.pb: 7 bytes at offset 5 were left out. Copy the file again.");
    document.querySelector<HTMLButtonElement>('[data-tool="trace_viewer@"]')?.click();
    await flush();
    expect(text(".problems")).toContain("at offset 5");
    document.querySelector<HTMLButtonElement>(".problems button")?.click();
    await flush();
    expect(document.querySelector(".problems")).toBeNull();
    cleanup();
    await open("?run=new&tool=stats", problems(5, 9));
    expect(text(".problems")).toBe("h1.xplane.pb: 7 bytes at offset 9 were left out. Copy the file again.");
    cleanup();
    await open("?run=old&tool=off", problems(5, 9));
    expect(text(".problems summary")).toContain("2 problems");
    expect(document.querySelectorAll(".problems li").length).toBe(2);
  });

  it("tells what is found while the run is read", async () => {
    const problem = { code: "clock_skew", message: "The clocks differ by 3 ms.", file: "h1.xplane.pb", offset: null, remedy: "" };
    const findings = { headline: { title: "Busy", tone: "none" }, findings: [], silent: [], base: "step", problems: [problem] };
    const client = fakeClient({ page: findings });
    await open("?run=new&tool=stats");
    expect(document.querySelector(".problems")).toBeNull();
    await loadFindings(client, "new");
    await flush();
    expect(text(".problems")).toBe("h1.xplane.pb: The clocks differ by 3 ms.");
  });

  it("shows the server's error in place of the page", async () => {
    await open("", { run_info: { error: { code: "internal", message: "boom" } } });
    expect(text(".panel")).toContain("The server failed");
  });

  it("offers no reading of XProf's, and shows none, if the server has none", async () => {
    await open("?run=new&tool=stats&reading=xprof", { config: { xprofReading: false } });
    expect([document.querySelector(".reading"), text(".crumbs").includes("XProf")]).toEqual([null, false]);
    expect(text(".page")).not.toContain("xprof");
  });

  it("hides the capture button if the server disables it, else opens the dialog", async () => {
    await open("", { config: { hideCaptureProfileButton: true } });
    expect(document.querySelector(".capture")).toBeNull();
    cleanup();
    await open("");
    document.querySelector<HTMLButtonElement>(".capture")?.click();
    await flush();
    expect(text("dialog")).toContain("disabled on this server");
  });

  it("opens the capture dialog with the options of a link, and removes them on closing", async () => {
    await open("?run=new&tool=stats&capture=python_tracer_level%3D1", { status: { ...status, capture_enabled: true } });
    expect(document.querySelector<HTMLSelectElement>('dialog [name="pythonLevel"]')?.value).toBe("1");
    document.querySelector<HTMLButtonElement>('dialog [aria-label="Close"]')?.click();
    await flush();
    expect(document.querySelector("dialog")).toBeNull();
    expect(window.location.search).toBe("?run=new&tool=stats");
  });

  it("gives TensorBoard a reload function that reads the runs again", async () => {
    const runs = vi.fn(() => [run("new", 2e12)]);
    await open("", { runs_info: runs });
    const before = runs.mock.calls.length;
    (window as unknown as { reload: () => void }).reload();
    await flush();
    expect(runs.mock.calls.length).toBe(before + 1);
  });

  it("catches a page that fails", async () => {
    window.history.replaceState(null, "", "/");
    const Bad = (): never => {
      throw new Error("kaputt");
    };
    const client = fakeClient({ config: {}, runs_info: [run("new", 1)], run_info: info("new"), status });
    mount(
      <Shell
        client={client}
        state={makeUrlState(queryBar(window))}
        address={() => ""}
        load={() => Promise.resolve({ ids: [], Page: Bad })}
      />,
    );
    await flush();
    expect(text(".panel")).toContain("kaputt");
    expect(document.querySelector(".rail")).not.toBeNull();
  });
});
