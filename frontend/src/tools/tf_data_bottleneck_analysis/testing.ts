// Hand-written documents of the server, for tests.
import type { DataPipelineRun, DataPipelines, PipelineIterator } from "../../base/documents";
import { tableOf } from "../../base/testing";

const PIPELINES = {
  host: ["vm", "vm", "vm", "b"],
  input_pipeline: ["Host:0", "Host:1", "Device:0", "Host:0"],
  kind: ["host", "host", "device", "host"],
  mean_ps: [41e6, 52316e6, 6e6, 30e6],
  max_ps: [71e6, 53809e6, 9e6, 60e6],
  calls: [10, 10, 10, 4],
  slow_calls: [3, 10, 0, 1],
  bottleneck: ["Range", "Map", null, null],
  bottleneck_ps: [60e6, 43450e6, null, null],
  request_host: ["vm-1", "vm-1", "vm-1", "b-1"],
};

/** Three host pipelines, one of them very slow, and a device pipeline. */
export function answer(): DataPipelines {
  return {
    input_bound: true,
    message: "A pipeline is slow.",
    pipelines: tableOf(PIPELINES),
    pipelines_left_out: 0,
    advice: [
      {
        kind: "parallel_version",
        steps: ["Run it in parallel.", "Cache."],
        links: [{ title: "Guide", address: "https://x.org/g" }],
        pipelines: [1],
      },
      { kind: "other", steps: ["See the guide."], links: [], pipelines: [0] },
    ],
    problems: ["a.pb: one event has no end"],
    left_out: [],
  };
}

function iterator(
  [id, parent, name, long_name]: readonly [string, string, string, string],
  [begin, duration, self]: readonly [number, number, number],
  calls: number,
  role: PipelineIterator["role"],
  settings: PipelineIterator["settings"] = {},
): PipelineIterator {
  const times = { begin_ps: begin * 1e6, duration_ps: duration * 1e6, self_ps: self * 1e6 };
  return { id, parent, name, long_name, dataset: "", ...times, calls, role, settings };
}

const ROOT = "18446744073709551615";

/** A run of [100, 200] us; its map ran twice at once, its range ahead of it. */
export function runAnswer(): DataPipelineRun {
  return {
    host: "vm",
    pipeline: "Host:1",
    kind: "host",
    rank: 0,
    runs: 10,
    begin_ps: 100e6,
    duration_ps: 100e6,
    window_ps: [90e6, 200e6],
    bottleneck: "2",
    iterators: [
      iterator([ROOT, "", "Root", "Iterator::Root"], [100, 100, 40], 1, 1, { cpu_budget: 8 }),
      iterator(["2", ROOT, "Map", "Iterator::Root::Map"], [100.5, 80, 60], 2, 2, { autotune: false, parallelism: 2, deterministic: true }),
      iterator(["3", "2", "Range", "Iterator::Root::Map::Range"], [90, 5, 5], 1, 0),
    ],
    iterators_left_out: 0,
    threads: [
      { pid: 701, tid: 1, name: "main" },
      { pid: 701, tid: 2, name: "" },
    ],
    spans: {
      iterator: [0, 1, 1, 2],
      thread: [0, 0, 1, 1],
      begin_ps: [100e6, 100.5e6, 120e6, 90e6],
      duration_ps: [100e6, 40e6, 40e6, 5e6],
      blocking: [true, true, false, false],
      count: [1, 1, 1, 3],
    },
    executions: 6,
    resolution: 2000,
    truncated: false,
    problems: [],
    left_out: [],
  };
}
