// A drawing that may be larger than its box: zoom and pan by mouse, wheel and keys, and the whole as an SVG file.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { keyName } from "../../base/keys";
import { download } from "../content/download";
import { drag } from "./drag";
import { standalone } from "./standalone";
import { EVERYTHING, useViewport } from "./viewport";
import type { Viewport } from "./viewport";
import { LARGEST, SMALLEST, useZoom } from "./zoom";
import type { Drawing } from "./zoom";
import "./graph_view.css";

const STEP = 1.25;
const PAN_PX = 60;

/** Which way a key with Shift moves the drawing. */
const PANS: Readonly<Record<string, readonly [number, number]>> = {
  "Shift+ArrowLeft": [-PAN_PX, 0],
  "Shift+ArrowRight": [PAN_PX, 0],
  "Shift+ArrowUp": [0, -PAN_PX],
  "Shift+ArrowDown": [0, PAN_PX],
};

/** What is to be drawn. */
export interface Shown {
  viewport: Viewport;
  scale: number;
  /** Everything is drawn in full, for a file. */
  saving: boolean;
}

interface Props {
  drawing: Drawing;
  label: string;
  fileName: string;
  role?: "group" | "tree";
  /** Id of the selected element. */
  active?: string | undefined;
  /** Beside the buttons. */
  hint?: string;
  /** Keys of the page, by name; true when one was used. */
  onKey?: (key: string) => boolean;
  children: (shown: Shown) => ComponentChildren;
}

export function GraphView({ drawing, label, fileName, role = "group", active, hint = "", onKey = () => false, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const { scale, zoom, fit } = useZoom(box, drawing);
  const viewport = useViewport(box, scale);
  const [saving, setSaving] = useState(false);
  useEffect(() => {
    if (!saving || !svg.current) return;
    download(`${fileName}.svg`, standalone(svg.current), "image/svg+xml");
    setSaving(false);
  }, [saving]);
  const keyed = (event: KeyboardEvent): void => {
    if (event.target !== box.current) return;
    const key = keyName(event);
    const pan = PANS[key];
    if (onKey(key)) {
      // The page has used it.
    } else if (pan) box.current?.scrollBy(...pan);
    else if (key === "+" || key === "=") zoom(STEP);
    else if (key === "-") zoom(1 / STEP);
    else if (key === "0") fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const { width, height } = drawing;
  return (
    <div class="graph-view">
      <div class="graph-view-tools">
        <span class="dim">{hint}</span>
        <button type="button" class="button ghost icon" aria-label="Zoom out" disabled={scale <= SMALLEST} onClick={() => zoom(1 / STEP)}>
          −
        </button>
        <span class="dim number">{Math.round(scale * 100)}%</span>
        <button type="button" class="button ghost icon" aria-label="Zoom in" disabled={scale >= LARGEST} onClick={() => zoom(STEP)}>
          +
        </button>
        <button type="button" class="button ghost" onClick={fit}>
          Fit
        </button>
        <button type="button" class="button ghost" data-tip="Save the graph as SVG" onClick={() => setSaving(true)}>
          SVG
        </button>
      </div>
      <div
        ref={box}
        class="graph-view-box"
        tabIndex={0}
        role={role}
        aria-label={label}
        aria-activedescendant={active}
        onKeyDown={keyed}
        onPointerDown={(event) => drag(box.current, event)}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? STEP : 1 / STEP, event);
        }}
      >
        <svg
          ref={svg}
          class="graph-view-svg"
          role={role === "tree" ? "none" : undefined}
          width={width * scale}
          height={height * scale}
          viewBox={`0 0 ${width} ${height}`}
        >
          {children({ viewport: saving ? EVERYTHING : viewport, scale, saving })}
        </svg>
      </div>
    </div>
  );
}
