// Owns the canvases, the palette and text measurement, and draws data and overlay.
import type { TimeScale } from "../../base/time_scale";
import { contextOf, hatchPattern, sizeCanvas } from "./canvas";
import { drawData, labelFont } from "./draw_data";
import { drawOverlay } from "./draw_overlay";
import type { OverlayScene } from "./draw_overlay";
import { drawRuler, TICK_GAP } from "./draw_ruler";
import type { BindingPath, PieceIndex } from "../data/binding_path";
import type { Layout, PlacedLane } from "../layout/layout";
import type { ScreenRect } from "../layout/event_rects";
import { COLOURS, SAME_NAME, NameColours, readPalette, themeOf, tokensOf } from "./palette";
import type { Palette } from "./palette";
import { Frame } from "./rows";
import { TextFit } from "./text_fit";
import { ticks } from "../data/ticks";
import type { Trace } from "../data/trace";
import type { CssPx } from "../data/units";

/** The canvases to draw on; CSS tokens are read from `root`. */
interface Canvases {
  readonly root: HTMLElement;
  readonly ruler: HTMLCanvasElement;
  readonly data: HTMLCanvasElement;
  readonly overlay: HTMLCanvasElement;
}

export class Painter {
  readonly frame = new Frame(COLOURS);
  ratio = 1;
  palette: Palette;
  private names: NameColours;
  private hatch: CanvasPattern | string = "";
  private text: TextFit;
  private readonly contexts: Readonly<Record<"ruler" | "data" | "overlay", CanvasRenderingContext2D>>;
  private colours: Uint8Array = new Uint8Array(0);

  constructor(private readonly elements: Canvases) {
    this.contexts = {
      ruler: contextOf(elements.ruler, false),
      data: contextOf(elements.data, false),
      overlay: contextOf(elements.overlay, true),
    };
    this.names = new NameColours("light");
    this.palette = readPalette(tokensOf(elements.root), this.names, "light");
    this.text = new TextFit((t) => this.contexts.data.measureText(t).width);
  }

  /** Reads the CSS tokens again after a change of the theme or the screen density. */
  readTheme(trace: Trace | null): void {
    this.ratio = globalThis.devicePixelRatio || 1;
    const tokens = tokensOf(this.elements.root);
    const theme = themeOf(tokens);
    this.names = new NameColours(theme);
    if (trace) this.colours = this.names.table(trace.strings);
    this.palette = readPalette(tokens, this.names, theme);
    this.hatch = hatchPattern(this.contexts.data, this.palette.hatch, this.ratio);
    this.contexts.data.font = labelFont(this.palette, this.ratio);
    this.text = new TextFit((t) => {
      this.contexts.data.font = labelFont(this.palette, this.ratio);
      return this.contexts.data.measureText(t).width;
    });
  }

  /** Assigns a colour to every string of a trace; `highlighted` is the name to highlight. */
  colour(trace: Trace, highlighted: string | null): void {
    const before = this.names.fills.length;
    this.colours = this.names.table(trace.strings);
    const index = highlighted === null ? -1 : trace.strings.indexOf(highlighted);
    if (index >= 0) this.colours[index] = SAME_NAME;
    if (this.names.fills.length !== before) {
      this.palette = readPalette(tokensOf(this.elements.root), this.names, this.palette.theme);
    }
  }

  /** Resizes the canvases to the stage; `top` is the height of the ruler. */
  resize(width: CssPx, height: CssPx, top: CssPx): void {
    const { ruler, data, overlay } = this.elements;
    sizeCanvas(ruler, width, top, this.ratio);
    sizeCanvas(data, width, Math.max(height - top, 1), this.ratio);
    sizeCanvas(overlay, width, height, this.ratio);
    data.style.top = `${top}px`;
  }

  /** Draws boxes and ruler. */
  drawData(
    trace: Trace,
    layout: Layout,
    placed: readonly PlacedLane[],
    scale: TimeScale,
    height: CssPx,
    hits: readonly ScreenRect[],
    path: BindingPath | null,
    piece: PieceIndex,
  ): void {
    const marks = ticks(scale, 0, TICK_GAP);
    const { ratio, palette, hatch, colours } = this;
    drawData(
      this.contexts.data,
      { trace, layout, placed, scale, height, ratio, palette, hatch, colours, grid: marks.times, hits },
      this.frame,
      this.text,
    );
    drawRuler(this.contexts.ruler, trace, scale, marks, ratio, palette, this.text, path && { path, piece, hatch });
  }

  /** Draws the overlay. */
  drawOverlay(scene: Omit<OverlayScene, "palette" | "ratio" | "measure" | "ticks">): void {
    const { ratio, palette } = this;
    const context = this.contexts.overlay;
    drawOverlay(context, {
      ...scene,
      palette,
      ratio,
      ticks: ticks(scene.scale, 0, TICK_GAP),
      measure: (t) => context.measureText(t).width,
    });
  }
}
