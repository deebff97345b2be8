import { describe, expect, it } from "vitest";
import { readFindings } from "../../api/payload/findings";
import { evidenceText, foundText, gainOf, isCovered, mainFinding, whileLooking, withFindings } from "./findings_model";
import type { Headline } from "./headline";
import { findingsAnswer, findingsOf, MEMORY, partsAnswer, SILENT, SLOW } from "./testing";

const OWN: Headline = {
  tone: "fair",
  title: "Host-bound: 99.0% of the step time is host compute",
  sentences: ["2 steps, 10 ms each."],
  barLabel: "The average step",
  parts: [],
  judges: true,
};
const FACTS: Headline = { ...OWN, tone: "none", title: "A request takes 2 ms", judges: false };
const titled = (patch: Record<string, unknown>, own = OWN) => {
  const { tone, title } = withFindings(own, findingsOf(patch));
  return [tone, title];
};

describe("the headline of the overview", () => {
  it("is the first finding, over the parts of the time budget, in place of the verdict on classes of events", () => {
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

  it.each([
    [0.0999, null],
    [0.1, "fair"],
    [0.1999, "fair"],
    [0.2, "bad"],
  ])("needs a tenth of the step, and is red from a fifth: %d", (share, tone) => {
    const found = findingsOf({ findings: [{ ...SLOW, share }] });
    expect(mainFinding(found)?.id ?? null).toBe(tone && "slow_host_code");
    expect(withFindings(OWN, found).tone).toBe(tone ?? "fair");
  });

  it("says what a healthy program spends its time on", () => {
    const parts = partsAnswer({ compute: 0.962, idle_other: 0.027, idle_launch: 0.006 });
    expect(titled({ findings: [], healthy: true, parts })).toEqual(["good", "Healthy: 96.2% of the step is computation, 2.7% idle"]);
    expect(titled({ findings: [], healthy: true, parts: partsAnswer({ compute: 1 }) })).toEqual([
      "good",
      "Healthy: 100.0% of the step is computation",
    ]);
  });

  it("names the largest part if nothing was found and the program is not healthy", () => {
    expect(titled({ findings: [], parts: partsAnswer({ compute: 0.6, idle_other: 0.38 }) })).toEqual([
      "fair",
      "38.0% of the step is idle and no event tells why",
    ]);
    expect(titled({ findings: [], parts: partsAnswer({ idle_launch: 0.59, idle_host: 0.39, compute: 0.02 }) })).toEqual([
      "fair",
      "59.0% of the step is idle, waiting for work to be launched, and no rule knows the cause",
    ]);
    expect(titled({ findings: [MEMORY], parts: partsAnswer({ compute: 0.7, new_part: 0.3 }) })[1]).toBe(
      "30.0% of the step is new_part, and no rule knows the cause",
    );
    expect(titled({ findings: [{ ...SLOW, share: 0.07 }], parts: partsAnswer({ compute: 0.7, exposed_copy: 0.3 }) })[1]).toBe(
      "30.0% of the step is copies that no computation hides, and no finding explains most of it",
    );
    expect(titled({ findings: [], parts: partsAnswer({ compute: 0.7 }) })).toEqual(["none", "70.0% of the step is computation"]);
  });

  it("stays without steps or devices, unless there is a clear finding", () => {
    expect(withFindings(OWN, findingsOf({ findings: [], parts: [] }))).toEqual(OWN);
    expect(withFindings(FACTS, findingsOf({ findings: [], base: "recording" }))).toEqual(FACTS);
    const found = withFindings(FACTS, findingsOf({ base: "recording" }));
    expect([found.title, found.sentences, found.barLabel]).toEqual([
      SLOW.title,
      ["A request takes 2 ms.", "2 steps, 10 ms each."],
      "Time budget of the recording: 1.900 ms, mean over devices",
    ]);
    expect(withFindings(FACTS, findingsOf({ parts: [] })).barLabel).toBe("The average step");
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
  });
});

describe("what was not found", () => {
  it("is counted, with what cannot be told", () => {
    const of = (silent: unknown[], findings: unknown[] = []) => foundText(findingsOf({ silent, findings }));
    expect(of(SILENT)).toBe("No finding: 1 cause of lost time or memory was looked for; 1 more cannot be told from this profile.");
    expect(of([SILENT[1], SILENT[1]])).toBe("No finding: 2 causes of lost time or memory were looked for.");
    expect(of([SILENT[0]])).toBe("No finding: the profile lacks what is needed to tell causes of lost time.");
    expect([of(SILENT, [SLOW]), of(SILENT, [MEMORY]), of(SILENT, [{ ...SLOW, share: 0.07 }])]).toEqual([
      "",
      "",
      "No finding could save a tenth of the step.",
    ]);
  });

  it("replaces statements on the same time, where there are devices", () => {
    expect(["idle", "collectives", "precision", "eager"].map((topic) => isCovered(topic, findingsOf()))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const said = findingsOf({
      findings: [
        { ...SLOW, id: "steps_not_marked" },
        { ...SLOW, id: "low_precision_unused" },
      ],
    });
    expect(["marking", "precision", "tf_function"].map((topic) => isCovered(topic, said))).toEqual([true, true, false]);
    expect([isCovered("idle", null), isCovered("idle", findingsOf({ parts: [] }))]).toEqual([false, false]);
  });
});
