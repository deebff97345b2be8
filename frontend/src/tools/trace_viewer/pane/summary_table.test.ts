import { describe, expect, it } from "vitest";
import { sorted } from "./summary_table";

describe("summary table", () => {
  const row = (name: string, count: number, wall: number) => ({ name, count, wall, self: wall, average: wall / count, min: 1, max: 2 });

  it("sorts by any column, numbers descending, names ascending", () => {
    const rows = [row("b", 2, 10), row("a", 5, 4)];
    expect(sorted(rows, "wall", false).map((r) => r.name)).toEqual(["b", "a"]);
    expect(sorted(rows, "count", false).map((r) => r.name)).toEqual(["a", "b"]);
    expect(sorted(rows, "name", false).map((r) => r.name)).toEqual(["a", "b"]);
    expect(sorted(rows, "name", true).map((r) => r.name)).toEqual(["b", "a"]);
  });
});
