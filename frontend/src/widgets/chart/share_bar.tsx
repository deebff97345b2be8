// One bar divided into parts, with names and numbers below it.
import type { Colour } from "../../base/chart/chart_spec";
import { formatPercent } from "../../base/format";
import { swatchStyle } from "./style";
import { useTheme } from "./use_theme";
import "./share_bar.css";

export interface SharePart {
  name: string;
  /** 0 to 1. */
  share: number;
  /** The amount with its unit. */
  text: string;
  colour: Colour;
  striped?: boolean;
  help?: string;
}

/** Narrower parts have no number inside. */
const MIN_INSIDE = 0.07;
/** Longer names may be cut. */
const LONG = 36;

export function ShareBar({ parts, label }: { parts: readonly SharePart[]; label: string }) {
  const theme = useTheme();
  return (
    <figure class="shares" aria-label={label}>
      <div class="shares-bar" aria-hidden="true">
        {parts.map(({ name, share, text, colour, striped }) => (
          <span
            key={name}
            class="shares-part"
            data-tip={`${name}: ${text} (${formatPercent(share * 100)})`}
            style={{ width: `${share * 100}%`, ...swatchStyle(colour, theme, striped) }}
          >
            {share >= MIN_INSIDE ? <b>{Math.round(share * 100)}%</b> : null}
          </span>
        ))}
      </div>
      <ul class="shares-list">
        {parts.map(({ name, share, text, colour, striped, help }) => (
          <li key={name} tabIndex={help ? 0 : undefined} data-tip={help ?? (name.length > LONG ? name : undefined)}>
            <i class="swatch" style={swatchStyle(colour, theme, striped)} />
            <span>{name}</span>
            <span class="number">{formatPercent(share * 100)}</span>
            <span class="number dim">{text}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
