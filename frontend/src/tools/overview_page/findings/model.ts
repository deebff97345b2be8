// The headline of the overview from the findings: the first finding, "healthy", or the part of the step without a cause. Pure.
import { BUDGET_CATEGORIES, CATEGORIES } from "../../base/steps/step_category";
import { formatCount, formatPercent, formatQuantity, formatTime, plural } from "../../base/format";
import type { BudgetShare, Evidence, Finding, Findings } from "../../api/payload/findings";
import type { SharePart } from "../../widgets/chart/share_bar";
import type { Headline } from "./headline";

/** A finding that could save less of the step is no headline. */
export const CLEAR_SHARE = 0.1;
/** Share of the step from which on a headline is red. */
const BAD_SHARE = 0.2;
/** Smaller parts are left out of sentences. */
const NOTABLE_SHARE = 0.01;
const COMPUTE = "compute";
const STEP = "step";

/** What a part of the step is, after "... of the step is". */
const WORDS: Readonly<Record<string, string>> = {
  compute: "computation",
  exposed_communication: "communication that no computation hides",
  exposed_copy: "copies that no computation hides",
  idle_input: "idle, waiting for input",
  idle_compile: "idle, waiting for compilation",
  idle_host: "idle, waiting for code on the host",
  idle_transfer: "idle while the host waits for results",
  idle_launch: "idle, waiting for work to be launched",
  idle_peer: "waiting for another device",
  idle_other: "idle",
};

const percent = (share: number): string => formatPercent(100 * share);
const words = ({ category, name }: BudgetShare): string => WORDS[category] ?? name.toLowerCase();

/** The first finding that is worth a headline. */
export function mainFinding({ findings }: Findings): Finding | null {
  return findings[0] && findings[0].share >= CLEAR_SHARE ? findings[0] : null;
}

/** Without a clear finding: what the step is spent on. */
function without({ findings, parts, healthy, base }: Findings): Pick<Headline, "tone" | "title"> {
  const compute = parts.find(({ category }) => category === COMPUTE);
  const [largest, ...others] = parts.filter(({ category }) => category !== COMPUTE);
  if (healthy) {
    const rest = [largest, ...others]
      .flatMap((part) => (part && part.share >= NOTABLE_SHARE ? [`${percent(part.share)} ${words(part)}`] : []))
      .slice(0, 2);
    return { tone: "good", title: `Healthy: ${[`${percent(compute?.share ?? 0)} of the ${base} is computation`, ...rest].join(", ")}` };
  }
  if (!largest) return { tone: "none", title: `${percent(compute?.share ?? 0)} of the ${base} is computation` };
  const is = `${percent(largest.share)} of the ${base} is ${words(largest)}`;
  if (largest.category === "idle_other") return { tone: "fair", title: `${is} and no event tells why` };
  return {
    tone: "fair",
    title: `${is}, and ${findings.some(({ share }) => share > 0) ? "no finding explains most of it" : "no rule knows the cause"}`,
  };
}

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

/** The overview's own headline with the title, the bar and the tone of the findings, where they know better. */
export function withFindings(own: Headline, found: Findings): Headline {
  const main = mainFinding(found);
  const known = found.parts.length > 0;
  // Of a whole recording much is idle before and after the program.
  if (!main && !(known && found.base === STEP)) return own;
  const { tone, title } = main
    ? { tone: main.share >= BAD_SHARE ? ("bad" as const) : ("fair" as const), title: main.title }
    : without(found);
  const bar = known
    ? {
        parts: shareParts(found),
        barLabel:
          `Time budget of the ${found.base === STEP ? "average step" : found.base}: ${formatTime(found.stepPs)}, mean over ` +
          `${found.base === STEP ? "steps and " : ""}devices`,
      }
    : { parts: own.parts, barLabel: own.barLabel };
  // Titles about steps judge by their own parts; others tell facts that stay.
  return { tone, title, ...bar, judges: true, sentences: own.judges ? own.sentences : [`${own.title}.`, ...own.sentences] };
}

/** Until the findings arrive: the facts without a verdict. */
export function whileLooking(own: Headline): Headline {
  return own.judges ? { ...own, tone: "none", title: "Looking for what limits the program" } : own;
}

/** What is beside the bar of a finding: its share and what a step could gain. */
export function gainOf({ share, savingPs }: Finding, base: string): { share: string; saving: string } | null {
  return savingPs > 0
    ? {
        share: `${percent(share)} of the ${base}`,
        saving: `up to ${formatTime(savingPs)} ${base === STEP ? "per step" : `of the ${base}`}`,
      }
    : null;
}

/** The value of evidence with its unit; Python frames without their mark. */
export function evidenceText({ value, unit }: Pick<Evidence, "value" | "unit">): string {
  if (typeof value === "number") return formatQuantity(value, unit);
  return [value.replace(/^\$/, ""), unit].filter(Boolean).join(" ");
}

/** What is said above the list: why it is empty, or that no finding is large. */
export function foundText({ findings, silent, base }: Findings): string {
  const main = findings[0];
  if (main) return main.share > 0 && main.share < CLEAR_SHARE ? `No finding could save a tenth of the ${base}.` : "";
  const unknown = silent.filter(({ looked }) => !looked).length;
  if (silent.length === unknown) return "No finding: the profile lacks what is needed to tell causes of lost time.";
  const more = unknown > 0 ? `; ${formatCount(unknown)} more cannot be told from this profile` : "";
  return `No finding: ${plural(silent.length - unknown, "cause")} of lost time or memory ${silent.length - unknown === 1 ? "was" : "were"} looked for${more}.`;
}

/** Topics of the recommendations that the time budget covers, whatever the rules find. */
const BUDGET_TOPICS: ReadonlySet<string> = new Set(["input", "output", "idle", "collectives", "kernel_launch", "all_other"]);
/** Topics that some findings say better: ids of their rules. */
const RULE_TOPICS: Readonly<Record<string, readonly string[]>> = {
  precision: ["low_precision_unused"],
  outside_compilation: ["debug_callbacks"],
  eager: ["not_compiled", "recompilation"],
  tf_function: ["not_compiled", "recompilation"],
  marking: ["steps_not_marked"],
};

/** Whether the findings say better what a recommendation of this topic says. */
export function isCovered(topic: string, found: Findings | null): boolean {
  if (found === null) return false;
  if (BUDGET_TOPICS.has(topic)) return found.parts.length > 0;
  return found.findings.some(({ id }) => RULE_TOPICS[topic]?.includes(id));
}
