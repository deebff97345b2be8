import { describe, expect, it } from "vitest";
import { TimeScale } from "../base/time_scale";
import { boxAt, boxesIn, neighbour, trackPointAt } from "./layout/hit_test";
import { decodeSearchHits, firstHitFrom, hitNear, longestHit, stepHit } from "./data/search_hits";
import { initialArrangement, layOut, placeLanes } from "./layout/layout";
import { drawOverview, overviewOf } from "./dom/minimap";
import { busyBins, deviceWork, firstView, windowAround, workBins } from "./data/work";
import { commonName, extent, mergedCount, eventOfBox, selfTimeOf, summarise, toggled } from "./data/selection";
import { encodeContainer, encodeTrace } from "./testing/synthetic";
import { withSteps } from "./data/steps";
import { instant, ticks } from "./data/ticks";
import { describe as describeBox, describeCounter } from "./dom/tooltip";
import { describeSelection, describeTrace } from "./data/description";
import { boxName, decodeTrace, trackOfBox } from "./data/trace";
import type { Palette } from "./draw/palette";
import { calls, recordingContext } from "./testing/context";
import { interpolate, clampWindow, framing, sameWindow } from "./layout/window";

const trace = decodeTrace(
  encodeTrace({
    sections: [
      {
        pid: 3,
        name: "TPU",
        tracks: [
          {
            tid: 1,
            name: "Ops",
            boxes: [
              { begin: 10, duration: 40, name: "outer" },
              { begin: 20, duration: 10, name: "inner", row: 1 },
              { begin: 60, duration: 0, name: "now" },
            ],
          },
        ],
      },
      {
        pid: 701,
        name: "CPU",
        tracks: [
          { tid: 5, name: "empty" },
          {
            tid: 6,
            name: "python",
            boxes: [
              { begin: 15, duration: 10, name: "inner" },
              { begin: 70, duration: 20, name: "inner", count: 5 },
            ],
          },
        ],
      },
    ],
    full: [0, 100],
  }),
);
const layout = layOut(trace, initialArrangement(trace));
const view = { trace, layout, placed: placeLanes(layout, 0, 400), scale: new TimeScale(0, 100, 100) };
const name = (box: number) => (box < 0 ? null : boxName(trace, box));

describe("hit test", () => {
  it("finds boxes by row and time, with a tolerance of a few pixels", () => {
    expect(name(boxAt(view, 30, 22 + 5))).toBe("outer");
    expect(name(boxAt(view, 25, 22 + 18 + 5))).toBe("inner");
    expect(name(boxAt(view, 62, 22 + 5))).toBe("now");
    expect(boxAt(view, 75, 22 + 5)).toBe(-1);
    expect(boxAt(view, 30, 5)).toBe(-1);
    expect(trackPointAt(view, 30, 22 + 20)).toEqual({ track: 0, row: 1, time: 30 });
  });

  it("collects the boxes that a rectangle touches, whatever its direction", () => {
    const found = boxesIn(view, 65, 300, 12, 0).map(name);
    expect(found).toEqual(["outer", "now", "inner", "inner"]);
  });

  it("moves by arrow keys, over empty tracks", () => {
    const at = (n: string) => trace.strings.indexOf(n);
    const outer = [...trace.name].indexOf(at("outer"));
    const inner = [...trace.name].indexOf(at("inner"));
    expect(name(neighbour(view, outer, "right"))).toBe("now");
    expect(neighbour(view, outer, "left")).toBe(outer);
    expect(neighbour(view, outer, "down")).toBe(inner);
    const python = neighbour(view, inner, "down");
    expect(trace.tracks[trackOfBox(trace, python)]?.name).toBe("python");
    expect(neighbour(view, python, "up")).toBe(inner);
    expect(neighbour(view, outer, "up")).toBe(outer);
  });
});

describe("selection", () => {
  const events = boxesIn(view, 0, 0, 100, 400).map((box) => eventOfBox(trace, box));

  it("sums up per name and omits merged blocks", () => {
    expect(summarise(events, ({ name, duration }) => (name === "inner" ? null : duration / 2))).toEqual([
      { name: "outer", count: 1, wall: 40, self: 20, average: 40, min: 40, max: 40 },
      { name: "inner", count: 2, wall: 20, self: null, average: 10, min: 10, max: 10 },
      { name: "now", count: 1, wall: 0, self: 0, average: 0, min: 0, max: 0 },
    ]);
    expect(mergedCount(events)).toBe(5);
    expect(extent(events)).toEqual({ begin: 10, end: 90 });
    expect(extent([])).toBeNull();
  });

  it("has self times without the events of the row below, unless those are merged or not loaded", () => {
    const own = (below: { begin: number; duration: number; count?: number }[], window: [number, number] = [0, 100]) => {
      const boxes = [{ begin: 10, duration: 40, name: "outer" }, ...below.map((box) => ({ ...box, name: "inner", row: 1 }))];
      const made = decodeTrace(
        encodeTrace({ sections: [{ pid: 1, name: "x", tracks: [{ tid: 1, name: "t", boxes }] }], full: [0, 100], window }),
      );
      return selfTimeOf(made, 0, eventOfBox(made, 0));
    };
    expect(own([])).toBe(40);
    expect(
      own([
        { begin: 2, duration: 5 },
        { begin: 10, duration: 7 },
        { begin: 30, duration: 20 },
        { begin: 60, duration: 9 },
      ]),
    ).toBe(13);
    expect(own([{ begin: 45, duration: 20 }])).toBe(40);
    expect(own([{ begin: 20, duration: 5, count: 3 }])).toBeNull();
    expect(own([], [20, 100])).toBeNull();
  });

  it("adds and removes events, and finds a common name", () => {
    const [a, b] = events;
    if (!a || !b) throw new Error("no events");
    expect(toggled([a], [b])).toEqual([a, b]);
    expect(toggled([a, b], [a])).toEqual([b]);
    expect(commonName(events.filter((p) => p.name === "inner"))).toBe("inner");
    expect(commonName([a, b])).toBeNull();
  });
});

describe("description", () => {
  it("describes the selection", () => {
    const events = boxesIn(view, 0, 0, 100, 400).map((box) => eventOfBox(trace, box));
    expect(describeSelection(trace, events.slice(0, 1))).toBe("outer, starts at 10 ps, lasts 0.04 ns, Ops, TPU");
    expect(describeSelection(trace, events)).toBe("4 events selected and 5 merged");
    expect(describeSelection(trace, [])).toBe("Nothing selected");
    expect(describeTrace(trace)).toContain("9 events on 3 tracks of 2 processes");
  });
});

describe("hits", () => {
  const hits = decodeSearchHits(
    encodeContainer(
      { total_hits: 12, strings: ["a"] },
      {
        track: Uint32Array.of(0, 0, 1),
        row: Uint16Array.of(0, 0, 0),
        begin_ps: Float64Array.of(5, 10, 20),
        duration_ps: Float64Array.of(1, 1, 1),
        name: Uint32Array.of(0, 0, 0),
        event: Uint32Array.of(1, 2, 3),
      },
    ),
  );

  it("are stepped through from the visible window, wrapping around", () => {
    expect([hits.total, hits.length]).toEqual([12, 3]);
    expect(firstHitFrom(hits, 6)).toBe(1);
    expect(stepHit(hits, -1, 1, 6)).toBe(1);
    expect(stepHit(hits, -1, -1, 6)).toBe(0);
    expect(stepHit(hits, -1, -1, 0)).toBe(2);
    expect(stepHit(hits, 2, 1, 0)).toBe(0);
  });

  it("are found by the middle of a window, or by their length", () => {
    const near = (begin: number, end: number) => hitNear(hits, { begin, end });
    expect([near(0, 20), near(0, 12), near(12, 40), near(12, 19)]).toEqual([1, 0, 2, 1]);
    expect([longestHit(hits), longestHit({ ...hits, duration: Float64Array.of(1, 9, 9) }), longestHit({ ...hits, length: 0 })]).toEqual([
      0, 1, -1,
    ]);
  });
});

describe("window", () => {
  it("never leaves the trace by more than a margin, nor gets too narrow", () => {
    const full = { begin: 0, end: 1e6 };
    const far = clampWindow(new TimeScale(9e6, 9.5e6, 100), full);
    expect([far.begin, far.end]).toEqual([520_000, 1_020_000]);
    expect(clampWindow(new TimeScale(5, 6, 100), full).span).toBe(100);
    expect(clampWindow(new TimeScale(-1e9, 1e9, 100), full).span).toBeCloseTo(1.04e6);
  });

  it("frames with padding and interpolates geometrically", () => {
    const framed = framing({ begin: 1000, end: 2000 }, 100);
    expect([framed.begin, framed.end]).toEqual([900, 2100]);
    const a = new TimeScale(0, 1000, 100);
    const b = new TimeScale(500, 510, 100);
    expect(interpolate(a, b, 0).span).toBeCloseTo(1000);
    expect(interpolate(a, b, 0.5).span).toBeCloseTo(100);
    expect(sameWindow(interpolate(a, b, 1), b)).toBe(true);
  });
});

describe("times", () => {
  it("have as many digits as the zoom level resolves", () => {
    expect(instant(311_311_234_567, 1e6)).toBe("311.311 ms");
    expect(instant(0, 1000)).toBe("0 ns");
    expect(instant(98_102_500_123_456, 10)).toBe("98\u2009102\u2009500.12346 us");
    const scale = new TimeScale(2e9, 2.001e9, 500);
    expect(ticks(scale, 0, 100).labels.slice(0, 2)).toEqual(["2.0000 ms", "2.0002 ms"]);
  });

  it("say where nothing was measured", () => {
    const samples: [number, number][] = [
      [0, 50],
      [5e6, NaN],
    ];
    const tracks = [{ tid: 1, name: "MXU", kind: "counter" as const, unit: "percent", samples }];
    const counter = decodeTrace(encodeTrace({ sections: [{ pid: 1, name: "x", tracks }], full: [0, 1e7] }));
    expect(describeCounter(counter, 0, 4e6)).toEqual(["MXU", "50.0%", "since 0 ns", "maximum 50.0%"]);
    expect(describeCounter(counter, 0, 6e6)?.slice(0, 2)).toEqual(["MXU", "no sample"]);
  });

  it("appear in tooltips; merged blocks show their count", () => {
    expect(describeBox(trace, 0)).toEqual(["outer", "start 10 ps", "duration 0.04 ns", "Ops"]);
    expect(describeBox(trace, 4).slice(0, 2)).toEqual(["5 events, too short to draw separately", "such as inner"]);
  });
});

describe("steps", () => {
  it("come from the first track of that name, disjoint, without merged blocks", () => {
    const boxes = [
      { begin: 0, duration: 60, name: "0" },
      { begin: 50, duration: 60, name: "1", row: 1 },
      { begin: 120, duration: 9, count: 3 },
    ];
    const made = withSteps(decodeTrace(encodeTrace({ sections: [{ pid: 3, name: "TPU", tracks: [{ tid: 1, name: "Steps", boxes }] }] })));
    expect([...(made.steps?.begin ?? [])]).toEqual([0, 50]);
    expect([...(made.steps?.duration ?? [])]).toEqual([50, 60]);
    expect(withSteps(trace).steps).toBeNull();
  });
});

/** Boxes [begin, end] on one track per section. */
const worked = (sections: Record<string, [number, number][]>, full: [number, number] = [0, 1000]) =>
  decodeTrace(
    encodeTrace({
      sections: Object.entries(sections).map(([title, spans], i) => ({
        pid: i + 1,
        name: title,
        tracks: [{ tid: 1, name: "t", boxes: spans.map(([begin, end]) => ({ begin, duration: end - begin, name: "x" })) }],
      })),
      full,
    }),
  );
const rounded = (values: Iterable<number> | undefined) => [...(values ?? [])].map((x) => Number(x.toFixed(2)));

describe("minimap", () => {
  it("shows when each section is busy", () => {
    expect(rounded(busyBins(trace, 10)[0])).toEqual([0, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
  });

  it("shades where at least one device works, and gives sections with events a band", () => {
    const two = worked({
      "/device:GPU:0": [
        [100, 200],
        [850, 900],
      ],
      "/device:GPU:1": [[150, 250]],
      "/device:GPU:2": [],
      "/host:CPU": [[0, 1000]],
    });
    expect(rounded(workBins(two, 10))).toEqual([0, 1, 0.5, 0, 0, 0, 0, 0, 0.5, 0]);
    const overview = overviewOf(two, 10);
    expect(overview.bands.map(({ device }) => device)).toEqual([true, true, false]);
    const { context, log } = recordingContext();
    drawOverview(context, overview, { sunken: "sunken", accent: "accent", dim: "dim" } as Palette, 100, 30);
    expect(
      calls(log, "fillRect")
        .filter((c) => c[1] === "accent" && c[5] === 30)
        .map((c) => c[2]),
    ).toEqual([10, 20, 80]);
    expect(calls(log, "fillRect").filter((c) => c[1] === "dim")).toHaveLength(10);
  });

  it("keeps the last band for the host", () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`/device:TPU:${i}`, [[0, 10]] as [number, number][]]));
    const { bands } = overviewOf(worked({ ...many, "/host:CPU": [[0, 10]] }), 10);
    expect([bands.length, bands.at(-1)?.device]).toEqual([8, false]);
  });
});

describe("first view", () => {
  const host: [number, number][] = [[0, 1000]];

  it("is where the devices work, with some room", () => {
    expect(
      firstView(
        worked({
          "/device:GPU:0": [
            [900, 910],
            [930, 940],
          ],
          "/host:CPU": host,
        }),
      ),
    ).toEqual({ begin: 898, end: 942 });
  });

  it("is the whole if devices work in most of it, or there is none", () => {
    expect(firstView(worked({ "/device:GPU:0": [[400, 900]], "/host:CPU": host }))).toBeNull();
    expect(firstView(worked({ "/host:CPU": [[400, 410]] }))).toBeNull();
    expect(firstView(worked({ "/device:GPU:0": [], "/host:CPU": host }))).toBeNull();
  });

  it("leaves out little work that lies far from the rest", () => {
    expect(
      firstView(
        worked({
          "/device:GPU:0": [
            [10, 12],
            [900, 920],
          ],
          "/device:GPU:1": [[880, 890]],
          "/host:CPU": host,
        }),
      ),
    ).toEqual({ begin: 878, end: 922 });
    expect(
      deviceWork(
        worked({
          "/device:GPU:0": [
            [10, 20],
            [15, 30],
          ],
          "/device:GPU:1": [[30, 35]],
        }),
      ),
    ).toEqual([{ begin: 10, end: 35 }]);
  });

  it("stays within the recording", () => {
    expect(firstView(worked({ "/device:GPU:0": [[0, 100]] }))).toEqual({ begin: 0, end: 105 });
  });

  it("around a moment reaches to the nearest event", () => {
    const long = worked(
      {
        "/host:CPU": [
          [0, 5e9],
          [90e9, 100e9],
        ],
      },
      [0, 100e9],
    );
    expect(windowAround(long, 4e9)).toEqual({ begin: 3e9, end: 5e9 });
    expect(windowAround(long, 10e9)).toEqual({ begin: 3.75e9, end: 16.25e9 });
  });
});
