// What the overview shows of the findings: the server's headline over the facts of the page, and texts of the panel. Pure.
import { BUDGET_CATEGORIES, CATEGORIES } from "../../../base/steps/step_category";
import { formatPercent, formatQuantity, formatTime } from "../../../base/format";
import type { CheckState, Evidence, Finding, Findings, Silence } from "../../../api/payload/findings";
import type { SharePart } from "../../../widgets/chart/share_bar";
import type { Headline } from "../summary/headline";

const STEP = "step";

function shareParts({ parts, stepPs }: Findings): SharePart[] {
  return parts.map(({ category, name, help, share }) => {
    const { colour, striped } = CATEGORIES[BUDGET_CATEGORIES[category] ?? "other"];
    return {
      name,
      share,
      text: formatTime(share * stepPs),
      colour,
      striped: striped ?? false,
      help: `${help}\nMean over steps and devices.\nSource: trace.`,
    };
  });
}

/** The headline of the server and its time budget as the bar, over the facts of the page. */
export function withFindings(facts: Headline, found: Findings): Headline {
  const { tone, title } = found.headline;
  const steps = found.base === STEP;
  const bar = found.parts.length
    ? {
        parts: shareParts(found),
        barLabel:
          `Time budget of the ${steps ? "average step" : found.base}: ${formatTime(found.stepPs)}, ` +
          `mean over ${steps ? "steps and " : ""}devices`,
      }
    : { parts: facts.parts, barLabel: facts.barLabel };
  // A verdict of the page gives way to that of the server; a fact, or a verdict where the server has none, follows it.
  const replaced = facts.judges && tone !== "none";
  return { tone, title, ...bar, judges: true, sentences: replaced ? facts.sentences : [`${facts.title}.`, ...facts.sentences] };
}

/** Until the findings arrive: the facts without a verdict. */
export function whileLooking(facts: Headline): Headline {
  return facts.judges ? { ...facts, tone: "none", title: "Looking for what limits the program" } : facts;
}

/** Texts beside the bar of a finding: its share, and what a step could gain; null for a finding that is not about time. */
export function gainOf({ share, savingPs }: Finding, base: string): { share: string; saving: string } | null {
  return savingPs > 0
    ? {
        share: `${formatPercent(100 * share)} of the ${base}`,
        saving: `up to ${formatTime(savingPs)} ${base === STEP ? "per step" : `of the ${base}`}`,
      }
    : null;
}

/** The value of evidence with its unit; Python frames without their mark. */
export function evidenceText({ value, unit }: Pick<Evidence, "value" | "unit">): string {
  if (typeof value === "number") return formatQuantity(value, unit);
  return [value.replace(/^\$/, ""), unit].filter(Boolean).join(" ");
}

const COUNTED: Readonly<Record<CheckState, string>> = { passed: "clean", unknown: "not possible with this recording", failed: "failed" };

/** The rules without a finding, failed ones first, and their number by state: "15 checks clean, 7 not possible with this recording". */
export function checksOf(silent: readonly Silence[]): { text: string; checks: Silence[] } {
  const inState = (state: CheckState): Silence[] => silent.filter((one) => one.state === state);
  const counts = (["passed", "unknown", "failed"] as const).flatMap((state) => {
    const count = inState(state).length;
    return count > 0 ? [{ count, what: COUNTED[state] }] : [];
  });
  const text = counts.map(({ count, what }, i) => `${count}${i > 0 ? "" : count === 1 ? " check" : " checks"} ${what}`).join(", ");
  return { text, checks: [...inState("failed"), ...inState("passed"), ...inState("unknown")] };
}

/** The line above the list: why it is empty, or that no finding is the headline; "" otherwise. */
export function foundText({ headline, findings, silent }: Findings): string {
  const main = findings[0];
  if (main) return main.share > 0 && headline.finding === null ? "Each finding could save only a small part of the time." : "";
  return silent.some(({ state }) => state === "passed") ? "No finding." : "No finding: the recording lacks what the checks need.";
}
