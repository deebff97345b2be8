// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import { readTable } from "../../api/payload/table";
import type { DataTable } from "../../api/types";
import { headline, shownTable, stallChart } from "./model";
import page from "./page";

// jsdom has no canvas to draw on.
vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

type Row = [name: string, slack: number, stall: number, total: number, runs: number, bandwidth: number];

const IDS = ["rendezvous_name", "slack_time", "stall_duration", "total_stall", "occurrences", "required_bandwidth", "host_stall"];
const answer = (rows: readonly Row[]): unknown => [
  {
    cols: IDS.map((id) => ({ id, label: id, type: id === "rendezvous_name" || id === "host_stall" ? "string" : "number" })),
    rows: rows.map((row) => ({ c: [...row, "-"].map((v) => ({ v })) })),
  },
];
const ROWS: Row[] = [
  ["gather", 0.5, 0.1, 0.2, 2, 80],
  ["reduce", 0, 0.3, 0.9, 3, 2147483647],
];
const table = (rows: readonly Row[]) => readTable((answer(rows) as DataTable[])[0] as DataTable);
const show = (rows: readonly Row[]) =>
  showPage(page, { id: "megascale_stats", title: "Megascale Stats", group: "Fleet", hosts: "one_or_all" }, answer(rows));

describe("collectives between slices", () => {
  it("are summed up by the longest stall and the largest bandwidth that a slack allows", () => {
    const { title, sentences } = headline(table(ROWS));
    expect(title).toMatch(/^reduce holds the TPU up longest: 0.9 ms|900 us/);
    expect(sentences.join(" ")).toContain("No slack: reduce;");
    expect(sentences.join(" ")).toMatch(/slack: 80/);
    expect(headline(table([["a", 1, 0, 0, 1, 5]])).tone).toBe("good");
  });

  it("are drawn longest first, and need no bandwidth where none is enough", () => {
    expect(stallChart(table(ROWS)).x.labels).toEqual(["reduce", "gather"]);
    expect(shownTable(table(ROWS)).columns.find(({ id }) => id === "required_bandwidth")?.values).toEqual([80, null]);
  });
});

describe("megascale stats", () => {
  it("opens the trace viewer on the same host", async () => {
    const shown = await show(ROWS);
    [...shown.root.querySelectorAll("button")].find((button) => button.textContent === "Open the trace viewer")?.click();
    await settle(shown.root);
    expect([shown.keys.get("tool"), shown.keys.get("host")]).toEqual(["trace_viewer@", "h"]);
  });

  it("offers the trace of one host as a file", async () => {
    const link = (await show(ROWS)).root.querySelector<HTMLAnchorElement>("a[download]");
    expect(link?.textContent).toBe("Perfetto trace");
    const asked = new URL(link?.href ?? "").searchParams;
    expect(Object.fromEntries(asked)).toEqual({ run: "r", tag: "megascale_stats", host: "h", perfetto: "true", recv_done: "true" });
  });

  it("says why there is nothing", async () => {
    const shown = await show([]);
    expect(shown.text()).toContain("No complete collective");
    expect(shown.root.querySelector("a[download]")).not.toBeNull();
  });
});
