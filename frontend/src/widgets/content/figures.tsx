// A list of metrics: name with (i), value, and whether higher or lower is better. Missing values give a reason.
import { MISSING } from "../../base/format";
import type { ComponentChildren } from "preact";
import { Info } from "./info";
import "./figures.css";

export interface Figure {
  name: string;
  /** Null: unknown, for the given `reason`. */
  value: string | null;
  /** The unrounded value, for the tip. */
  exact?: string;
  /** Secondary text below: deviation, range. */
  detail?: string;
  /** Shown as an arrow with a text alternative. */
  better?: "higher" | "lower";
  help?: string;
  reason?: string;
  /** Indented below the previous one. */
  part?: boolean;
  action?: ComponentChildren;
}

export function Figures({ items }: { items: readonly Figure[] }) {
  const some = (way: Figure["better"]): boolean => items.some(({ better }) => better === way);
  return (
    <>
      <dl class="figures">
        {items.map(({ name, value, exact, detail, better, help, reason, part, action }) => (
          <div key={name} class={part ? "figure part" : "figure"}>
            <dt>
              <span>{name}</span>
              {help ? <Info text={help} label={name} /> : null}
              {better ? (
                <span
                  class="figure-better"
                  role="img"
                  aria-label={`${better} is better`}
                  data-tip={`${better === "higher" ? "Higher" : "Lower"} is better`}
                >
                  {better === "higher" ? "↑" : "↓"}
                </span>
              ) : null}
            </dt>
            <dd
              class={value === null ? "missing number" : "number"}
              data-tip={value === null ? (reason ?? "No value in the profile.") : exact}
              tabIndex={value === null ? 0 : undefined}
            >
              {value ?? MISSING}
            </dd>
            {detail || action ? (
              <dd class="figure-note">
                {detail}
                {action}
              </dd>
            ) : null}
          </div>
        ))}
      </dl>
      {some("higher") || some("lower") ? (
        <p class="figure-key">
          {[some("higher") ? "↑ higher is better" : "", some("lower") ? "↓ lower is better" : ""].filter(Boolean).join(", ")}
        </p>
      ) : null}
    </>
  );
}
