// Converts the boxes of a row to rectangles in device pixels, grouped by colour. Hot path: no object per box.
import type { TimeScale } from "../../base/time_scale";
import { firstBeginningAfter, firstEndingAt } from "../data/trace";
import type { Trace } from "../data/trace";
import type { BoxIndex, DevicePx } from "../data/units";
import { perPs } from "../layout/window";

/** Rectangles of one colour as x, y, width, height quadruples, reused across frames. */
class RectList {
  data = new Int32Array(1024);
  /** Used length of `data`, 4 numbers per rectangle. */
  length = 0;

  push(x: DevicePx, y: DevicePx, width: DevicePx, height: DevicePx): void {
    if (this.length + 4 > this.data.length) {
      const larger = new Int32Array(this.data.length * 2);
      larger.set(this.data);
      this.data = larger;
    }
    const data = this.data;
    let i = this.length;
    data[i++] = x;
    data[i++] = y;
    data[i++] = width;
    data[i++] = height;
    this.length = i;
  }

  clear(): void {
    this.length = 0;
  }
}

/** Boxes wide enough for a label, as parallel lists, reused across frames. */
class LabelList {
  readonly box: BoxIndex[] = [];
  readonly x: DevicePx[] = [];
  readonly y: DevicePx[] = [];
  readonly width: DevicePx[] = [];

  clear(): void {
    this.box.length = this.x.length = this.y.length = this.width.length = 0;
  }
}

/** The rectangles and labels of one frame. */
export class Frame {
  readonly rects: RectList[];
  /** Merged blocks that are wide enough for stripes. */
  readonly blocks = new RectList();
  readonly labels = new LabelList();
  /** Number of rectangles emitted: `boxesDrawn` of the test hook. */
  boxes = 0;
  /** Events that the boxes on the screen stand for. */
  events = 0;
  /** Events that share a box, or a pixel column, with others. */
  merged = 0;

  /** `colours`: the number of colour indexes. */
  constructor(readonly colours: number) {
    this.rects = Array.from({ length: colours }, () => new RectList());
  }

  clear(): void {
    for (const rects of this.rects) rects.clear();
    this.blocks.clear();
    this.labels.clear();
    this.boxes = this.events = this.merged = 0;
  }
}

/** Merged blocks narrower than this are not hatched: no stripe would fit. */
const HATCH_WIDTH: DevicePx = 4;

/** Position of one row in device pixels. */
interface RowPlace {
  readonly y: DevicePx;
  readonly height: DevicePx;
  /** Boxes at least this wide get a label; Infinity for none. */
  readonly labelWidth: DevicePx;
}

/**
 * Adds the visible boxes of a global row to the frame. A box takes the pixels from floor(begin) to
 * floor(end), at least one; it loses its last pixel as a gap when three or more wide; it is skipped
 * when all its pixels were taken by the box before it. Neighbours of one colour that are a pixel
 * wide and touch become one rectangle. A merged block has the colour of the name that fills most of it.
 */
export function addRow(
  frame: Frame,
  trace: Trace,
  globalRow: number,
  scale: TimeScale,
  ratio: number,
  place: RowPlace,
  colourOf: Uint8Array,
): void {
  const pixels = perPs(scale) * ratio;
  const width = Math.round(scale.width * ratio);
  const from = trace.rowStart[globalRow]!;
  const to = trace.rowStart[globalRow + 1]!;
  const first = firstEndingAt(trace, from, to, scale.begin);
  const last = firstBeginningAfter(trace, first, to, scale.end);
  const { y, height } = place;
  let taken = -1; // first pixel that is still free
  let runBegin = 0;
  let runEnd = 0;
  let runColour = -1;
  for (let box = first; box < last; box++) {
    let x0 = Math.floor((trace.begin[box]! - scale.begin) * pixels);
    let x1 = Math.floor((trace.begin[box]! + trace.duration[box]! - scale.begin) * pixels);
    if (x1 <= x0) x1 = x0 + 1;
    const count = trace.count[box]!;
    frame.events += count;
    if (count > 1 || x1 <= taken) frame.merged += count;
    if (x1 <= taken) continue;
    if (x0 < taken) x0 = taken;
    if (x0 < -1) x0 = -1;
    if (x1 > width + 1) x1 = width + 1;
    taken = x1;
    const colour = colourOf[trace.name[box]!] ?? 0;
    if (x1 - x0 < 3) {
      if (colour === runColour && x0 === runEnd) {
        runEnd = x1;
        continue;
      }
      if (runColour >= 0) emit(frame, runColour, runBegin, runEnd, y, height);
      runBegin = x0;
      runEnd = x1;
      runColour = colour;
      continue;
    }
    if (runColour >= 0) emit(frame, runColour, runBegin, runEnd, y, height);
    runColour = -1;
    emit(frame, colour, x0, x1 - 1, y, height);
    if (count > 1 && x1 - 1 - x0 >= HATCH_WIDTH) frame.blocks.push(x0, y, x1 - 1 - x0, height);
    if (x1 - x0 >= place.labelWidth) addLabel(frame.labels, box, x0, y, x1 - 1 - x0);
  }
  if (runColour >= 0) emit(frame, runColour, runBegin, runEnd, y, height);
}

function emit(frame: Frame, colour: number, x0: DevicePx, x1: DevicePx, y: DevicePx, height: DevicePx): void {
  frame.rects[colour]!.push(x0, y, x1 - x0, height);
  frame.boxes++;
}

function addLabel(labels: LabelList, box: BoxIndex, x: DevicePx, y: DevicePx, width: DevicePx): void {
  labels.box.push(box);
  labels.x.push(x);
  labels.y.push(y);
  labels.width.push(width);
}
