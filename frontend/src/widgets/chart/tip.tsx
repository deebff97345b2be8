// The box beside the pointer of a chart.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Tip } from "../../base/chart/chart_spec";
import { swatchStyle } from "./style";
import { useTheme } from "./use_theme";
import "./tip.css";

const GAP = 14;

interface Props {
  tip: Tip;
  /** Position, and the size of the box that it must stay in. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** Last line: what a click does. */
  hint?: string | null;
}

/** Hidden from screen readers, because the owner announces the text in a live region. */
export function TipBox({ tip, x, y, width, height, hint = null }: Props) {
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => setSize({ width: box.current?.offsetWidth ?? 0, height: box.current?.offsetHeight ?? 0 }), [tip]);
  const left = x + GAP + size.width <= width ? x + GAP : Math.max(0, x - GAP - size.width);
  const top = Math.max(0, Math.min(y, height - size.height));
  return (
    <div ref={box} class="chart-tip" aria-hidden="true" style={{ left: `${left}px`, top: `${top}px` }}>
      <strong>{tip.title}</strong>
      <dl>
        {tip.lines.map(({ name, text, colour, striped }) => [
          <dt key={name}>
            {colour === null ? null : <i class="swatch" style={swatchStyle(colour, theme, striped)} />}
            {name}
          </dt>,
          <dd key={`${name} value`}>{text}</dd>,
        ])}
      </dl>
      {hint === null ? null : <p>{hint}</p>}
    </div>
  );
}
