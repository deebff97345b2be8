import { describe, expect, it } from "vitest";
import { TimeScale } from "../../base/time_scale";
import { calls, recordingContext } from "../testing/context";
import { pathFor } from "../testing/path";
import { drawPathBand, drawPathShade } from "./draw_path";
import { NameColours, readPalette } from "./palette";
import { TextFit } from "./text_fit";

const palette = readPalette(() => "", new NameColours("light"), "light");
const look = { palette, hatch: "hatch", text: new TextFit((t) => t.length * 6) };
const [green, red] = ["#16996f", "#c8321f"];

function band(pieces: Parameters<typeof pathFor>[0], piece = -1, scale = new TimeScale(0, 100, 100)) {
  const { context, log } = recordingContext();
  drawPathBand(context, pathFor(pieces), piece, { scale, ratio: 1, top: 42 }, look);
  return log;
}

describe("the row of the binding path", () => {
  it("has pieces in the colours of their parts, with a gap, stripes and names where they fit", () => {
    const log = band([
      { begin: 0, duration: 10, part: 0 },
      { begin: 10, duration: 2, part: 1 },
      { begin: 12, duration: 68, part: 1 },
      { begin: 90, duration: 5, part: 0, count: 3 },
    ]);
    expect(calls(log, "fillRect")).toEqual([
      ["fillRect", green, 0, 42, 9, 16],
      ["fillRect", red, 10, 42, 2, 16],
      ["fillRect", red, 12, 42, 67, 16],
      ["fillRect", "hatch", 12, 42, 67, 16],
      ["fillRect", green, 90, 42, 4, 16],
      ["fillRect", "hatch", 90, 42, 4, 16],
    ]);
    expect(calls(log, "fillText").map((c) => c[2])).toEqual(["Waits fo…"]);
  });

  it("draws what is visible, a pixel in the colour of the longest piece in it", () => {
    const log = band(
      [
        { begin: 0, duration: 5, part: 0 },
        { begin: 100, duration: 1, part: 0 },
        { begin: 101, duration: 3, part: 1 },
        { begin: 104, duration: 1, part: 0 },
        { begin: 900, duration: 5, part: 0 },
      ],
      -1,
      new TimeScale(50, 850, 80),
    );
    expect(calls(log, "fillRect")).toEqual([["fillRect", red, 5, 42, 1, 16]]);
  });

  it("outlines the current piece", () => {
    expect(calls(band([{ begin: 20, duration: 30, part: 0 }], 0), "strokeRect")).toEqual([["strokeRect", palette.text, 21, 42, 28, 16]]);
  });
});

describe("the shade", () => {
  it("covers all but the events on the path", () => {
    const { context, log } = recordingContext();
    drawPathShade(context, [{ x: 10, y: 20, width: 0.5, height: 17 }], { width: 100, height: 50 }, palette);
    expect(calls(log, "fillRect")).toEqual([["fillRect", palette.background, 0, 0, 100, 50]]);
    expect(calls(log, "clearRect")).toEqual([["clearRect", 10, 20, 2, 17]]);
  });
});
