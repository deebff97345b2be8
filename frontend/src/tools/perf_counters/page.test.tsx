// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { showPage } from "../../page/testing";
import { columnOf } from "../../api/payload/fields";
import { readTable } from "../../api/payload/table";
import type { DataTable } from "../../api/types";
import page, { shownTable } from "./page";

const IDS = ["Host", "Chip", "Counter", "Value", "Set", "reading"];
const answer = (rows: readonly (readonly (string | number)[])[]): unknown => ({
  cols: IDS.map((id) => ({
    id,
    label: id === "Value" ? "Value (Hex)" : id,
    type: ["Chip", "Value", "reading"].includes(id) ? "number" : "string",
  })),
  rows: rows.map((row) => ({ c: row.map((v) => ({ v })) })),
});
const ROWS = [
  ["h", 0, "cycles", 0, "a", 900.5],
  ["h", 0, "vst", 7, "b", 7],
] as const;
const show = (body: unknown) => showPage(page, { id: "perf_counters", title: "Perf Counters", group: "Ops", hosts: "one_or_all" }, body);

describe("perf counters", () => {
  it("shows values that were written as doubles, and hides the only host", async () => {
    const shown = await show(answer(ROWS));
    const heads = [...shown.root.querySelectorAll('[role="columnheader"]')].map((head) => head.textContent ?? "");
    expect(heads.some((head) => head.startsWith("Host"))).toBe(false);
    expect(heads.some((head) => head.includes("Hex"))).toBe(false);
    expect(columnOf(shownTable(readTable(answer(ROWS) as DataTable)), "Value")).toEqual([900.5, 7]);
  });

  it("says why there is nothing", async () => {
    expect((await show(answer([]))).text()).toContain("No values of performance counters");
  });
});
