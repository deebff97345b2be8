// The average steps of both runs on one scale.
import { formatPercent, formatTime } from "../../base/format";
import { swatchStyle } from "../../widgets/chart/style";
import { useTheme } from "../../widgets/chart/use_theme";
import type { StepBar } from "./model";

/** Narrower parts have no number inside, in fractions of the width. */
const MIN_INSIDE = 0.12;
const hasTime = ({ ps }: { ps: number }): boolean => ps > 0;

/** `of`: what the bars are, such as "step". */
export function StepBars({ bars, of }: { bars: readonly StepBar[]; of: string }) {
  const theme = useTheme();
  const legend = bars[0]?.parts ?? [];
  return (
    <figure class="compare-steps" aria-label={`The average ${of} of both runs by category`}>
      {bars.map(({ name, totalPs, parts }) => (
        <div key={name} class="compare-step">
          <b>{name}</b>
          <span
            class="compare-stack"
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
