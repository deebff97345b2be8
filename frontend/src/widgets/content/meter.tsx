// A utilisation as a small coloured bar with the number beside it.
import { utilisationColour } from "../../base/colour";
import { MISSING, formatDoubtful, formatExact, formatPercent } from "../../base/format";
import "./meter.css";

interface Props {
  /** 0 to 1; null where there is none. */
  value: number | null;
  /** Why the value is missing. */
  reason?: string | undefined;
  /** Coloured from low (red) to high (green); otherwise, if high is neither good nor bad, in the accent colour. */
  scaled?: boolean;
  /** Why the value cannot be true; then it has no bar. */
  doubt?: string | null;
}

/** The colour uses the square root, because most utilisations are small. Its end is visible at 0 %, too. */
export function Meter({ value, reason, scaled = false, doubt = null }: Props) {
  if (value !== null && doubt !== null)
    return (
      <span class="meter doubtful" data-tip={`${doubt}\n${formatExact(value, "fraction")}`}>
        {formatDoubtful(value * 100)}
      </span>
    );
  if (value === null)
    return (
      <span class="meter dim" data-tip={reason ?? "No value in the profile."}>
        {MISSING}
      </span>
    );
  const fill = scaled ? utilisationColour(Math.sqrt(Math.max(0, value))) : "var(--accent)";
  return (
    <span class="meter" data-tip={formatExact(value, "fraction")}>
      <span class="meter-bar" aria-hidden="true">
        <i style={{ width: `${Math.min(1, Math.max(0, value)) * 100}%`, minWidth: scaled ? "4px" : undefined, background: fill }} />
      </span>
      {formatPercent(value * 100)}
    </span>
  );
}
