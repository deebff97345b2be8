import { describe, expect, it } from "vitest";
import type { RunInfo, RunSummary, ToolInfo } from "../../api/types";
import {
  chooseHosts,
  chooseRun,
  chooseTool,
  groupTools,
  hostPatch,
  leavePage,
  newestFirst,
  renameOldKeys,
  runBefore,
  runProblems,
  unreadable,
} from "./view";

const run = (name: string, mtime_ms = 0): RunSummary => ({
  run: name,
  session: name.split("/").pop() ?? "",
  directory: "",
  hosts: 1,
  bytes: 1,
  mtime_ms,
  problems: [],
});
const tool = (id: string, patch: Partial<ToolInfo> = {}): ToolInfo => ({
  id,
  title: id,
  group: "Data",
  summary: "",
  hosts: "one",
  host_names: ["a", "b"],
  available: true,
  reason: null,
  params: [],
  ...patch,
});

describe("runs", () => {
  const runs = [run("z", 5), run("train/2026_11_20_08_59_03"), run("2026_11_20_08_58_45")];

  it("are newest first, by the time in the name if it has one", () => {
    expect(newestFirst(runs).map((r) => r.run)).toEqual(["train/2026_11_20_08_59_03", "2026_11_20_08_58_45", "z"]);
  });

  it("follow the address bar", () => {
    expect(chooseRun(runs, "z")?.run).toBe("z");
    expect(chooseRun(runs, "nope")).toBeNull();
    expect(chooseRun(runs, null)?.run).toBe("train/2026_11_20_08_59_03");
    expect(chooseRun([], null)).toBeNull();
  });
});

it("the run before is the next older one of the same directory, else of any", () => {
  const runs = [
    run("a/2026_01_03_00_00_00"),
    run("b/2026_01_02_00_00_00"),
    run("a/2026_01_01_00_00_00"),
    { ...run("a/2026_01_02_12_00_00"), hosts: 0 },
  ];
  expect(runBefore(runs, "a/2026_01_03_00_00_00")).toBe("a/2026_01_01_00_00_00");
  expect(runBefore(runs, "b/2026_01_02_00_00_00")).toBe("a/2026_01_01_00_00_00");
  expect([runBefore(runs, "a/2026_01_01_00_00_00"), runBefore(runs, "gone"), runBefore(runs, null)]).toEqual([null, null, null]);
});

describe("tools", () => {
  const tools = [
    tool("overview_page", { available: false, group: "Summary" }),
    tool("trace_viewer@", { group: "Time" }),
    tool("framework_op_stats", { group: "Ops" }),
  ];

  it.each<[string | null, string | undefined]>([
    ["overview_page", "overview_page"],
    ["overview_page^", "overview_page"],
    ["trace_viewer", "trace_viewer@"],
    ["tensorflow_stats^", "framework_op_stats"],
    ["nonsense", undefined],
    ["smart_suggestion", "overview_page"],
    [null, "trace_viewer@"],
  ])("%s is %s", (wanted, id) => {
    expect(chooseTool(tools, wanted)?.id).toBe(id);
  });

  it("are grouped in the fixed order", () => {
    expect(groupTools([...tools, tool("x", { group: "Other" })]).map(([name, list]) => [name, list.length])).toEqual([
      ["Summary", 1],
      ["Ops", 1],
      ["Time", 1],
      ["Other", 1],
    ]);
  });
});

it("renames keys of XProf's links", () => {
  const renamed = (address: Record<string, string>) => renameOldKeys((key) => address[key] ?? null);
  expect(renamed({ moduleName: "jit_f(1)", opName: "add.1", run: "r" })).toEqual({
    moduleName: null,
    module_name: "jit_f(1)",
    opName: null,
    node_name: "add.1",
  });
  expect(renamed({ moduleName: "old(1)", module_name: "jit_f(2)" })).toEqual({ moduleName: null, module_name: "jit_f(2)" });
  expect(renamed({ module_name: "jit_f(2)" })).toEqual({});
});

it("maps the overview's former key of XProf's reading", () => {
  const renamed = (address: Record<string, string>) => renameOldKeys((key) => address[key] ?? null);
  expect(renamed({ tool: "overview_page", view: "device" })).toEqual({ view: null, reading: "xprof" });
  expect(renamed({ view: "xprof" })).toEqual({ view: null, reading: "xprof" });
  expect(renamed({ tag: "roofline_model", view: "program" })).toEqual({});
  expect(renamed({ tool: "graph_viewer", view: "device" })).toEqual({});
});

describe("hosts", () => {
  it("follow the rule of the tool", () => {
    expect(chooseHosts(tool("t"), "b", null)).toEqual({ host: "b", hosts: ["b"] });
    expect(chooseHosts(tool("t"), "gone", null)).toEqual({ host: "a", hosts: ["a"] });
    expect(chooseHosts(tool("t", { hosts: "several" }), null, "b,a,gone")).toEqual({ host: null, hosts: ["b", "a"] });
    expect(chooseHosts(tool("t", { hosts: "several" }), "b", null)).toEqual({ host: "b", hosts: ["b"] });
    const all = { host_names: ["ALL_HOSTS"], hosts: "all" } as const;
    expect(chooseHosts(tool("t", { ...all, host_names: ["ALL_HOSTS"] }), "b", null)).toEqual({ host: "ALL_HOSTS", hosts: [] });
    expect(chooseHosts(tool("t", { hosts: "one_or_all", host_names: ["ALL_HOSTS", "a"] }), null, null).host).toBe("ALL_HOSTS");
    expect(chooseHosts(tool("t", { host_names: [] }), null, null)).toEqual({ host: null, hosts: [] });
  });

  it("write one key or the other", () => {
    expect(hostPatch(["a"])).toEqual({ host: "a", hosts: null });
    expect(hostPatch(["a", "b"])).toEqual({ host: null, hosts: "a,b" });
    expect(hostPatch([])).toEqual({ host: null, hosts: null });
  });

  it("removes the keys of the page, not those of the shell", () => {
    const keys = leavePage(["t1.sort", "run"]);
    expect(keys["sort"]).toBeNull();
    expect(keys["t1.sort"]).toBeNull();
    expect("run" in keys).toBe(false);
  });
});

it("lists each problem of a run once", () => {
  const problem = { code: "corrupt_profile", message: "bad", file: "a.xplane.pb", offset: 7 };
  const info: RunInfo = {
    run: "r",
    device_types: [],
    tools: [],
    problems: [problem],
    hosts: [
      { name: "a", bytes: 1, mtime_ms: 1, kind: "xplane", problem },
      { name: "b", bytes: 1, mtime_ms: 1, kind: "xplane", problem: null },
    ],
  };
  expect(runProblems(info)).toEqual([{ where: "a.xplane.pb", code: "corrupt_profile", message: "bad", offset: 7 }]);
});

it("a run is unreadable only when no file of it can be read", () => {
  const problem = { code: "empty_file", message: "is empty", file: "a.xplane.pb" };
  const host = { name: "a", bytes: 0, mtime_ms: 0, kind: "xplane", problem };
  const info = (hosts: RunInfo["hosts"]): RunInfo => ({ run: "r", hosts, device_types: [], tools: [], problems: [] });
  expect(unreadable(info([host]))).toEqual(problem);
  expect(unreadable(info([host, { ...host, problem: null }]))).toBeNull();
  expect(unreadable(info([]))).toBeNull();
});
