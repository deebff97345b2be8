import { expect, it } from "vitest";
import type { Check, Finding } from "../base/documents";
import { limitOf } from "./limit";

const fired = (id: string, title: string): Finding => ({
  id,
  title,
  share: 0,
  saving_ps_per_step: 0,
  segments: [],
  formula: "",
  confidence: "high",
  evidence: [],
  advice: "",
  hosts: [],
  help: "",
});
const silent = (id: string, state: Check["state"], reason: string): Check => ({ id, state, reason, looks_for: "", help: "" });

it("is the title of the finding that fired", () => {
  const title = "Limited by memory bandwidth: HBM at 82.0% of its peak";
  expect(limitOf({ findings: [fired("host_sync", "x"), fired("memory_bound", title)], silent: [] })).toEqual({
    fired: true,
    sentence: `${title}.`,
  });
});

it("is neither after a rule that looked and found nothing, without its figures: those of a page are of other time; unknown without a rule", () => {
  const reason = "The matrix units are used to 0.1% of their peak, HBM bandwidth to 3.4%.";
  const rules = [silent("compute_bound", "passed", reason), silent("memory_bound", "passed", reason)];
  expect(limitOf({ findings: [], silent: rules })).toEqual({
    fired: false,
    sentence: "Neither arithmetic nor memory bandwidth limits the program.",
  });
  expect(
    limitOf({ findings: [], silent: [silent("compute_bound", "unknown", "Not recorded."), silent("other", "passed", "")] }),
  ).toBeNull();
});
