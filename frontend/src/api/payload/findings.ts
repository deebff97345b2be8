// Decodes the findings of a run: causes of lost time with their evidence, the rules without a finding, and the headline.
import { asDict, asList, asNumber, asText } from "./fields";
import type { Tone } from "../../base/steps/steps";
import type { Dict } from "./fields";

type Confidence = "high" | "medium" | "low";

/** A number or text that shows a finding; `tool` and `query` are the page that shows the same, "" without one. */
export interface Evidence {
  label: string;
  value: number | string;
  unit: string;
  tool: string;
  query: Readonly<Record<string, string>>;
}

export interface Finding {
  id: string;
  title: string;
  /** What a step could gain, 0 to 1; 0 if the finding is not about time. */
  share: number;
  savingPs: number;
  /** How the saving was computed. */
  formula: string;
  confidence: Confidence;
  evidence: readonly Evidence[];
  advice: string;
  /** The hosts concerned. */
  hosts: readonly string[];
  /** Documentation of the rule; "" without. */
  help: string;
}

/** Whether the cause is not there, the profile lacks what the rule needs, or the rule raised an error. */
export type CheckState = "passed" | "unknown" | "failed";

/** A rule without a finding. */
export interface Silence {
  id: string;
  looksFor: string;
  reason: string;
  state: CheckState;
  help: string;
}

/** What limits the run, in one line. */
interface RunHeadline {
  title: string;
  tone: Tone;
  /** Id of the finding that it repeats. */
  finding: string | null;
}

/** A part of the time budget, as a share of the average step. */
interface BudgetShare {
  category: string;
  name: string;
  help: string;
  share: number;
}

export interface Findings {
  headline: RunHeadline;
  /** The most costly first. */
  findings: readonly Finding[];
  silent: readonly Silence[];
  /** The average step; 0 without steps. */
  stepPs: number;
  /** What shares are of: "step", or "recording" without steps. */
  base: string;
  /** The largest first; empty without devices. */
  parts: readonly BudgetShare[];
}

const CONFIDENCES: readonly string[] = ["high", "medium", "low"] satisfies Confidence[];
const STATES: readonly string[] = ["passed", "unknown", "failed"] satisfies CheckState[];
const TONES: readonly string[] = ["good", "fair", "bad", "none"] satisfies Tone[];

/** Paragraphs as lines. */
const readHelp = (one: Dict): string => asText(one["help"] ?? "", "the help of a rule").replace(/\n{2,}/g, "\n");

function readEvidence(value: unknown): Evidence {
  const entry = asDict(value, "evidence");
  const evidenceValue = entry["value"];
  const query = asDict(entry["query"] ?? {}, "the address of evidence");
  return {
    label: asText(entry["label"], "the label of evidence"),
    value: typeof evidenceValue === "number" ? asNumber(evidenceValue, "evidence") : asText(evidenceValue, "evidence"),
    unit: asText(entry["unit"] ?? "", "the unit of evidence"),
    tool: asText(entry["tool"] ?? "", "the tool of evidence"),
    query: Object.fromEntries(Object.entries(query).map(([key, text]) => [key, String(text)])),
  };
}

function readFinding(value: unknown): Finding {
  const entry = asDict(value, "a finding");
  const text = (key: string): string => asText(entry[key], `${key} of a finding`);
  const confidence = text("confidence");
  return {
    id: text("id"),
    title: text("title"),
    formula: text("formula"),
    advice: text("advice"),
    share: asNumber(entry["share"], "the share of a finding"),
    savingPs: asNumber(entry["saving_ps_per_step"], "the saving of a finding"),
    confidence: CONFIDENCES.includes(confidence) ? (confidence as Confidence) : "low",
    evidence: asList(entry["evidence"], "the evidence of a finding").map(readEvidence),
    hosts: asList(entry["hosts"] ?? [], "the hosts of a finding").map(String),
    help: readHelp(entry),
  };
}

function readPart(value: unknown): BudgetShare {
  const entry = asDict(value, "a part of the step");
  const category = asText(entry["category"], "the category of a part");
  return {
    category,
    name: asText(entry["name"] ?? category, "the name of a part"),
    help: asText(entry["help"] ?? "", "the help of a part"),
    share: asNumber(entry["share"], "the share of a part"),
  };
}

function readHeadline(value: unknown): RunHeadline {
  const entry = asDict(value, "the headline");
  const tone = asText(entry["tone"], "the tone of the headline");
  return {
    title: asText(entry["title"], "the title of the headline"),
    tone: TONES.includes(tone) ? (tone as Tone) : "none",
    finding: typeof entry["finding"] === "string" ? entry["finding"] : null,
  };
}

function readSilence(value: unknown): Silence {
  const entry = asDict(value, "a rule without a finding");
  const state = asText(entry["state"], "the state of a rule");
  return {
    id: asText(entry["id"], "the id of a rule"),
    looksFor: asText(entry["looks_for"], "what a rule looks for"),
    reason: asText(entry["reason"], "the reason of a rule"),
    state: STATES.includes(state) ? (state as CheckState) : "unknown",
    help: readHelp(entry),
  };
}

/** Decodes the response; throws `bad_answer` naming the field if it is malformed. */
export function readFindings(value: unknown): Findings {
  const all: Dict = asDict(value, "the findings");
  return {
    headline: readHeadline(all["headline"]),
    findings: asList(all["findings"], "the list of findings").map(readFinding),
    silent: asList(all["silent"], "the rules without a finding").map(readSilence),
    stepPs: asNumber(all["step_ps"], "the average step"),
    base: asText(all["base"], "the base of shares"),
    parts: asList(all["parts"], "the parts of the step").map(readPart),
  };
}
