// The series in drawing order; a click hides a series or shows it again.
import { useState } from "preact/hooks";
import type { ChartSpec, ScatterSeries, Series, StepsSeries } from "../../base/chart/chart_spec";
import { formatCount } from "../../base/format";
import { SHAPES } from "./options/scatter";
import { fill, swatchStyle } from "./style";
import { useTheme } from "./use_theme";

interface Props {
  spec: ChartSpec;
  hidden: ReadonlySet<string>;
  onToggle: (name: string) => void;
}

export function Legend({ spec, hidden, onToggle }: Props) {
  const [all, showAll] = useState(false);
  if (spec.kind !== "stack" && spec.kind !== "steps" && spec.kind !== "scatter") return null;
  const series: readonly (Series | StepsSeries | ScatterSeries)[] = spec.series;
  const small = all || spec.kind !== "stack" ? [] : smallSeries(spec.series);
  return (
    <ul class="chart-legend">
      {series
        .filter(({ name }) => !small.includes(name))
        .map((one) => (
          <li key={one.name}>
            <button
              type="button"
              aria-pressed={!hidden.has(one.name)}
              data-tip={hidden.has(one.name) ? "Show it" : "Hide it"}
              onClick={() => onToggle(one.name)}
            >
              <Key series={one} />
              {one.name}
              {"points" in one ? <span class="dim number">{formatCount(one.points.length)}</span> : null}
            </button>
          </li>
        ))}
      {small.length ? (
        <li>
          <button type="button" class="dim" data-tip={small.join("\n")} onClick={() => showAll(true)}>
            {small.length} below 1%
          </button>
        </li>
      ) : null}
    </ul>
  );
}

/** Less of the sum of all series is little. */
const SMALL = 0.01;

/** Names of the series that are hardly seen, if there are several. */
function smallSeries(series: readonly Series[]): string[] {
  const sums = series.map(({ values }) => values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0));
  const total = sums.reduce((sum, value) => sum + value, 0);
  const small = series.filter((_, i) => (sums[i] ?? 0) < SMALL * total).map(({ name }) => name);
  return small.length > 1 ? small : [];
}

/** The mark of a series: a point, a line or a filled square. */
function Key({ series }: { series: Series | StepsSeries | ScatterSeries }) {
  const theme = useTheme();
  const colour = fill(series.colour, theme);
  if ("shape" in series)
    return (
      <svg width="12" height="12" viewBox="-1.2 -1.2 2.4 2.4" aria-hidden="true">
        <path d={SHAPES[series.shape]} fill={colour} />
      </svg>
    );
  if ("draw" in series && series.draw === "line")
    return (
      <svg width="22" height="10" aria-hidden="true">
        <line x1="0" x2="22" y1="5" y2="5" stroke={colour} stroke-width="2" stroke-dasharray={series.dashed ? "5 3" : undefined} />
      </svg>
    );
  return <i class="swatch" style={swatchStyle(series.colour, theme, series.striped)} />;
}
