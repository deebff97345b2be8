// Decodes the findings of a run: causes of lost time with their evidence, the rules without a finding, and the headline.
import { asDict, asList, asNumber, asText } from "./fields";
import type { Problem } from "../types";
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
  /** The HLO text of the op that it is about, else the op's name as recorded; null without one. */
  op: string | null;
  /** The line of code `FILE:LINE` of its op, or that it names; null without one. */
  place: string | null;
}

/** A category of the time budget, or a part of one, with its whole time per step. */
export interface FindingSegment {
  id: string;
  name: string;
  ps: number;
}

export interface Finding {
  id: string;
  title: string;
  /** The saving as a share of the base, 0 to 1; 0 without a direct cost. */
  share: number;
  savingPs: number;
  /** Where the saving lies; together they take at least as long. */
  segments: readonly FindingSegment[];
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

export interface Findings {
  headline: RunHeadline;
  /** The most costly first. */
  findings: readonly Finding[];
  silent: readonly Silence[];
  /** What shares are of: "step", "time from step to step" or "recording". */
  base: string;
  /** What was found to be left out or damaged while the run was read. */
  problems: readonly Problem[];
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
    op: typeof entry["op"] === "string" ? entry["op"] : null,
    place: typeof entry["file"] === "string" ? `${entry["file"]}:${String(asNumber(entry["line"], "the line of evidence"))}` : null,
  };
}

function readSegment(value: unknown): FindingSegment {
  const entry = asDict(value, "a segment of a finding");
  return {
    id: asText(entry["id"], "the id of a segment"),
    name: asText(entry["name"], "the name of a segment"),
    ps: asNumber(entry["ps"], "the time of a segment"),
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
    segments: asList(entry["segments"], "the segments of a finding").map(readSegment),
    confidence: CONFIDENCES.includes(confidence) ? (confidence as Confidence) : "low",
    evidence: asList(entry["evidence"], "the evidence of a finding").map(readEvidence),
    hosts: asList(entry["hosts"] ?? [], "the hosts of a finding").map(String),
    help: readHelp(entry),
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

function readProblem(value: unknown): Problem {
  const entry = asDict(value, "a problem");
  const file = entry["file"];
  return {
    code: asText(entry["code"], "the code of a problem"),
    message: asText(entry["message"], "the message of a problem"),
    file: typeof file === "string" ? file : null,
    offset: typeof entry["offset"] === "number" ? entry["offset"] : null,
    remedy: asText(entry["remedy"] ?? "", "the remedy of a problem"),
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
    base: asText(all["base"], "the base of shares"),
    problems: asList(all["problems"] ?? [], "the problems of the run").map(readProblem),
  };
}
