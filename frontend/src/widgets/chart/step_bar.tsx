// The bar of step time: its categories as segments; a click selects one and shows its parts.
import { formatPercent, formatTime } from "../../base/format";
import { segmentWith } from "../../base/steps/decomposition";
import type { Segment } from "../../base/steps/decomposition";
import { swatchStyle } from "./style";
import { useTheme } from "./use_theme";
import "./share_bar.css";
import "./step_bar.css";

interface Props {
  segments: readonly Segment[];
  label: string;
  /** Id of a category or of a part. */
  selected: string | null;
  onSelect: (id: string | null) => void;
}

/** Narrower segments have no number inside. */
const MIN_INSIDE = 0.07;

/** One line stands for the segments below it, if there are several. */
const MIN_LISTED = 0.01;

const amount = ({ name, ps, share }: Segment): string => `${name}: ${formatTime(ps)} (${formatPercent(100 * share)})`;

const sum = (all: readonly Segment[], what: "share" | "ps"): number => all.reduce((total, one) => total + one[what], 0);

function tip(segment: Segment): string {
  const parts = segment.parts.length > 1 ? segment.parts.map((part) => `\n${amount(part)}`).join("") : "";
  return `${amount(segment)}${parts}\n${segment.help}`;
}

export function StepBar({ segments, label, selected, onSelect }: Props) {
  const theme = useTheme();
  const chosen = segmentWith(segments, selected);
  const small = segments.filter((segment) => segment.share < MIN_LISTED && segment !== chosen);
  const rest = small.length > 1 ? small : [];
  const listed = segments.filter((segment) => !rest.includes(segment));
  const toggle = (id: string): void => onSelect(chosen?.id === id ? null : id);
  return (
    <figure class="shares step-bar" aria-label={label}>
      <div class="shares-bar" aria-hidden="true">
        {segments.map((segment) => (
          <span
            key={segment.id}
            data-segment={segment.id}
            class={segment === chosen ? "shares-part chosen" : "shares-part"}
            data-tip={tip(segment)}
            style={{ width: `${segment.share * 100}%` }}
            onClick={() => toggle(segment.id)}
          >
            {(segment.parts.length ? segment.parts : [segment]).map((part) => (
              <i
                key={part.id}
                style={{ width: `${(100 * part.ps) / segment.ps}%`, ...swatchStyle(part.colour, theme, part.striped) }}
                class={part.id === selected ? "chosen" : undefined}
              />
            ))}
            {segment.share >= MIN_INSIDE ? <b>{Math.round(segment.share * 100)}%</b> : null}
          </span>
        ))}
      </div>
      <ul class="shares-list">
        {listed.map((segment) => (
          <li key={segment.id}>
            <button type="button" aria-pressed={segment === chosen} data-tip={segment.help} onClick={() => toggle(segment.id)}>
              <i class="swatch" style={swatchStyle(segment.colour, theme, segment.striped)} />
              <span>{segment.name}</span>
              <span class="number">{formatPercent(segment.share * 100)}</span>
              <span class="number dim">{formatTime(segment.ps)}</span>
            </button>
          </li>
        ))}
        {rest.length ? (
          <li class="shares-rest dim" tabIndex={0} data-tip={rest.map(amount).join("\n")}>
            <span>{rest.length} below 1%</span> <span class="number">{formatPercent(100 * sum(rest, "share"))}</span>{" "}
            <span class="number">{formatTime(sum(rest, "ps"))}</span>
          </li>
        ) : null}
      </ul>
      {chosen ? <Parts segment={chosen} selected={selected} /> : null}
    </figure>
  );
}

function Parts({ segment, selected }: { segment: Segment; selected: string | null }) {
  const theme = useTheme();
  const parts = segment.parts.length ? segment.parts : [segment];
  return (
    <dl class="step-parts" aria-label={`Parts of ${segment.name}`}>
      {parts.map((part) => (
        <div key={part.id} class={part.id === selected ? "chosen" : undefined}>
          <dt>
            <i class="swatch" style={swatchStyle(part.colour, theme, part.striped)} />
            {part.name}
          </dt>
          <dd class="number">{formatPercent(part.share * 100)}</dd>
          <dd class="number">{formatTime(part.ps)}</dd>
          <dd class="dim">{part.help}</dd>
        </div>
      ))}
    </dl>
  );
}
