import { describe, expect, it } from "vitest";
import { TimeScale } from "../../base/time_scale";
import { drawData } from "./draw_data";
import { drawOverlay } from "./draw_overlay";
import { drawRuler } from "./draw_ruler";
import { flowCurves } from "../layout/flows";
import { initialArrangement, layOut, placeLanes } from "../layout/layout";
import { COLOURS, FIRST_NAME, SAME_NAME, longHex, NameColours, readPalette, themeOf } from "./palette";
import { addRow, Frame } from "./rows";
import { calls, recordingContext } from "../testing/context";
import { encodeTrace } from "../testing/synthetic";
import type { TraceSpec } from "../testing/synthetic";
import { TextFit } from "./text_fit";
import { ticks } from "../data/ticks";
import { decodeTrace } from "../data/trace";

const made = (spec: TraceSpec) => decodeTrace(encodeTrace(spec));
const oneTrack = (boxes: NonNullable<TraceSpec["sections"][0]["tracks"][0]["boxes"]>, full: [number, number] = [0, 100]) =>
  made({ sections: [{ pid: 1, name: "TPU", tracks: [{ tid: 1, name: "Ops", boxes }] }], full });
const palette = readPalette(() => "", new NameColours("light"), "light");
const text = new TextFit((t) => t.length * 6);

/** Rectangles of a row as [colour, x, width]; one pixel per ps. */
function rowOf(trace: ReturnType<typeof made>, scale = new TimeScale(0, 100, 100), ratio = 1) {
  const frame = new Frame(COLOURS);
  const colours = Uint8Array.from(trace.strings, (_, i) => FIRST_NAME + i);
  addRow(frame, trace, 0, scale, ratio, { y: 0, height: 17, labelWidth: 30 }, colours);
  const rects = frame.rects.flatMap((r, colour) =>
    Array.from({ length: r.length / 4 }, (_, i) => [colour, r.data[i * 4], r.data[i * 4 + 2]]),
  );
  return { rects: rects.sort((a, b) => (a[1] ?? 0) - (b[1] ?? 0)), frame };
}

describe("row of boxes", () => {
  const [a, b] = [FIRST_NAME, FIRST_NAME + 1];

  it("leaves a gap after boxes of three pixels and more", () => {
    const trace = oneTrack([
      { begin: 10, duration: 10, name: "a" },
      { begin: 20, duration: 5, name: "b" },
    ]);
    expect(rowOf(trace).rects).toEqual([
      [a, 10, 9],
      [b, 20, 4],
    ]);
  });

  it("joins narrow neighbours of one colour and skips boxes within an occupied pixel", () => {
    const small = [0, 0.25, 0.5, 1, 2].map((begin) => ({ begin: 50 + begin, duration: 0.2, name: "a" }));
    const { rects, frame } = rowOf(oneTrack([...small, { begin: 53, duration: 1, name: "b" }]));
    expect(rects).toEqual([
      [a, 50, 3],
      [b, 53, 1],
    ]);
    expect(frame.boxes).toBe(2);
  });

  it("gives an instant one pixel and a merged block the colour of the name that fills most of it, with stripes if wide", () => {
    const trace = oneTrack([
      { begin: 3, duration: 0, name: "a" },
      { begin: 20, duration: 3, name: "a", count: 2 },
      { begin: 40, duration: 20, name: "b", count: 12 },
    ]);
    const { rects, frame } = rowOf(trace);
    expect(rects).toEqual([
      [a, 3, 1],
      [a, 20, 2],
      [b, 40, 19],
    ]);
    expect([...frame.blocks.data.slice(0, frame.blocks.length)]).toEqual([40, 0, 19, 17]);
  });

  it("counts the events on the screen, and those that share a box or a pixel", () => {
    const trace = oneTrack([
      { begin: 3, duration: 2, name: "a" },
      { begin: 10, duration: 0.1, name: "a" },
      { begin: 10.5, duration: 0.1, name: "b" },
      { begin: 40, duration: 20, name: "b", count: 12 },
      { begin: 80, duration: 5, name: "b", count: 100 },
    ]);
    const { frame } = rowOf(trace, new TimeScale(0, 70, 70));
    expect([frame.events, frame.merged]).toEqual([15, 13]);
    frame.clear();
    expect([frame.events, frame.merged, frame.blocks.length]).toEqual([0, 0, 0]);
  });

  it("visits visible boxes only and clips them at the edges", () => {
    const trace = oneTrack(
      Array.from({ length: 100 }, (_, i) => ({ begin: i * 100, duration: 99, name: "a" })),
      [0, 10_000],
    );
    const { rects, frame } = rowOf(trace, new TimeScale(5050, 5150, 100));
    expect(rects).toEqual([
      [a, -1, 49],
      [a, 50, 50],
    ]);
    expect(frame.labels.box).toEqual([50, 51]);
  });

  it("counts in device pixels", () => {
    expect(rowOf(oneTrack([{ begin: 10, duration: 10, name: "a" }]), new TimeScale(0, 100, 100), 2).rects).toEqual([[a, 20, 19]]);
  });

  it("draws no more rectangles than pixels, however many boxes", () => {
    const many = Array.from({ length: 50_000 }, (_, i) => ({ begin: i * 0.002, duration: 0.0015, name: i % 3 ? "a" : "b" }));
    expect(rowOf(oneTrack(many)).frame.boxes).toBeLessThanOrEqual(100);
  });
});

function sceneOf(trace: ReturnType<typeof made>, patch: Partial<ReturnType<typeof initialArrangement>> = {}) {
  const layout = layOut(trace, { ...initialArrangement(trace), ...patch });
  const placed = placeLanes(layout, 0, 200);
  return {
    trace,
    layout,
    placed,
    scale: new TimeScale(0, 100, 300),
    height: 200,
    ratio: 1,
    palette,
    hatch: "pattern",
    colours: Uint8Array.from(trace.strings, () => SAME_NAME),
    grid: [50],
    hits: [],
  };
}

describe("data canvas", () => {
  const trace = oneTrack([
    { begin: 0, duration: 40, name: "convolution_of_some_length" },
    { begin: 50, duration: 30, count: 7 },
    { begin: 90, duration: 1, name: "x" },
  ]);

  it("logs boxes, hatch and labels", () => {
    const { context, log } = recordingContext();
    drawData(context, sceneOf(trace), new Frame(COLOURS), text);
    const sameName = calls(log, "fillRect").filter((c) => c[1] === palette.fills[SAME_NAME]);
    expect(sameName).toEqual([
      ["fillRect", palette.accent, 0, 22, 119, 17],
      ["fillRect", palette.accent, 150, 22, 89, 17],
      ["fillRect", palette.accent, 270, 22, 2, 17],
    ]);
    expect(calls(log, "fillRect").filter((c) => c[1] === "pattern")).toEqual([["fillRect", "pattern", 150, 22, 89, 17]]);
    expect(calls(log, "fillText").map((c) => c[2])).toEqual(["convolution_of_so\u2026", "7 events"]);
    expect(calls(log, "save")).toEqual([]);
  });

  it("keeps a label visible when the box begins left of the screen", () => {
    const { context, log } = recordingContext();
    drawData(context, { ...sceneOf(trace), scale: new TimeScale(20, 50, 300) }, new Frame(COLOURS), text);
    expect(calls(log, "fillText")[0]?.slice(2)).toEqual(["convolution_of_some_length", 4, 22 + 8.5]);
  });

  it("draws a collapsed track compressed and without labels", () => {
    const nested = made({
      sections: [
        {
          pid: 1,
          name: "x",
          tracks: [
            {
              tid: 1,
              name: "t",
              boxes: [
                { begin: 0, duration: 90, name: "a" },
                { begin: 0, duration: 80, name: "b", row: 1 },
              ],
            },
          ],
        },
      ],
      full: [0, 100],
    });
    const { context, log } = recordingContext();
    drawData(context, sceneOf(nested, { collapsedTracks: new Set(["1.1"]) }), new Frame(COLOURS), text);
    expect(
      calls(log, "fillRect")
        .filter((c) => c[1] === palette.accent)
        .map((c) => c.slice(3)),
    ).toEqual([
      [22, 269, 8],
      [31, 239, 8],
    ]);
    expect(calls(log, "fillText")).toEqual([]);
  });

  it("draws a collapsed section as one line, a stripe per track", () => {
    const box = [{ begin: 10, duration: 20, name: "a" }];
    const two = made({
      sections: [
        {
          pid: 1,
          name: "x",
          tracks: [
            { tid: 1, name: "t", boxes: box },
            { tid: 2, name: "u", boxes: box },
          ],
        },
      ],
      full: [0, 100],
    });
    const { context, log } = recordingContext();
    drawData(context, sceneOf(two, { collapsedSections: new Set([1]) }), new Frame(COLOURS), text);
    expect(
      calls(log, "fillRect")
        .filter((c) => c[1] === palette.accent)
        .map((c) => c.slice(2)),
    ).toEqual([
      [30, 3, 59, 7],
      [30, 11, 59, 7],
    ]);
  });

  it("fills counters as one area each", () => {
    const counter = made({
      sections: [
        {
          pid: 1,
          name: "x",
          tracks: [
            {
              tid: 1,
              name: "HBM",
              kind: "counter",
              samples: [
                [0, 1],
                [50, 2],
              ],
            },
          ],
        },
      ],
      full: [0, 100],
    });
    const { context, log } = recordingContext();
    drawData(context, sceneOf(counter), new Frame(COLOURS), text);
    expect(calls(log, "fill")).toHaveLength(1);
    expect(calls(log, "lineTo").slice(0, 4)).toEqual([
      ["lineTo", 0, 43],
      ["lineTo", 150, 43],
      ["lineTo", 150, 25],
      ["lineTo", 300, 25],
    ]);
  });

  it("draws percentages against 100 % and nothing where nothing was measured", () => {
    const samples: [number, number][] = [
      [0, 50],
      [50, NaN],
      [75, 25],
    ];
    const counter = made({
      sections: [{ pid: 1, name: "x", tracks: [{ tid: 1, name: "MXU", kind: "counter", unit: "percent", samples }] }],
      full: [0, 100],
    });
    const { context, log } = recordingContext();
    drawData(context, sceneOf(counter), new Frame(COLOURS), text);
    const [base, half, quarter] = [62, 43, 53];
    expect(calls(log, "moveTo")[0]).toEqual(["moveTo", 0, base]);
    expect(calls(log, "lineTo").slice(0, 6)).toEqual([
      ["lineTo", 0, half],
      ["lineTo", 150, half],
      ["lineTo", 150, base],
      ["lineTo", 225, base],
      ["lineTo", 225, quarter],
      ["lineTo", 300, quarter],
    ]);
  });

  it("underlines hits", () => {
    const { context, log } = recordingContext();
    drawData(context, { ...sceneOf(trace), hits: [{ x: 10, y: 22, width: 40, height: 17 }] }, new Frame(COLOURS), text);
    expect(calls(log, "fillRect").at(-1)).toEqual(["fillRect", palette.warn, 10, 36, 40, 3]);
  });
});

describe("ruler", () => {
  it("labels ticks with the time since the recording began, and names steps", () => {
    const trace = made({
      sections: [],
      full: [1e12, 2e12],
      steps: [
        [1e12, 5e11, "step 7"],
        [1.5e12, 5e11, "step 8"],
      ],
    });
    const scale = new TimeScale(1e12, 2e12, 500);
    const { context, log } = recordingContext();
    drawRuler(context, trace, scale, ticks(scale, 0, 100), 1, palette, text);
    expect(calls(log, "fillText").map((c) => c[2])).toEqual(["1.0 s", "1.2 s", "1.4 s", "1.6 s", "1.8 s", "step 7", "step 8"]);
  });
});

describe("overlay", () => {
  const base = {
    scale: new TimeScale(0, 1e6, 100),
    height: 50,
    rulerHeight: 24,
    ratio: 1,
    palette,
    selected: [],
    hovered: null,
    currentHit: null,
    onPath: null,
    flows: [],
    interval: null,
    marker: null,
    rubberBand: null,
    cursor: null,
    ticks: { times: [], labels: [] },
    measure: (t: string) => t.length * 6,
  };

  it("outlines the selection and writes the length of the marked interval on the axis", () => {
    const { context, log } = recordingContext();
    drawOverlay(context, { ...base, selected: [{ x: 10, y: 0, width: 20, height: 17 }], interval: { begin: 2e5, end: 7e5 } });
    expect(calls(log, "strokeRect").at(-1)).toEqual(["strokeRect", palette.text, 11, 1, 17, 15]);
    expect(calls(log, "fillText").map((c) => c[2])).toEqual(["500 ns"]);
  });

  it("moves the cursor's time beside the length of the marked interval, or leaves it out", () => {
    const drawn = (width: number) => {
      const { context, log } = recordingContext();
      drawOverlay(context, { ...base, scale: new TimeScale(0, 1e6, width), interval: { begin: 2e5, end: 8e5 }, cursor: width / 2 });
      return calls(log, "fillText").map((c) => [c[2], c[3]]);
    };
    // 46 wide each: around 100, and left of it
    expect(drawn(200)).toEqual([
      ["600 ns", 77 + 5],
      ["500 ns", 77 - 2 - 46 + 5],
    ]);
    expect(drawn(60)).toEqual([["600 ns", 7 + 5]]);
  });

  it("covers what a label leaves of the ruler's: half of a number is another one", () => {
    const { context, log } = recordingContext();
    const ticks = { times: [5e5, 9e5], labels: ["500 ns", "900 ns"] };
    drawOverlay(context, { ...base, scale: new TimeScale(0, 1e6, 400), cursor: 190, ticks });
    expect(calls(log, "fillRect").filter((c) => c[1] === palette.raised)).toEqual([["fillRect", palette.raised, 204, 3, 36, 18]]);
  });

  it("draws a line with a label at the moment of a link, if it is on the screen", () => {
    const { context, log } = recordingContext();
    drawOverlay(context, { ...base, marker: { at: 5e5, label: "peak" } });
    expect(calls(log, "fillRect")[0]).toEqual(["fillRect", palette.warn, 49, 0, 2, 74]);
    expect(calls(log, "fillText").map((c) => c[2])).toEqual(["peak"]);
    const off = recordingContext();
    drawOverlay(off.context, { ...base, marker: { at: 5e6, label: "peak" } });
    expect(calls(off.log, "fillText")).toEqual([]);
  });

  it("draws a curve per link and the cursor's time", () => {
    const { context, log } = recordingContext();
    drawOverlay(context, { ...base, flows: [{ x0: 0, y0: 9, x1: 80, y1: 40 }], cursor: 50 });
    expect(calls(log, "bezierCurveTo")).toEqual([["bezierCurveTo", 40, 9, 40, 40, 80, 40]]);
    expect(calls(log, "fillText").map((c) => c[2])).toEqual(["500 ns"]);
  });
});

describe("flows", () => {
  const trace = made({
    sections: [
      { pid: 1, name: "a", tracks: [{ tid: 1, name: "t", boxes: [{ begin: 0, duration: 10, name: "x" }] }] },
      { pid: 2, name: "b", tracks: [{ tid: 1, name: "t", boxes: [{ begin: 50, duration: 10, name: "y" }] }] },
    ],
    full: [0, 100],
  });
  const ends = [
    { pid: 1, tid: 1, event: 0, row: 0, begin: 0, duration: 10, name: "x" },
    { pid: 2, tid: 1, event: 0, row: 0, begin: 50, duration: 10, name: "y" },
  ];

  it("lead from the end of one event to the begin of the next, to the header of a collapsed section", () => {
    const scale = new TimeScale(0, 100, 100);
    const curves = (collapsed: number[]) => {
      const layout = layOut(trace, { ...initialArrangement(trace), collapsedSections: new Set(collapsed) });
      return flowCurves([{ id: "1", category: "", ends }], trace, layout, placeLanes(layout, 0, 200), scale);
    };
    expect(curves([])).toEqual([{ x0: 10, y0: 31, x1: 50, y1: 74 }]);
    expect(curves([2])).toEqual([{ x0: 10, y0: 31, x1: 50, y1: 54 }]);
    const far = layOut(trace, initialArrangement(trace));
    expect(flowCurves([{ id: "1", category: "", ends }], trace, far, placeLanes(far, 0, 200), new TimeScale(1000, 1100, 100))).toEqual([]);
  });
});

describe("colours", () => {
  it("expands short hexadecimal tokens and detects the theme", () => {
    expect(longHex("#fff")).toBe("#ffffff");
    expect(longHex("#1b243047")).toBe("#1b243047");
    expect(themeOf(() => "#14181e")).toBe("dark");
    expect(themeOf(() => "#ffffff")).toBe("light");
  });

  it("gives a name the same fill regardless of order", () => {
    const one = new NameColours("light");
    const table = one.table(["fusion.1", "copy", "fusion.1"]);
    expect(table[0]).toBe(table[2]);
    expect(Math.max(...one.table(Array.from({ length: 500 }, (_, i) => `op${i}x`)))).toBeLessThan(COLOURS);
  });
});

describe("text", () => {
  it("is truncated, not squeezed, and measured once", () => {
    let measured = 0;
    const fit = new TextFit((t) => (measured++, t.length * 6));
    expect(fit.fit("abcdefghij", 60)).toBe("abcdefghij");
    expect(fit.fit("abcdefghij", 59)).toBe("abcdefgh\u2026");
    expect(fit.fit("abcdefghij", 17)).toBe("");
    const before = measured;
    fit.fit("abcdefghij", 59);
    expect(measured).toBe(before);
  });

  it("does not measure all of a very long name", () => {
    let longest = 0;
    const fit = new TextFit((t) => ((longest = Math.max(longest, t.length)), t.length * 6));
    fit.fit("x".repeat(1_000_000), 100);
    expect(longest).toBeLessThan(100);
  });
});
