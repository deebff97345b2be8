import { describe, expect, it } from "vitest";
import { readOverview } from "./decode";
import { payload, extras } from "./testing_answer";

describe("the response", () => {
  it("is decoded with and without the additions of `extended`", () => {
    const plain = readOverview(payload());
    expect(plain.extras).toBeNull();
    expect([plain.steps.labels, plain.steps.parts.map(({ ms }) => ms[0])]).toEqual([
      ["train 1", "train 2"],
      [1, 2, 6, 1],
    ]);
    expect(plain.statements).toEqual(["HIGHLY input-bound"]);
    expect(plain.messages).toEqual([{ severity: "warning", text: "careful" }]);
    expect(plain.ops.columns[0]).toMatchObject({ label: "Time", unit: "fraction" });
    const own = readOverview(payload({ extras: extras() }));
    expect([own.steps.totalMs, own.hardware]).toEqual([[8, 12], "CPU_ONLY"]);
  });

  it("is rejected if malformed", () => {
    expect(() => readOverview({})).toThrow("the overview is not a list");
    expect(() => readOverview([])).toThrow("0 tables in place of 7");
    expect(() => readOverview(payload({ extras: extras({ session: { requests: "many" } }) }))).toThrow(
      "requests of the session is not a number",
    );
  });

  it("has the HLO category where the framework op is unknown", () => {
    const { ops } = readOverview(payload({ extras: extras({ op_categories: ["fusion", "copy-done"] }) }));
    expect(ops.columns[2]?.values).toEqual(["MatMul", "copy-done"]);
  });

  it("has the documents of XProf's tips", () => {
    expect(readOverview(payload()).documents).toEqual(['<a href="https://www.tensorflow.org/guide/data" target="_blank">Guide</a>']);
  });
});
