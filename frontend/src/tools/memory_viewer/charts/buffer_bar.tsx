// A bar of the buffers at the peak; hovering over a buffer highlights it in all charts of the page.
import { useRef, useState } from "preact/hooks";
import { lastAtMost } from "../../../base/chart/search";
import { textOn } from "../../../base/colour";
import { formatBytes, formatPercent } from "../../../base/format";
import { keyName, moveIndex } from "../../../base/keys";
import { useTheme } from "../../../widgets/chart/use_theme";
import { useWidth } from "../../../widgets/content/use_width";
import { bufferColour, edges, ordered, weight } from "../model";
import type { Buffer, Order } from "../model";
import { useMemo } from "preact/hooks";

const HEIGHT = 26;
const CHAR_PX = 6.6;
/** Narrower segments are not drawn separately. */
const MIN_PX = 0.3;

export interface Choosing {
  chosen: Buffer | null;
  /** Matches of the search; null without a search. */
  found: ReadonlySet<number> | null;
  onPoint: (buffer: Buffer | null) => void;
  onPick: (buffer: Buffer) => void;
}

interface Props extends Choosing {
  buffers: readonly Buffer[];
  order: Order;
  title: string;
}

export function BufferBar({ buffers, order, title, chosen, found, onPoint, onPick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const theme = useTheme();
  const list = useMemo(() => ordered(buffers, order), [buffers, order]);
  const boundaries = useMemo(() => edges(list, order), [list, order]);
  const [focused, setFocused] = useState(false);
  if (list.length === 0) return null;
  const place = chosen ? list.indexOf(chosen) : -1;
  const hit = (event: PointerEvent | MouseEvent): Buffer | null => {
    const rect = box.current?.getBoundingClientRect();
    return rect && rect.width > 0
      ? (list[Math.min(list.length - 1, lastAtMost(boundaries, (event.clientX - rect.left) / rect.width))] ?? null)
      : null;
  };
  const onKey = (event: KeyboardEvent): void => {
    const sides: Record<string, string> = { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp" };
    const next = moveIndex(sides[keyName(event)] ?? keyName(event), place, list.length);
    const buffer = next === null ? null : list[next];
    if (buffer) onPoint(buffer);
    else if (event.key === "Enter" && chosen) onPick(chosen);
    else return;
    event.preventDefault();
  };
  const option = `${order}-buffer-${place}`; // a different id for each buffer, so that screen readers announce it
  return (
    <div class="buffer-bar">
      <h3>{title}</h3>
      <div
        ref={box}
        class="buffer-segments"
        tabIndex={0}
        role="listbox"
        aria-label={`${title}: ${list.length} buffers. Arrow keys select one, Enter pins it.`}
        aria-activedescendant={focused && chosen ? option : undefined}
        onPointerMove={(event) => onPoint(hit(event))}
        onPointerLeave={() => onPoint(null)}
        onClick={(event) => {
          const buffer = hit(event);
          if (buffer) onPick(buffer);
        }}
        onKeyDown={onKey}
        onFocus={() => setFocused(true)}
        onBlur={() => {
          setFocused(false);
          onPoint(null);
        }}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true">
          {list.map((buffer, i) => {
            const x = (boundaries[i] ?? 0) * width;
            const wide = (boundaries[i + 1] ?? 0) * width - x;
            if (wide < MIN_PX) return null;
            const fill = bufferColour(buffer, theme);
            const chars = Math.floor((wide - 8) / CHAR_PX);
            const name = buffer.buffer_id === null ? "small" : buffer.name;
            return (
              <g key={buffer.index} class={found && !found.has(buffer.index) ? "faded" : undefined}>
                <rect x={x} width={Math.max(0.5, wide - 1)} height={HEIGHT} fill={fill} />
                {chars >= 3 ? (
                  <text x={x + 4} y={17} fill={textOn(fill)}>
                    {name.length > chars ? `${name.slice(0, chars - 1)}…` : name}
                  </text>
                ) : null}
              </g>
            );
          })}
          {place >= 0 ? (
            <rect
              class="segment-mark"
              x={(boundaries[place] ?? 0) * width + 1}
              width={Math.max(2, ((boundaries[place + 1] ?? 0) - (boundaries[place] ?? 0)) * width - 2)}
              y={1}
              height={HEIGHT - 2}
            />
          ) : null}
        </svg>
        {focused && chosen ? (
          <span id={option} role="option" aria-selected="true" class="off-screen">
            {`${chosen.name}, ${formatBytes(weight(chosen, order))}, ${formatPercent(100 * ((boundaries[place + 1] ?? 0) - (boundaries[place] ?? 0)))}`}
          </span>
        ) : null}
      </div>
    </div>
  );
}
