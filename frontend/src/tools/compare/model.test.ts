import { describe, expect, it } from "vitest";
import { COMPARISON, UNKNOWN } from "../../page/compare/comparison_testing";
import { changesOf, intervalText, noiseText, percentOf, shownTable, stepBars, targetOf } from "./model";
import type { Change } from "./model";

const US = 1e6;
const found = COMPARISON;
const changes = changesOf(found);
const [compute, gone, part, rest] = changes as [Change, Change, Change, Change];

describe("contributions", () => {
  it("lead to the place where the same number stands, or nowhere", () => {
    expect([targetOf(compute, found), targetOf(gone, found)]).toEqual([
      { table: "ops", row: 0, mark: "name~fusion.11;delta_ps_per_step~120000000" },
      { table: "ops", row: 1, mark: "name~gone.3;delta_ps_per_step~-50000000" },
    ]);
    expect(targetOf(part, found)).toEqual({ part: "idle_launch", mark: "part~Waits for launches" });
    expect(targetOf(rest, found)).toBeNull();
    expect(targetOf({ ...part, part: "between_steps" }, found)).toBeNull();
    expect(targetOf({ ...compute, deltaPs: 119 * US }, found)).toBeNull();
    const program = { ...compute, what: "jit_f_again: 3 ops such as fusion.11", ops: ["fusion.11", "fresh.13"], deltaPs: 90 * US };
    expect(targetOf(program, found)).toEqual({ table: "programs", row: 0, mark: "program~jit_f_again;delta_ps_per_step~90000000" });
    expect(targetOf({ ...program, what: "jit_g: 3 ops" }, found)).toBeNull();
  });

  it("have names for kinds and parts in the table, and signs for differences", () => {
    const table = shownTable(found.contributions);
    const values = (id: string) => table.columns.find((column) => column.id === id)?.values;
    expect(values("kind")).toEqual(["slower", "gone", "more time", "rest"]);
    expect(values("where")).toEqual(["Device compute", "Device compute", "Kernel launch", null]);
    expect(table.columns.filter(({ signed }) => signed).map(({ id }) => id)).toEqual(["delta_ps_per_step", "low_ps", "high_ps"]);
  });
});

describe("the step", () => {
  it("has one bar per run on a common scale", () => {
    const bars = stepBars(found);
    expect(bars?.map(({ name, totalPs, parts }) => [name, totalPs, parts.map(({ name: part, length }) => [part, length])])).toEqual([
      [
        "Base",
        900 * US,
        [
          ["Device compute", 350 / 990],
          ["All others", 550 / 990],
        ],
      ],
      [
        "Run",
        990 * US,
        [
          ["Device compute", 440 / 990],
          ["All others", 550 / 990],
        ],
      ],
    ]);
  });

  it("has the time between steps as a category of its own, and names the parts of others", () => {
    const times = { base: 100 * US, run: 90 * US, delta: -10 * US, low: null, high: null };
    const parts = { ...COMPARISON.parts, data_movement: times, between_steps: times };
    const bar = stepBars({ ...COMPARISON, parts })?.[0];
    expect(bar?.parts.map(({ name, ps, look }) => [name, ps / US, look.striped ?? false])).toEqual([
      ["Device compute", 450, false],
      ["All others", 550, false],
      ["Between steps", 100, true],
    ]);
    expect(bar?.parts[0]?.within).toBe("\nOps: 350 us\nCopies: 100 us");
  });

  it("differs in percent of the base's", () => {
    expect(percentOf(found.length)).toBe("+10.0%");
    expect(intervalText(null)).toContain("too few steps");
  });

  it("says why it is noise: by what captures differ anyway, by the interval, or by few steps", () => {
    const noise = (delta: number | null, low: number | null, high: number | null, tone: "same" | "slower" = "same") =>
      noiseText({
        tone,
        floor_ps: 30 * US,
        length: { ...found.length, delta: delta && delta * US, low: low && low * US, high: high && high * US },
      });
    expect([noise(90, 80, 100, "slower"), noise(null, null, null), noise(90, null, null)]).toEqual(["", "", ""]);
    expect(noise(-20, -25, -15)).toBe("; within noise: captures of one program differ by up to 30 us");
    expect(noise(90, -10, 190)).toBe("; within noise: the interval has 0 in it");
    expect(noise(90, 80, 100)).toContain("a few steps make the difference");
  });

  it("is unknown without steps", () => {
    expect([stepBars(UNKNOWN), percentOf(UNKNOWN.length), changesOf(UNKNOWN)]).toEqual([null, null, []]);
  });
});
