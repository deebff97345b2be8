import { describe, expect, it } from "vitest";
import { readFindings } from "../../../api/payload/findings";
import { checksOf, evidenceText, foundText, gainOf, whileLooking, withFindings } from "./model";
import type { Headline } from "../summary/headline";
import { FAILED, findingsAnswer, findingsOf, MEMORY, SILENT, SLOW } from "../testing";

const OWN: Headline = {
  tone: "fair",
  title: "Host-bound: 99.0% of the step time is host compute",
  sentences: ["2 steps, 10 ms each."],
  barLabel: "The average step",
  parts: [],
  judges: true,
};
const FACTS: Headline = { ...OWN, tone: "none", title: "A request takes 2 ms", judges: false };

describe("the headline of the overview", () => {
  it("is the server's, over the parts of the time budget, in place of the verdict on classes of events", () => {
    const { tone, title, sentences, barLabel, parts } = withFindings(OWN, findingsOf());
    expect([tone, title, sentences, barLabel]).toEqual([
      "bad",
      SLOW.title,
      ["2 steps, 10 ms each."],
      "Time budget of the average step: 1.900 ms, mean over steps and devices",
    ]);
    expect(parts.map(({ name, share, text }) => [name, share, text])).toEqual([
      ["Compute", 0.62, "1.178 ms"],
      ["Idle: host code", 0.289, "549.1 us"],
      ["Idle: unexplained", 0.091, "172.9 us"],
    ]);
  });

  it("keeps the server's title and tone whatever the findings are", () => {
    const headline = { title: "Healthy: 96.2% of the step is computation", tone: "good", finding: null };
    expect(withFindings(OWN, findingsOf({ headline }))).toMatchObject({ title: headline.title, tone: "good" });
    expect(withFindings(OWN, findingsOf({ headline, findings: [] }))).toMatchObject({ title: headline.title, tone: "good" });
  });

  it("is followed by the facts of the page, and by its verdict only where the server has none", () => {
    const found = withFindings(FACTS, findingsOf({ base: "recording" }));
    expect([found.title, found.sentences, found.barLabel]).toEqual([
      SLOW.title,
      ["A request takes 2 ms.", "2 steps, 10 ms each."],
      "Time budget of the recording: 1.900 ms, mean over devices",
    ]);
    const none = withFindings(OWN, findingsOf({ headline: { title: "No device", tone: "none", finding: null }, parts: [] }));
    expect([none.title, none.sentences[0], none.barLabel]).toEqual(["No device", `${OWN.title}.`, "The average step"]);
  });

  it("gives no verdict before the findings are known", () => {
    expect(whileLooking(OWN)).toMatchObject({ tone: "none", title: "Looking for what limits the program", sentences: OWN.sentences });
    expect(whileLooking(FACTS)).toEqual(FACTS);
  });
});

describe("a finding", () => {
  it("shows share, saving and evidence with units", () => {
    const [slow, memory] = findingsOf().findings;
    expect(slow && gainOf(slow, "step")).toEqual({ share: "28.9% of the step", saving: "up to 550 us per step" });
    expect(slow && gainOf(slow, "recording")).toEqual({ share: "28.9% of the recording", saving: "up to 550 us of the recording" });
    expect(memory && gainOf(memory, "step")).toBeNull();
    expect(slow?.evidence.map(evidenceText)).toEqual(["28.9%", "550 us", "augment.py:7 random_crop", "6", "fusion.3"]);
    expect(memory?.evidence.map(evidenceText)).toEqual(["3 GiB"]);
  });

  it("is rejected if malformed", () => {
    expect(() => readFindings([])).toThrow("the findings is not an object");
    expect(() => readFindings(findingsAnswer({ findings: [{ ...SLOW, share: "much" }] }))).toThrow(
      "the share of a finding is not a number",
    );
    expect(readFindings(findingsAnswer({ findings: [{ ...SLOW, confidence: "new" }] })).findings[0]?.confidence).toBe("low");
    expect(() => readFindings(findingsAnswer({ headline: undefined }))).toThrow("the headline is not an object");
  });
});

describe("checks without a finding", () => {
  it("are counted by state, and failed ones come first", () => {
    const of = (...silent: unknown[]) => checksOf(findingsOf({ silent }).silent);
    const [unknown, passed] = SILENT;
    expect(of(unknown, passed, FAILED)).toMatchObject({
      text: "1 check clean, 1 not possible with this recording, 1 failed",
      checks: [{ id: "padding" }, { id: "exposed_communication" }, { id: "transfers" }],
    });
    expect(of(passed, passed).text).toBe("2 checks clean");
    expect(of(FAILED).text).toBe("1 check failed");
  });

  it("explain an empty list", () => {
    const of = (silent: unknown[], findings: unknown[], finding: string | null = null) =>
      foundText(findingsOf({ silent, findings, headline: { title: "x", tone: "fair", finding } }));
    expect(of(SILENT, [])).toBe("No finding.");
    expect(of([SILENT[0]], [])).toBe("No finding: the recording lacks what the checks need.");
    expect([of(SILENT, [SLOW], SLOW.id), of(SILENT, [MEMORY])]).toEqual(["", ""]);
    expect(of(SILENT, [SLOW])).toBe("Each finding could save only a small part of the time.");
  });
});
