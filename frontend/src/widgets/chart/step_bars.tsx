// Steps by their parts, one bar each, on one scale.
import { formatPercent, formatTime } from "../../base/format";
import type { StepBar } from "../../base/steps/step_bars";
import { swatchStyle } from "./style";
import { useTheme } from "./use_theme";
import "./step_bars.css";

/** Narrower parts have no number inside, in fractions of the width. */
const MIN_INSIDE = 0.12;
const hasTime = ({ ps }: { ps: number }): boolean => ps > 0;

/** `of`: what the bars are, such as "step"; `label`: of all of them. */
export function StepBars({ bars, of, label }: { bars: readonly StepBar[]; of: string; label: string }) {
  const theme = useTheme();
  const legend = bars[0]?.parts ?? [];
  return (
    <figure class="step-bars" aria-label={label}>
      {bars.map(({ name, totalPs, parts }) => (
        <div key={name} class="step-bars-one">
          <b>{name}</b>
          <span
            class="step-bars-stack"
            role="img"
            aria-label={`${name}: ${parts
              .filter(hasTime)
              .map((part) => `${part.name} ${formatTime(part.ps)}`)
              .join(", ")}`}
          >
            {parts.filter(hasTime).map((part) => (
              <span
                key={part.id}
                style={{ width: `${part.length * 100}%`, ...swatchStyle(part.look.colour, theme, part.look.striped ?? false) }}
                data-tip={`${part.name}: ${formatTime(part.ps)} (${formatPercent((100 * part.ps) / totalPs)} of the ${of})${part.within}`}
              >
                {part.length >= MIN_INSIDE ? <b>{formatTime(part.ps)}</b> : null}
              </span>
            ))}
          </span>
          <span class="number">{formatTime(totalPs)}</span>
        </div>
      ))}
      <ul class="legend">
        {legend.map(({ id, name, help, look }) => (
          <li key={id} tabIndex={0} data-tip={help}>
            <i class="swatch" style={swatchStyle(look.colour, theme, look.striped ?? false)} />
            <span>{name}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
