// Minimap: the busy share of the whole trace over time, shaded where devices work, with the visible window framed. Dragging moves the window.
import { TimeScale } from "../../base/time_scale";
import { sizeCanvas } from "../draw/canvas";
import type { Palette } from "../draw/palette";
import { isDevice, sectionEvents } from "../data/trace";
import type { Trace } from "../data/trace";
import type { CssPx, Ps, Span } from "../data/units";
import { busyBins, workBins } from "../data/work";
import { wholeWindow } from "../layout/window";

const MINIMAP_HEIGHT: CssPx = 36;
const BINS = 512;
/** As many sections have a band of their own. */
const MAX_BANDS = 8;
/** Opacity of the shade: that of the shortest work, and what full work adds. */
const LEAST_SHADE = 0.12;
const SHADE = 0.2;

/** A section in the minimap. */
interface Band {
  readonly device: boolean;
  readonly shares: Float32Array;
}

/** What the minimap shows: bands of the sections with events, and the share of each bin in which a device works. */
export interface Overview {
  readonly bands: readonly Band[];
  readonly work: Float32Array;
}

/** The bands of as many sections as fit; the last place goes to the last section, the host. */
export function overviewOf(trace: Trace, bins: number = BINS): Overview {
  const shares = busyBins(trace, bins);
  const all = trace.sections.flatMap((section, i): Band[] =>
    sectionEvents(trace, section) > 0 ? [{ device: isDevice(section), shares: shares[i]! }] : [],
  );
  const bands = all.length > MAX_BANDS ? [...all.slice(0, MAX_BANDS - 1), all[all.length - 1]!] : all;
  return { bands, work: workBins(trace, bins) };
}
/** Minimum width of the frame of the window. */
const MIN_FRAME: CssPx = 4;

export class Minimap {
  private overview: Overview | null = null;
  private full: Span | null = null;
  private palette: Palette | null = null;
  private ratio = 1;
  private picture: HTMLCanvasElement | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    /** The visible window. */
    private readonly visible: () => Span,
    private readonly move: (span: Span) => void,
  ) {
    canvas.setAttribute("aria-hidden", "true");
    this.bindPointer();
  }

  /** Uses the first trace that covers the whole range. */
  offer(trace: Trace): void {
    const { begin, end } = trace.full;
    this.full = trace.full;
    if (this.overview !== null || trace.window.begin > begin || trace.window.end < end) return;
    this.overview = overviewOf(trace);
    this.picture = null;
  }

  setPalette(palette: Palette, ratio: number): void {
    this.palette = palette;
    this.ratio = ratio;
    this.picture = null;
  }

  /** Draws the minimap, `width` wide, with the visible window framed. */
  draw(window: Span, width: CssPx): void {
    const { palette, full, ratio } = this;
    const context = this.canvas.getContext("2d");
    if (!palette || !full || width === 0 || context === null) return;
    sizeCanvas(this.canvas, width, MINIMAP_HEIGHT, ratio);
    if (this.picture?.width !== this.canvas.width) this.picture = this.paint(palette);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.picture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [x0, x1] = this.frame(window, width);
    context.fillStyle = palette.background;
    context.globalAlpha = 0.65;
    context.fillRect(0, 0, x0, MINIMAP_HEIGHT);
    context.fillRect(x1, 0, width - x1, MINIMAP_HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    context.strokeRect(x0 + 0.75, 0.75, x1 - x0 - 1.5, MINIMAP_HEIGHT - 1.5);
  }

  private frame(window: Span, width: CssPx): readonly [CssPx, CssPx] {
    const scale = wholeWindow(this.full!, width);
    const x0 = Math.max(0, scale.toPx(window.begin));
    const x1 = Math.min(width, scale.toPx(window.end));
    const middle = (x0 + x1) / 2;
    const half = Math.max((x1 - x0) / 2, MIN_FRAME / 2);
    return [middle - half, middle + half];
  }

  private paint(palette: Palette): HTMLCanvasElement {
    const picture = document.createElement("canvas");
    picture.width = this.canvas.width;
    picture.height = this.canvas.height;
    if (this.overview) drawOverview(picture.getContext("2d")!, this.overview, palette, picture.width, picture.height);
    return picture;
  }

  private bindPointer(): void {
    let last: Span | null = null;
    const jump = (event: PointerEvent): void => {
      if (!this.full || !last) return;
      const box = this.canvas.getBoundingClientRect();
      const clickedPs: Ps = new TimeScale(this.full.begin, this.full.end, box.width).toTime(event.clientX - box.left);
      const half = (last.end - last.begin) / 2;
      this.move({ begin: clickedPs - half, end: clickedPs + half });
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      last = this.visible();
      this.canvas.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) jump(event);
    });
  }
}

/** Draws the shade over the whole height, and on it one band per section: devices in colour, the host in grey. */
export function drawOverview(
  context: Pick<CanvasRenderingContext2D, "fillStyle" | "globalAlpha" | "fillRect">,
  { bands, work }: Overview,
  palette: Palette,
  width: number,
  height: number,
): void {
  context.fillStyle = palette.sunken;
  context.fillRect(0, 0, width, height);
  const step = width / work.length;
  const column = (bin: number, y: number, tall: number): void => context.fillRect(Math.floor(bin * step), y, Math.ceil(step), tall);
  context.fillStyle = palette.accent;
  work.forEach((share, bin) => {
    if (share <= 0) return;
    context.globalAlpha = LEAST_SHADE + SHADE * share;
    column(bin, 0, height);
  });
  const band = height / Math.max(bands.length, 1);
  context.globalAlpha = 0.75;
  bands.forEach(({ device, shares }, i) => {
    context.fillStyle = device ? palette.accent : palette.dim;
    shares.forEach((share, bin) => {
      if (share <= 0) return;
      const tall = Math.max(1, share * (band - 1));
      column(bin, Math.round((i + 1) * band - tall), Math.round(tall));
    });
  });
  context.globalAlpha = 1;
}
