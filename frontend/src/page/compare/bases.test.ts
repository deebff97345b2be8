import { describe, expect, it } from "vitest";
import { choicesOf, proposalOf, readRelated } from "./bases";

const choices = ["a/3", "b/2", "a/1", "c/0"].map((id) => ({ id, note: "CPU" }));
const base = { run: null, proposed: "a/1", choices, choose: () => undefined };
const related = readRelated([
  { run: "c/0", shared: 1 },
  { run: "b/2", shared: 0.125 },
]);

describe("bases", () => {
  it("are offered by how many programs they share", () => {
    expect(choicesOf(base, "a/3", related)).toEqual([
      { id: "c/0", note: "CPU · 100% of programs shared" },
      { id: "b/2", note: "CPU · 12.5% of programs shared" },
      { id: "a/3", note: "CPU · this run" },
      { id: "a/1", note: "CPU · the run before" },
    ]);
  });

  it("are proposed if they share half of their programs", () => {
    expect(proposalOf(base, "a/3", related)).toEqual({ id: "c/0", why: "100% of programs shared" });
    expect(proposalOf(base, "a/3", new Map([["b/2", 0.49]]))).toBeNull();
    expect(proposalOf(base, "a/3", new Map([["gone", 1]]))).toEqual({ id: "a/1", why: "the run before" });
  });

  it("are the run before of the same directory where nothing is known of programs", () => {
    expect(proposalOf(base, "a/3", new Map())).toEqual({ id: "a/1", why: "the run before" });
    expect(proposalOf({ ...base, proposed: "b/2" }, "a/3", new Map())).toBeNull();
    expect(proposalOf({ ...base, proposed: null }, "a/3", new Map())).toBeNull();
  });
});
