// Differences as bars to both sides of a line, and the average steps of both runs on one scale.
import { formatPercent, formatTime } from "../../base/format";
import { swatchStyle } from "../../widgets/chart/style";
import { useTheme } from "../../widgets/chart/use_theme";
import { kindOf, linkOf, signedTime } from "./model";
import type { Bar, Change, StepBar } from "./model";

interface BarsProps {
  bars: readonly Bar[];
  onOpen: (change: Change) => void;
}

/** One line per change: name, kind, bar and time; a click opens what shows it. */
export function ChangeBars({ bars, onOpen }: BarsProps) {
  return (
    <ol class="compare-bars" aria-label="Largest contributions">
      {bars.map(({ change, length, tip }) => {
        const slower = change.deltaPs > 0;
        const link = linkOf(change);
        return (
          <li key={`${change.what} ${change.kind}`} class={change.certain ? "" : "uncertain"}>
            {link ? (
              <button
                type="button"
                class="compare-name link"
                data-tip={`${tip}\nClick: ${link.tool === "hlo_stats" ? "its ops in HLO stats" : "the time budget"}`}
                onClick={() => onOpen(change)}
              >
                {change.what}
              </button>
            ) : (
              <span class="compare-name" tabIndex={0} data-tip={tip}>
                {change.what}
              </span>
            )}
            <span class="compare-kind" tabIndex={0} data-tip={kindOf(change.kind, change.where).help}>
              {kindOf(change.kind, change.where).name}
            </span>
            <span class="compare-axis" aria-hidden="true">
              <i
                class={slower ? "slower" : "faster"}
                style={{ [slower ? "left" : "right"]: "50%", width: `${Math.max(0.5, Math.abs(length) * 50)}%` }}
              />
            </span>
            <span class="number compare-time">{signedTime(change.deltaPs)}</span>
            <span class="dim compare-noise">{change.certain ? "" : "within noise"}</span>
          </li>
        );
      })}
    </ol>
  );
}

/** Narrower parts have no number inside, in fractions of the width. */
const MIN_INSIDE = 0.07;

export function StepBars({ bars }: { bars: readonly StepBar[] }) {
  const theme = useTheme();
  const ids = [...new Map(bars.flatMap(({ parts }) => parts.map((part) => [part.id, part] as const))).values()];
  return (
    <figure class="compare-steps" aria-label="The average step of both runs by part">
      {bars.map(({ name, totalPs, parts }) => (
        <div key={name} class="compare-step">
          <b>{name}</b>
          <span
            class="compare-stack"
            role="img"
            aria-label={`${name}: ${parts.map((part) => `${part.name} ${formatTime(part.ps)}`).join(", ")}`}
          >
            {parts.map((part) => (
              <span
                key={part.id}
                style={{ width: `${part.length * 100}%`, ...swatchStyle(part.colour, theme, part.striped) }}
                data-tip={`${part.name}: ${formatTime(part.ps)} (${formatPercent((100 * part.ps) / totalPs)} of the step)`}
              >
                {part.length >= MIN_INSIDE ? <b>{formatTime(part.ps)}</b> : null}
              </span>
            ))}
          </span>
          <span class="number">{formatTime(totalPs)}</span>
        </div>
      ))}
      <ul class="legend">
        {ids.map(({ id, name, help, colour, striped }) => (
          <li key={id} tabIndex={0} data-tip={help}>
            <i class="swatch" style={swatchStyle(colour, theme, striped)} />
            <span>{name}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
