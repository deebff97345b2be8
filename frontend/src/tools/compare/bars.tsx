// Differences as bars to both sides of a line, and the average steps of both runs on one scale.
import { formatPercent, formatTime } from "../../base/format";
import { swatchStyle } from "../../widgets/chart/style";
import { Link } from "../../widgets/content/link";
import type { Patch } from "../../widgets/content/link";
import { useTheme } from "../../widgets/chart/use_theme";
import { kindOf, signedTime } from "./model";
import type { Bar, Change, StepBar, Target } from "./model";

interface BarsProps {
  bars: readonly Bar[];
  targetOf: (change: Change) => Target | null;
  /** The keys of the address that lead to a target. */
  keysOf: (target: Target) => Patch;
  onOpen: (target: Target) => void;
}

const placeOf = (target: Target): string => ("part" in target ? "this part in the time budget" : `its row in the table of ${target.table}`);

/** One line per change: name, kind, bar and time; a click opens the place where the same time stands. */
export function ChangeBars({ bars, targetOf, keysOf, onOpen }: BarsProps) {
  return (
    <ol class="compare-bars" aria-label="Largest contributions">
      {bars.map(({ change, length, tip }) => {
        const slower = change.deltaPs > 0;
        const target = targetOf(change);
        return (
          <li key={`${change.what} ${change.kind}`} class={change.certain ? "" : "uncertain"}>
            {target ? (
              <Link
                class="compare-name link"
                to={keysOf(target)}
                replace={!("part" in target)}
                data-tip={`${tip}\nClick: ${placeOf(target)}`}
                onFollow={() => onOpen(target)}
              >
                {change.what}
              </Link>
            ) : (
              <span class="compare-name" tabIndex={0} data-tip={tip}>
                {change.what}
              </span>
            )}
            <span class="compare-kind" tabIndex={0} data-tip={kindOf(change.kind, change.part).help}>
              {kindOf(change.kind, change.part).name}
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
