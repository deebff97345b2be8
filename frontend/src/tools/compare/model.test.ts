import { describe, expect, it } from "vitest";
import { readComparison } from "../../api/payload/comparison";
import { COMPARISON, UNKNOWN } from "../../page/compare/comparison_testing";
import { barsOf, changesOf, intervalText, linkOf, opFilter, percentOf, remainder, shownTable, stepBars } from "./model";
import type { Change } from "./model";

const US = 1e6;
const found = readComparison(COMPARISON);
const changes = changesOf(found);
const [compute, , part, rest] = changes as [Change, Change, Change, Change];

describe("contributions", () => {
  it("become bars to both sides, the longest as long as half the axis", () => {
    const bars = barsOf(changes, 15);
    expect(bars.map(({ change, length }) => [change.what, length])).toEqual([
      ["jit_f: fusion.11 (mul)", 1],
      ["jit_f: gone.3", -50 / 120],
      ["Idle: launch", 15 / 120],
    ]);
    expect(bars[0]?.tip).toContain("200 us in the base, 320 us in the run");
    expect(bars[0]?.tip).toContain("95% interval +119 us to +121 us; beyond noise");
    expect(bars[1]?.tip).toContain("no interval");
    expect(bars[2]?.tip).toContain("within noise");
  });

  it("add up with what is not shown", () => {
    const shown = barsOf(changes, 1);
    expect(remainder(changes, shown.length)).toEqual({ count: 2, deltaPs: -30 * US });
    expect(shown.reduce((sum, { change }) => sum + change.deltaPs, 0) - 30 * US).toBe(found.step.delta);
  });

  it("open the ops or the time budget", () => {
    expect(linkOf(compute)).toEqual({ tool: "hlo_stats", keys: { filter: "hlo_op_name~/^(fusion\\\\.11)$/" } });
    expect(linkOf(part)).toEqual({ tool: "time_budget", keys: {} });
    expect(linkOf(rest)).toBeNull();
    expect(linkOf({ kind: "slower", where: "compute", ops: [] })).toBeNull();
    expect(opFilter(["a", "b(1)"])).toBe("hlo_op_name~/^(a|b\\\\(1\\\\))$/");
  });

  it("have names for kinds and parts in the table, and signs for differences", () => {
    const table = shownTable(found.contributions, found);
    const values = (id: string) => table.columns.find((column) => column.id === id)?.values;
    expect(values("kind")).toEqual(["slower", "gone", "more time", "rest"]);
    expect(values("where")).toEqual(["Compute", "Compute", "Idle: launch", null]);
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
          ["Compute", 350 / 990],
          ["Idle: unexplained", 550 / 990],
        ],
      ],
      [
        "Run",
        990 * US,
        [
          ["Compute", 440 / 990],
          ["Idle: unexplained", 550 / 990],
        ],
      ],
    ]);
  });

  it("differs in percent of the base's", () => {
    expect(percentOf(found.step)).toBe("+10.0%");
    expect(intervalText(null)).toContain("no interval");
  });

  it("is unknown without steps", () => {
    const none = readComparison(UNKNOWN);
    expect([stepBars(none), percentOf(none.step), changesOf(none)]).toEqual([null, null, []]);
  });
});
