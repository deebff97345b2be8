// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { settle, showPage } from "../../page/testing";
import { tableOf } from "../../base/testing";
import { headline, stallChart } from "./model";
import page from "./page";

// jsdom has no canvas to draw on.
vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

type Row = [name: string, slack: number, stall: number, total: number, runs: number, bandwidth: number | null];

const IDS = ["rendezvous", "slack_ms", "stall_ms", "total_stall_ms", "runs", "required_gbps"];
const table = (rows: readonly Row[]) => tableOf(Object.fromEntries(IDS.map((id, i) => [id, rows.map((row) => row[i] ?? null)])));
const ROWS: Row[] = [
  ["gather", 0.5, 0.1, 0.2, 2, 80],
  ["reduce", 0, 0.3, 0.9, 3, null],
];
const show = (rows: readonly Row[]) =>
  showPage(
    page,
    { id: "megascale_stats", title: "Megascale Stats", group: "Fleet", hosts: "one_or_all" },
    { collectives: table(rows), timeline: null },
  );

describe("collectives between slices", () => {
  it("are summed up by the longest stall and the largest bandwidth that a slack allows", () => {
    const { title, sentences } = headline(table(ROWS));
    expect(title).toMatch(/^reduce holds the TPU up longest: 0.9 ms|900 us/);
    expect(sentences.join(" ")).toContain("No slack: reduce;");
    expect(sentences.join(" ")).toMatch(/slack: 80/);
    expect(headline(table([["a", 1, 0, 0, 1, 5]])).tone).toBe("good");
  });

  it("are drawn longest first", () => {
    expect(stallChart(table(ROWS)).x.labels).toEqual(["reduce", "gather"]);
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
