import { describe, expect, it } from "vitest";
import { readOverview, verdictOf } from "./decode";
import { payload, extras } from "./testing_answer";

describe("the response", () => {
  it("is decoded with and without the additions of `extended`", () => {
    const plain = readOverview(payload());
    expect(plain.extras).toBeNull();
    expect(verdictOf(plain).input).toEqual({ level: "HIGHLY", percent: 60 });
    expect(plain.messages).toEqual([{ severity: "warning", text: "careful" }]);
    expect(plain.ops.columns[0]).toMatchObject({ label: "Time", unit: "fraction" });
    expect(
      readOverview(payload({ extras: extras({ spans: { hosts: ["h", "h"], begin_ps: [5, 20], end_ps: [15, 30] } }) })).extras?.spans?.endPs,
    ).toEqual([15, 30]);
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
