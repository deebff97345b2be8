// Hand-written responses of the server, for tests.

type Value = string | number | null;

function table(columns: Record<string, "string" | "number">, rows: Value[][], p: Record<string, string> = {}) {
  return {
    cols: Object.entries(columns).map(([id, type]) => ({ id, label: id, type })),
    rows: rows.map((values) => ({ c: values.map((v) => ({ v })) })),
    p,
  };
}

const SUMMARY = {
  host: "string",
  input_pipeline: "string",
  min: "number",
  mean: "number",
  max: "number",
  num_calls: "number",
  num_slow_calls: "number",
  kind: "string",
  long_name: "string",
  name: "string",
  min_ps: "number",
  mean_ps: "number",
  max_ps: "number",
} as const;
const BOTTLENECKS = {
  host: "string",
  input_pipeline: "string",
  max_latency: "number",
  bottleneck: "string",
  suggestion: "string",
  id: "string",
  iterator: "string",
  long_name: "string",
  latency_us: "number",
  advice: "string",
  advice_text: "string",
  advice_links: "string",
  parallelism: "number",
  autotune: "string",
  settings: "string",
  self_ps: "number",
} as const;

/** Three host pipelines, one of them very slow, and a device pipeline. */
export function answer(empty = false) {
  const rows = (values: Value[][]): Value[][] => (empty ? [] : values);
  return [
    table({ host: "string", name: "string" }, []),
    table(
      SUMMARY,
      rows([
        ["vm", "Host:0", 20, 41, 71, 10, 3, "host", "Iterator::Root", "RangeDataset:1", 20e6, 41e6, 71e6],
        ["vm", "Host:1", 51706, 52316, 53809, 10, 10, "host", "Iterator::Root", "", 51706e6, 52316e6, 53809e6],
        ["vm", "Device:0", 5, 6, 9, 10, 0, "device", "Iterator::Prefetch", "", 5e6, 6e6, 9e6],
        ["b", "Host:0", 10, 30, 60, 4, 1, "host", "Iterator::Root", "", 10e6, 30e6, 60e6],
      ]),
    ),
    table(
      BOTTLENECKS,
      rows([
        [
          "vm",
          "Host:1",
          53809,
          "",
          "",
          "2",
          "Map",
          "Iterator::Root::Prefetch::Map",
          43450,
          "parallel_version",
          "1. Run it in parallel.\n2. Cache.",
          "Guide\thttps://x.org/g\nBad\tjavascript:alert(1)",
          1,
          "false",
          "autotune=false, parallelism=1",
          43450e6,
        ],
        ["vm", "Host:0", 71, "", "", "9", "Range", "Iterator::Root::Range", 60, "other", "See the guide.", "", null, "", "", 60e6],
        ["b", "Host:0", 60, "", "", "", "", "", 0, "other", "", "", null, "", "", 0],
      ]),
      empty
        ? { is_input_bound: "false", summary_message: "No tf.data activity was captured." }
        : { is_input_bound: "true", summary_message: "A pipeline is slow.", problems: "a.pb: one event has no end\n" },
    ),
  ];
}

/** A run of [100, 200] us; its map ran twice at once, its range ahead of it. */
export function runAnswer() {
  const iterator = (
    id: string,
    parent: string,
    name: string,
    long: string,
    start: number,
    duration: number,
    self: number,
    calls: number,
    type: number,
    settings = {},
  ) => ({
    id,
    parent,
    iterator: name,
    long_name: long,
    name: "",
    start_ps: start * 1e6,
    duration_ps: duration * 1e6,
    self_ps: self * 1e6,
    calls,
    type,
    settings,
  });
  return {
    host: "vm",
    pipeline: "Host:1",
    kind: "host",
    rank: 0,
    ranks: 10,
    begin_ps: 100e6,
    duration_ps: 100e6,
    window_ps: [90e6, 200e6],
    bottleneck: "2",
    iterators: [
      iterator("18446744073709551615", "", "Root", "Iterator::Root", 100, 100, 40, 1, 1, { cpu_budget: 8 }),
      iterator("2", "18446744073709551615", "Map", "Iterator::Root::Map", 100.5, 80, 60, 2, 2, {
        autotune: false,
        parallelism: 2,
        deterministic: true,
        other: "x",
      }),
      iterator("3", "2", "Range", "Iterator::Root::Map::Range", 90, 5, 5, 1, 0),
    ],
    tracks: [
      { pid: 701, tid: 1, name: "main" },
      { pid: 701, tid: 2, name: "" },
    ],
    boxes: {
      iterator: [0, 1, 1, 2],
      track: [0, 0, 1, 1],
      begin_ps: [100e6, 100.5e6, 120e6, 90e6],
      duration_ps: [100e6, 40e6, 40e6, 5e6],
      blocking: [1, 1, 0, 0],
      count: [1, 1, 1, 3],
    },
    executions: 6,
    resolution: 2000,
    truncated: false,
    problems: [],
  };
}
