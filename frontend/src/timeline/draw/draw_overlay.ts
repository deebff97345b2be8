// Draws selection, search hit, flows, interval and cursor, on a separate canvas above the boxes.
import { formatTime } from "../../base/format";
import type { TimeScale } from "../../base/time_scale";
import { AXIS_HEIGHT } from "../layout/layout";
import type { DrawContext } from "./context";
import { drawPathShade } from "./draw_path";
import { TICK_LABEL } from "./draw_ruler";
import type { FlowCurve } from "../layout/flows";
import type { ScreenRect } from "../layout/event_rects";
import type { Palette } from "./palette";
import { instant } from "../data/ticks";
import type { Ticks } from "../data/ticks";
import type { CssPx, Marker, RubberBand, Span } from "../data/units";

const NARROW: CssPx = 6;
/** Labels on the axis. */
const TAG_TOP: CssPx = 3;
const TAG_HEIGHT: CssPx = AXIS_HEIGHT - 8;
const TAG_PADDING: CssPx = 5;
const TAG_GAP: CssPx = 2;

export interface OverlayScene {
  readonly scale: TimeScale;
  readonly height: CssPx;
  readonly rulerHeight: CssPx;
  readonly ratio: number;
  readonly palette: Palette;
  readonly selected: readonly ScreenRect[];
  readonly hovered: ScreenRect | null;
  readonly currentHit: ScreenRect | null;
  /** Events on the binding path, everything else is shaded; null while it is not shown. */
  readonly onPath: readonly ScreenRect[] | null;
  readonly flows: readonly FlowCurve[];
  readonly interval: Span | null;
  readonly marker: Marker | null;
  readonly rubberBand: RubberBand | null;
  /** x of the pointer; null when it is outside. */
  readonly cursor: CssPx | null;
  /** The labels of the ruler, which is drawn below. */
  readonly ticks: Ticks;
  readonly measure: (text: string) => number;
}

/** A label on the axis, centred at `x` as far as the screen and other labels allow. */
interface Tag {
  readonly label: string;
  readonly x: CssPx;
  readonly colour: string;
}

/** Draws the overlay, ruler included, in CSS pixels (the context is scaled). */
export function drawOverlay(context: DrawContext, scene: OverlayScene): void {
  const { scale, palette, ratio, rulerHeight } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, scale.width, scene.height + rulerHeight);
  context.font = `11px ${palette.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.save();
  context.beginPath();
  context.rect(0, rulerHeight, scale.width, scene.height);
  context.clip();
  context.setTransform(ratio, 0, 0, ratio, 0, Math.round(rulerHeight * ratio));
  if (scene.onPath) drawPathShade(context, scene.onPath, { width: scale.width, height: scene.height }, palette);
  if (scene.interval) drawBand(context, scene, scene.interval);
  drawFlows(context, scene);
  for (const rect of scene.selected) outline(context, rect, palette.text, palette.background);
  if (scene.currentHit) outline(context, scene.currentHit, palette.warn, palette.background);
  if (scene.hovered) outline(context, scene.hovered, palette.text, null);
  if (scene.rubberBand) drawRubberBand(context, scene.rubberBand, palette);
  context.restore();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  // what is asked for first: a later label gives way
  const tags = [
    scene.interval && intervalTag(scene, scene.interval),
    scene.marker && markerTag(scene, scene.marker),
    scene.cursor === null ? null : cursorTag(scene, scene.cursor),
  ].filter((tag) => tag !== null);
  const placed = placeTags(tags, scale.width, scene.measure);
  coverTicks(context, scene, placed);
  if (scene.interval) drawIntervalEnds(context, scene, scene.interval);
  if (scene.marker) drawMarker(context, scene, scene.marker);
  if (scene.cursor !== null) drawCursor(context, scene, scene.cursor);
  for (const { label, colour, left, width } of placed) {
    context.fillStyle = colour;
    context.fillRect(left, TAG_TOP, width, TAG_HEIGHT);
    context.fillStyle = palette.background;
    context.fillText(label, left + TAG_PADDING, AXIS_HEIGHT / 2 - 1);
  }
}

interface PlacedTag extends Tag {
  readonly left: CssPx;
  readonly width: CssPx;
}

/** Places labels beside each other; one for which there is no room is left out. */
export function placeTags(tags: readonly Tag[], width: CssPx, measure: (text: string) => number): PlacedTag[] {
  const placed: PlacedTag[] = [];
  for (const tag of tags) {
    const own = measure(tag.label) + 2 * TAG_PADDING;
    const wanted = Math.max(0, Math.min(tag.x - own / 2, width - own));
    const beside = placed.flatMap((other) => [other.left - own - TAG_GAP, other.left + other.width + TAG_GAP]);
    const free = (left: CssPx): boolean =>
      left >= 0 &&
      left + own <= Math.max(width, own) &&
      placed.every((other) => left + own <= other.left || left >= other.left + other.width);
    const left = [wanted, ...beside.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))].find(free);
    if (left !== undefined) placed.push({ ...tag, left, width: own });
  }
  return placed;
}

/** Covers labels of the ruler that would show beside a label drawn over them: half of a number reads as another one. */
function coverTicks(context: DrawContext, scene: OverlayScene, placed: readonly PlacedTag[]): void {
  if (placed.length === 0) return;
  const { scale, ticks, measure, palette } = scene;
  ticks.times.forEach((time, i) => {
    const left = scale.toPx(time) + TICK_LABEL;
    const width = measure(ticks.labels[i]!);
    if (!placed.some((tag) => tag.left < left + width && left < tag.left + tag.width)) return;
    context.fillStyle = palette.raised;
    context.fillRect(left, TAG_TOP, width, AXIS_HEIGHT - 2 * TAG_TOP);
  });
}

/** Outlines a box; a narrow one only gets bars at its top and bottom, so that its colour remains visible. */
function outline(context: DrawContext, rect: ScreenRect, colour: string, halo: string | null): void {
  if (rect.width < NARROW) {
    context.fillStyle = colour;
    for (const y of [rect.y, rect.y + rect.height - 2]) context.fillRect(rect.x, y, rect.width, 2);
    return;
  }
  if (halo !== null) {
    context.strokeStyle = halo;
    context.lineWidth = 1;
    context.strokeRect(rect.x + 2, rect.y + 2, Math.max(rect.width - 5, 0), Math.max(rect.height - 4, 0));
  }
  context.strokeStyle = colour;
  context.lineWidth = halo === null ? 1 : 2;
  const inset = context.lineWidth / 2;
  context.strokeRect(rect.x + inset, rect.y + inset, Math.max(rect.width - 1 - 2 * inset, 1), Math.max(rect.height - 2 * inset, 1));
}

function drawBand(context: DrawContext, scene: OverlayScene, interval: Span): void {
  const x0 = scene.scale.toPx(interval.begin);
  const x1 = scene.scale.toPx(interval.end);
  context.fillStyle = scene.palette.accent;
  context.globalAlpha = 0.1;
  context.fillRect(x0, 0, Math.max(x1 - x0, 1), scene.height);
  context.globalAlpha = 1;
  context.fillRect(Math.round(x0), 0, 1, scene.height);
  context.fillRect(Math.round(x1), 0, 1, scene.height);
}

function drawRubberBand(context: DrawContext, band: RubberBand, palette: Palette): void {
  const x = Math.min(band.x0, band.x1);
  const y = Math.min(band.y0, band.y1);
  const width = Math.abs(band.x1 - band.x0);
  const height = Math.abs(band.y1 - band.y0);
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.15;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width, height);
}

/** Draws curves from the end of one event to the begin of the next, with a dot at the target. */
function drawFlows(context: DrawContext, scene: OverlayScene): void {
  if (scene.flows.length === 0) return;
  context.lineWidth = 1.5;
  context.strokeStyle = scene.palette.accent;
  context.fillStyle = scene.palette.accent;
  for (const { x0, y0, x1, y1 } of scene.flows) {
    const bend = Math.max(Math.abs(x1 - x0) / 2, 20);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    context.beginPath();
    context.arc(x1, y1, 3, 0, 2 * Math.PI);
    context.fill();
  }
}

/** The length of the marked interval; null where none of it is on the screen. */
function intervalTag({ palette, scale }: OverlayScene, interval: Span): Tag | null {
  const x0 = Math.max(scale.toPx(interval.begin), 0);
  const x1 = Math.min(scale.toPx(interval.end), scale.width);
  if (x1 < 0 || x0 > scale.width) return null;
  return { label: formatTime(interval.end - interval.begin), x: (x0 + x1) / 2, colour: palette.accent };
}

/** Draws the marked interval on the axis. */
function drawIntervalEnds(context: DrawContext, { palette, scale }: OverlayScene, interval: Span): void {
  const x0 = Math.max(scale.toPx(interval.begin), 0);
  const x1 = Math.min(scale.toPx(interval.end), scale.width);
  if (x1 < 0 || x0 > scale.width) return;
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.25;
  context.fillRect(x0, 0, Math.max(x1 - x0, 1), AXIS_HEIGHT);
  context.globalAlpha = 1;
  for (const x of [x0, x1]) context.fillRect(x - 1.5, 0, 3, AXIS_HEIGHT);
}

function markerTag({ palette, scale }: OverlayScene, { at, label }: Marker): Tag | null {
  const x = scale.toPx(at);
  return x < 0 || x > scale.width ? null : { label, x, colour: palette.warn };
}

/** Draws a line over all tracks at the moment of a link. */
function drawMarker(context: DrawContext, scene: OverlayScene, marker: Marker): void {
  const x = scene.scale.toPx(marker.at);
  if (x < 0 || x > scene.scale.width) return;
  context.fillStyle = scene.palette.warn;
  context.fillRect(Math.round(x) - 1, 0, 2, scene.height + scene.rulerHeight);
}

function cursorTag({ palette, scale }: OverlayScene, x: CssPx): Tag {
  return { label: instant(scale.toTime(x), scale.psPerPx), x, colour: palette.dim };
}

function drawCursor(context: DrawContext, scene: OverlayScene, x: CssPx): void {
  context.fillStyle = scene.palette.dim;
  context.globalAlpha = 0.7;
  context.fillRect(Math.round(x), 0, 1, scene.height + scene.rulerHeight);
  context.globalAlpha = 1;
}
