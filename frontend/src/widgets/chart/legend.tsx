// The series in drawing order; a click hides a series or shows it again.
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
  if (spec.kind !== "stack" && spec.kind !== "steps" && spec.kind !== "scatter") return null;
  const series: readonly (Series | StepsSeries | ScatterSeries)[] = spec.series;
  return (
    <ul class="chart-legend">
      {series.map((one) => (
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
    </ul>
  );
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
