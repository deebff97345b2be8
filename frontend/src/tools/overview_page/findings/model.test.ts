import { describe, expect, it } from "vitest";
import type { Check, Finding, Proof, RunFindings } from "../../../base/documents";
import { checksOf, evidenceText, firstSentence, foundText, gainOf, gainProofs, opsOf, whileLooking, withFindings } from "./model";
import type { Headline } from "../summary/headline";
import { FAILED, findingsOf, MEMORY, SILENT, SLOW } from "../testing";

const OWN: Headline = {
  tone: "fair",
  title: "Host-bound: 99.0% of the step time is host compute",
  sentences: ["2 steps, 10 ms each."],
  barLabel: "The average step",
  parts: [],
  segments: [],
  judges: true,
};
const FACTS: Headline = { ...OWN, tone: "none", title: "A request takes 2 ms", judges: false };

describe("the headline of the overview", () => {
  it("is the server's, over the bar of the page, in place of its verdict", () => {
    const { tone, title, sentences, barLabel } = withFindings(OWN, findingsOf());
    expect([tone, title, sentences, barLabel]).toEqual(["bad", SLOW.title, ["2 steps, 10 ms each."], "The average step"]);
  });

  it("keeps the server's title and tone whatever the findings are", () => {
    const headline: RunFindings["headline"] = { title: "Healthy: 96.2% of the step is computation", tone: "good", finding: null };
    expect(withFindings(OWN, findingsOf({ headline }))).toMatchObject({ title: headline.title, tone: "good" });
    expect(withFindings(OWN, findingsOf({ headline, findings: [] }))).toMatchObject({ title: headline.title, tone: "good" });
  });

  it("is followed by the facts of the page, and by its verdict only where the server has none", () => {
    const found = withFindings(FACTS, findingsOf());
    expect([found.title, found.sentences]).toEqual([SLOW.title, ["A request takes 2 ms.", "2 steps, 10 ms each."]]);
    const none = withFindings(OWN, findingsOf({ headline: { title: "No device", tone: "none", finding: null } }));
    expect([none.title, none.sentences[0]]).toEqual(["No device", `${OWN.title}.`]);
    const busy: Headline = { ...OWN, tone: "none", title: "90.0% of the step is device compute" };
    const told = withFindings(
      busy,
      findingsOf({ headline: { title: `Busy: ${busy.title}, most of it in dot`, tone: "none", finding: null } }),
    );
    expect(told.sentences).toEqual(["2 steps, 10 ms each."]);
    const busyAll = findingsOf({ headline: { title: "Busy: 90.1% of the step is device compute", tone: "none", finding: null } });
    expect(withFindings(OWN, busyAll).sentences).toEqual(["2 steps, 10 ms each."]);
  });

  it("gives no verdict before the findings are known", () => {
    expect(whileLooking(OWN)).toMatchObject({ tone: "none", title: "Looking for what limits the program", sentences: OWN.sentences });
    expect(whileLooking(FACTS)).toEqual(FACTS);
  });
});

describe("a finding", () => {
  it("shows its saving, what that is a part of, its share and evidence with units", () => {
    const [slow, memory] = findingsOf().findings;
    const text = { saving: "550 us of 600 us", share: "28.9% of the recording" };
    expect(slow && gainOf(slow, "recording")).toEqual({ ...text, severity: "bad" });
    expect(memory && gainOf(memory, "step")).toBeNull();
    expect(slow?.evidence.map(evidenceText)).toEqual(["28.9%", "550 us", "augment.py:7 random_crop", "6", "fusion.3"]);
    expect(memory?.evidence.map(evidenceText)).toEqual(["3 GiB"]);
  });

  it("without a saving tells the time and share that its title names", () => {
    const [, memory] = findingsOf().findings;
    const [any] = SLOW.evidence;
    const proof = (label: string, value: number, unit: string) => ({ ...any, label, value, unit, tool: "hlo_stats" }) as Proof;
    const wall = [proof("Wall time of these ops, of the step", 78.44, "%"), proof("Wall time of these ops per step", 5.861, "ms")];
    const dot = { ...memory, title: "78.4% of the step: dot", evidence: [proof("Longest run", 2, "ms"), ...wall] } as Finding;
    expect(gainProofs(dot)).toEqual({ share: wall[0], saving: wall[1] });
    expect(gainProofs({ ...dot, title: "Most of the step: dot" })).toEqual({ share: null, saving: null });
    expect(gainProofs({ ...dot, evidence: wall.slice(0, 1) })).toEqual({ share: null, saving: null });
  });

  it("shows the HLO text of each op that its evidence is about once", () => {
    const about = (op: string | null, line: number | null = null) => ({
      label: "",
      value: 1,
      unit: "",
      tool: "",
      query: { host: "h" },
      op,
      file: line === null ? null : "/src/a.py",
      line,
    });
    const text = "add.1 = f32[8] add(x, y)";
    const evidence = [about(text, 3), about(text, 3), about("MatMul"), about(null)];
    expect(opsOf({ evidence })).toEqual([{ text, place: "/src/a.py:3", host: "h" }]);
  });

  it("is coloured by its share of the time", () => {
    const [slow] = findingsOf().findings;
    const severity = (share: number) => slow && gainOf({ ...slow, share }, "step")?.severity;
    expect([0.0999, 0.1, 0.1999, 0.2].map(severity)).toEqual(["low", "fair", "fair", "bad"]);
  });
});

describe("checks without a finding", () => {
  it("are counted by state, and failed ones come first", () => {
    const of = (...silent: Check[]) => checksOf(findingsOf({ silent }).silent);
    const [unknown, passed] = SILENT as [Check, Check];
    expect(of(unknown, passed, FAILED)).toMatchObject({
      text: "1 check clean, 1 not possible with this recording, 1 failed",
      checks: [{ id: "padding" }, { id: "exposed_communication" }, { id: "transfers" }],
    });
    expect(of(passed, passed).text).toBe("2 checks clean");
    expect(of(FAILED).text).toBe("1 check failed");
  });

  it("explain an empty list", () => {
    const of = (silent: Check[], findings: Finding[], finding: string | null = null) =>
      foundText(findingsOf({ silent, findings, headline: { title: "x", tone: "fair", finding } }));
    expect(of(SILENT, [])).toBe("No finding.");
    expect(of(SILENT.slice(0, 1), [])).toBe("No finding: the recording lacks what the checks need.");
    expect([of(SILENT, [SLOW], SLOW.id), of(SILENT, [MEMORY])]).toEqual(["", ""]);
    expect(of(SILENT, [SLOW])).toBe("Each finding could save only a small part of the time.");
  });
});

describe("advice", () => {
  it("is cut after its first sentence, not after an abbreviation or a name", () => {
    expect(firstSentence("Nothing is wasted. Ask twice: a. B.")).toEqual(["Nothing is wasted.", "Ask twice: a. B."]);
    expect(firstSentence("Use torch.compile (e.g. mode=x) or top_k.")).toEqual(["Use torch.compile (e.g. mode=x) or top_k.", ""]);
  });
});
