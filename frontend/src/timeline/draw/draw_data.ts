// Draws boxes, counters and grid: everything that changes only with window, scroll position or data.
import type { TimeScale } from "../../base/time_scale";
import { addCounter, drawCounters } from "./draw_counter";
import type { CounterShapes } from "./draw_counter";
import type { DrawContext } from "./context";
import type { Layout, PlacedLane } from "../layout/layout";
import { LaneKind, ROW_HEIGHT } from "../layout/layout";
import type { ScreenRect } from "../layout/event_rects";
import { COLOURS } from "./palette";
import type { Palette } from "./palette";
import type { Frame } from "./rows";
import { addRow } from "./rows";
import type { TextFit } from "./text_fit";
import type { Trace } from "../data/trace";
import type { CssPx } from "../data/units";

/** The input of a data frame. */
interface Scene {
  readonly trace: Trace;
  readonly layout: Layout;
  readonly placed: readonly PlacedLane[];
  readonly scale: TimeScale;
  readonly height: CssPx;
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
  readonly palette: Palette;
  /** Fill for merged blocks. */
  readonly hatch: CanvasPattern | string;
  /** Colour index per string, with the highlighted name already replaced. */
  readonly colours: Uint8Array;
  /** Times of vertical grid lines. */
  readonly grid: readonly number[];
  /** Search hits on the screen. */
  readonly hits: readonly ScreenRect[];
}

/** Boxes narrower than this (CSS pixels) have no label. */
const LABEL_WIDTH: CssPx = 34;
const LABEL_PADDING: CssPx = 4;
/** Rows of which less is left below pinned tracks, or the ruler, have no labels: they would be drawn over those of the next row. */
const LABEL_HEIGHT: CssPx = ROW_HEIGHT - 3;
/** Gap between rows. */
const ROW_LINE: CssPx = 1;
/** Padding above and below the boxes of a collapsed section. */
const SECTION_PADDING: CssPx = 3;

/** Draws one frame; `frame` is scratch space that also counts the rectangles drawn. */
export function drawData(context: DrawContext, scene: Scene, frame: Frame, text: TextFit): void {
  frame.clear();
  const shapes: CounterShapes = { areas: [] };
  collect(scene, frame, shapes);
  const width = Math.round(scene.scale.width * scene.ratio);
  const height = Math.round(scene.height * scene.ratio);
  context.fillStyle = scene.palette.background;
  context.fillRect(0, 0, width, height);
  drawGround(context, scene, width, height);
  drawCounters(context, shapes, scene.palette, scene.ratio);
  fillBoxes(context, scene, frame);
  drawLabels(context, scene, frame, text);
  drawHits(context, scene);
}

/** Collects the rectangles of all visible rows. */
function collect(scene: Scene, frame: Frame, shapes: CounterShapes): void {
  const { trace, layout, ratio } = scene;
  const top = layout.pinnedHeight;
  for (const { lane, y, pinned } of scene.placed) {
    if (layout.kind[lane] === LaneKind.Section) {
      if (layout.collapsed[lane] === 1) collectSection(scene, frame, lane, y, top);
      continue;
    }
    const track = layout.index[lane]!;
    const clipTop = pinned ? 0 : top;
    if (trace.tracks[track]!.kind === "counter") {
      addCounter(shapes, trace, track, scene.scale, ratio, y, layout.rowHeight[lane]!, clipTop);
      continue;
    }
    collectTrack(scene, frame, lane, y, clipTop);
  }
}

function collectTrack(scene: Scene, frame: Frame, lane: number, y: CssPx, clipTop: CssPx): void {
  const { trace, layout, ratio } = scene;
  const track = layout.index[lane]!;
  const rowHeight = layout.rowHeight[lane]!;
  const rows = trace.tracks[track]!.rows;
  const full = rowHeight >= ROW_HEIGHT;
  const first = Math.max(0, Math.floor((clipTop - y) / rowHeight));
  const last = Math.min(rows, Math.ceil((scene.height - y) / rowHeight));
  for (let row = first; row < last; row++) {
    const begin = Math.max(y + row * rowHeight, clipTop);
    const end = y + (row + 1) * rowHeight - (rowHeight > 3 ? ROW_LINE : 0);
    const labelWidth = full && end - begin + ROW_LINE >= LABEL_HEIGHT ? LABEL_WIDTH * ratio : Infinity;
    const place = { y: Math.round(begin * ratio), height: Math.max(1, Math.round(end * ratio) - Math.round(begin * ratio)), labelWidth };
    addRow(frame, trace, trace.rowBase[track]! + row, scene.scale, ratio, place, scene.colours);
  }
}

/** Collects a collapsed section: the outermost events of its tracks, compressed, one track below the other. */
function collectSection(scene: Scene, frame: Frame, lane: number, y: CssPx, clipTop: CssPx): void {
  const { trace, layout, ratio } = scene;
  const { trackBegin, trackEnd } = trace.sections[layout.index[lane]!]!;
  const room = layout.height[lane]! - 2 * SECTION_PADDING;
  const step = room / Math.max(trackEnd - trackBegin, 1);
  for (let track = trackBegin; track < trackEnd; track++) {
    const top = y + SECTION_PADDING + (track - trackBegin) * step;
    if (top < clipTop) continue;
    // more tracks than pixels: later tracks overdraw earlier ones
    const place = { y: Math.round(top * ratio), height: Math.max(1, Math.round(step * ratio) - (step > 3 ? 1 : 0)), labelWidth: Infinity };
    addRow(frame, trace, trace.rowBase[track]!, scene.scale, ratio, place, scene.colours);
  }
}

/** Draws section bands, track borders and grid lines, below the boxes. */
function drawGround(context: DrawContext, scene: Scene, width: number, height: number): void {
  const { layout, ratio, palette } = scene;
  const line = Math.max(1, Math.round(ratio));
  context.fillStyle = palette.sunken;
  for (const { lane, y } of scene.placed) {
    if (layout.kind[lane] !== LaneKind.Section) continue;
    context.fillRect(0, Math.round(y * ratio), width, Math.round(layout.height[lane]! * ratio));
  }
  context.fillStyle = palette.border;
  context.globalAlpha = 0.55;
  for (const time of scene.grid) {
    context.fillRect(Math.round(scene.scale.toPx(time) * ratio), 0, line, height);
  }
  context.globalAlpha = 1;
  for (const { lane, y } of scene.placed) {
    const bottom = Math.round((y + layout.height[lane]!) * ratio) - line;
    context.fillRect(0, bottom, width, line);
  }
  if (layout.pinned > 0) {
    context.fillStyle = palette.dim;
    context.fillRect(0, Math.round(layout.pinnedHeight * ratio) - line, width, line);
  }
}

function fillBoxes(context: DrawContext, scene: Scene, frame: Frame): void {
  for (let colour = 0; colour < COLOURS; colour++) {
    const { data, length } = frame.rects[colour]!;
    if (length === 0) continue;
    context.fillStyle = scene.palette.fills[colour]!;
    for (let i = 0; i < length; i += 4) {
      context.fillRect(data[i]!, data[i + 1]!, data[i + 2]!, data[i + 3]!);
    }
  }
  const { data, length } = frame.blocks;
  context.fillStyle = scene.hatch;
  for (let i = 0; i < length; i += 4) context.fillRect(data[i]!, data[i + 1]!, data[i + 2]!, data[i + 3]!);
}

function drawLabels(context: DrawContext, scene: Scene, frame: Frame, text: TextFit): void {
  const { trace, ratio, palette } = scene;
  const { box, x, y, width } = frame.labels;
  const padding = LABEL_PADDING * ratio;
  const middle = ((ROW_HEIGHT - ROW_LINE) / 2) * ratio;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.font = labelFont(palette, ratio);
  let colour = -1;
  for (let i = 0; i < box.length; i++) {
    const b = box[i]!;
    const left = Math.max(x[i]!, 0);
    const room = x[i]! + width[i]! - left - 2 * padding;
    if (room <= 0) continue;
    const label = text.fit(labelOf(trace, b), room);
    if (label === "") continue;
    const next = scene.colours[trace.name[b]!]!;
    if (next !== colour) {
      colour = next;
      context.fillStyle = palette.textOnFill[colour]!;
    }
    context.fillText(label, left + padding, y[i]! + middle);
  }
}

/** Draws a bar under each search hit, which is visible on any fill and on merged blocks. */
function drawHits(context: DrawContext, scene: Scene): void {
  const { ratio, palette } = scene;
  const bar = Math.round(3 * ratio);
  let lastX = -1;
  let lastY = -1;
  context.fillStyle = palette.warn;
  for (const { x, y, width, height } of scene.hits) {
    const left = Math.floor(x * ratio);
    const right = Math.max(Math.floor((x + width) * ratio), left + Math.round(2 * ratio));
    const bottom = Math.round((y + height) * ratio) - bar;
    if (bottom === lastY && right <= lastX) continue;
    lastX = right;
    lastY = bottom;
    context.fillRect(left, bottom, right - left, bar);
  }
}

/** The label of a box. */
function labelOf(trace: Trace, box: number): string {
  const count = trace.count[box]!;
  return count > 1 ? `${count} events` : (trace.strings[trace.name[box]!] ?? "");
}

/** Font of box labels in device pixels. */
export function labelFont(palette: Palette, ratio: number): string {
  return `${11 * ratio}px ${palette.font}`;
}
