// What the overview shows of the findings: the server's headline over the facts of the page, and texts of the panel. Pure.
import { formatPercent, formatQuantity, formatTime } from "../../../base/format";
import type { Check, Finding, Proof, RunFindings } from "../../../base/documents";
import type { Headline } from "../summary/headline";

/** The server has judged the waits as well: the devices compute. */
const BUSY = /^Busy: /;

/** The headline of the server over the facts of the page. */
export function withFindings(facts: Headline, found: RunFindings): Headline {
  const { tone, title } = found.headline;
  // A verdict of the page gives way to that of the server; a fact, or a loss where the server names none, follows it.
  const replaced = facts.judges && (tone !== "none" || facts.tone === "none" || BUSY.test(title));
  return { ...facts, tone, title, judges: true, sentences: replaced ? facts.sentences : [`${facts.title}.`, ...facts.sentences] };
}

/** Until the findings arrive: the facts without a verdict. */
export function whileLooking(facts: Headline): Headline {
  return facts.judges ? { ...facts, tone: "none", title: "Looking for what limits the program" } : facts;
}

export type Severity = "bad" | "fair" | "low";

/** From these shares of the time on, the colour of a finding says bad or fair; the limits of the headline. */
const BAD_SHARE = 0.2;
const FAIR_SHARE = 0.1;

export interface Gain {
  /** "550 us of 600 us": what could be saved, and all the time of the segments that it lies in. */
  saving: string;
  /** "44.5% of the step". */
  share: string;
  severity: Severity;
}

/** Texts beside the bar of a finding; null for a finding without a direct cost. */
export function gainOf({ share, saving_ps_per_step, segments }: Finding, base: string): Gain | null {
  if (saving_ps_per_step <= 0) return null;
  const whole = segments.reduce((all, { ps }) => all + ps, 0);
  return {
    saving: `${formatTime(saving_ps_per_step)} of ${formatTime(Math.max(whole, saving_ps_per_step))}`,
    share: `${formatPercent(100 * share)} of the ${base}`,
    severity: share >= BAD_SHARE ? "bad" : share >= FAIR_SHARE ? "fair" : "low",
  };
}

/** A text cut after its first sentence. */
export function firstSentence(text: string): [string, string] {
  const end = text.search(/[.?!] (?=[A-Z])/) + 1;
  return end ? [text.slice(0, end), text.slice(end).trim()] : [text, ""];
}

/** The page of the parts that savings lie in. */
const BUDGET = "time_budget";

const isTime = (unit: string): boolean => /^(?:[mun]?s|ps)$/.test(unit);

/** The evidence of a finding without a saving that its title tells: the share of what it is about, and the time of this share. */
function wallProofs(title: string, evidence: readonly Proof[]): { saving: Proof | null; share: Proof | null } {
  const share = evidence.find((proof) => proof.unit === "%" && title.includes(evidenceText(proof))) ?? null;
  const [what = ""] = share?.label.split(", of ") ?? [];
  const saving = share && evidence.find((proof) => isTime(proof.unit) && proof.label.startsWith(what) && proof.tool === share.tool);
  return { saving: saving ?? null, share: saving ? share : null };
}

/** The evidence that says again what the line of the gain says: its saving, and its share of the base. */
export function gainProofs({ title, share, saving_ps_per_step, evidence }: Finding): { saving: Proof | null; share: Proof | null } {
  const same = (of: string, unit: (one: string) => boolean): Proof | null =>
    evidence.find((proof) => proof.tool === BUDGET && typeof proof.value === "number" && unit(proof.unit) && evidenceText(proof) === of) ??
    null;
  if (saving_ps_per_step <= 0) return wallProofs(title, evidence);
  return { saving: same(formatTime(saving_ps_per_step), isTime), share: same(formatPercent(100 * share), (unit) => unit === "%") };
}

/** The value of evidence with its unit; Python frames without their mark. */
export function evidenceText({ value, unit }: Pick<Proof, "value" | "unit">): string {
  if (typeof value === "number") return formatQuantity(value, unit);
  return [value.replace(/^\$/, ""), unit].filter(Boolean).join(" ");
}

/** The line of code `FILE:LINE` of the op of evidence, or that it names; null without one. */
export const placeOf = ({ file, line }: Pick<Proof, "file" | "line">): string | null => (file === null ? null : `${file}:${line}`);

/** An op that evidence is about: its HLO text, its line of code, and the host whose evidence it is. */
export interface OpOfFinding {
  text: string;
  place: string | null;
  host: string | undefined;
}

/** The ops of a finding whose HLO text is recorded, each once; names alone stand in the evidence. */
export function opsOf({ evidence }: Pick<Finding, "evidence">): OpOfFinding[] {
  const found = new Map<string, OpOfFinding>();
  for (const proof of evidence) {
    const { op, query } = proof;
    if (op !== null && op.includes(" = ") && !found.has(op)) found.set(op, { text: op, place: placeOf(proof), host: query["host"] });
  }
  return [...found.values()];
}

const COUNTED: Readonly<Record<Check["state"], string>> = {
  passed: "clean",
  unknown: "not possible with this recording",
  failed: "failed",
};

/** The rules without a finding, failed ones first, and their number by state: "15 checks clean, 7 not possible with this recording". */
export function checksOf(silent: readonly Check[]): { text: string; checks: Check[] } {
  const inState = (state: Check["state"]): Check[] => silent.filter((one) => one.state === state);
  const counts = (["passed", "unknown", "failed"] as const).flatMap((state) => {
    const count = inState(state).length;
    return count > 0 ? [{ count, what: COUNTED[state] }] : [];
  });
  const text = counts.map(({ count, what }, i) => `${count}${i > 0 ? "" : count === 1 ? " check" : " checks"} ${what}`).join(", ");
  return { text, checks: [...inState("failed"), ...inState("passed"), ...inState("unknown")] };
}

/** The line above the list: why it is empty, or that no finding is the headline; "" otherwise. */
export function foundText({ headline, findings, silent }: RunFindings): string {
  const main = findings[0];
  if (main) return main.share > 0 && headline.finding === null ? "Each finding could save only a small part of the time." : "";
  return silent.some(({ state }) => state === "passed") ? "No finding." : "No finding: the recording lacks what the checks need.";
}
