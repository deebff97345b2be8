// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { settle, showPage } from "../../page/testing";
import { tableOf as tableFrom } from "../../base/testing";
import { MOST_COLUMNS, groupsOf, headline, samplesOf } from "./model";
import type { Sample } from "./model";
import page from "./page";

type Row = [
  device: number,
  sample: number,
  node: number,
  name: string,
  achieved: number,
  peak: number,
  unit: string,
  host?: string,
  kernel?: string,
];

const IDS = ["device", "sample", "node", "name", "achieved", "peak", "unit", "host", "kernel"];

const tableOf = (rows: readonly Row[]) =>
  tableFrom(Object.fromEntries(IDS.map((id, i) => [id, rows.map((row) => row[i] ?? (id === "host" ? "h" : "_counters_"))])));

const ROWS: Row[] = [
  [0, 1, 0, "Scalar Unit", 50, 200, "instructions"],
  [0, 1, 1, "Scalar Unit", 0, 0, "instructions"],
  [0, 1, 0, "Avg MXU Busy", 60, 100, "cycles"],
  [0, 1, 0, "No MXU Busy", 90, 100, "cycles"],
  [0, 1, 0, "HBM Rd+Wr - core 0", 1024, 4096, "bytes"],
  [0, 1, 0, "HBM Read Ratio", 512, 1024, "percent"],
  [0, 1, 0, "ICI (Read)", 0, 128, "bytes"],
  [0, 1, 3, "SCS: S0 Slot", 1, 4, "instructions"],
  [0, 2, 0, "Scalar Unit", 0, 200, "instructions", "h", "kernel_b"],
];
const show = (rows: readonly Row[], keys: Record<string, string> = {}) =>
  showPage(
    page,
    { id: "utilization_viewer", title: "Utilization Viewer", group: "Ops", hosts: "one_or_all" },
    { units: tableOf(rows) },
    keys,
  );

describe("samples and units", () => {
  const table = tableOf(ROWS);
  const [first, second] = samplesOf(table) as [Sample, Sample];

  it("are told apart by name and id", () => {
    expect(samplesOf(table).map(({ key, rows }) => [key, rows.length])).toEqual([
      ["_counters_ #1", 8],
      ["kernel_b #2", 1],
    ]);
  });

  it("are grouped by the part of the chip, a column per core", () => {
    const groups = groupsOf(table, first);
    expect(groups.map(({ title, columns }) => [title, columns])).toEqual([
      ["TensorCores", ["device 0, core 0", "device 0, core 1"]],
      ["Memory and interconnect", ["device 0"]],
      ["SparseCores", ["device 0, core 3"]],
    ]);
    expect(groups[0]?.units[0]).toEqual({
      name: "Scalar Unit",
      bars: [
        { share: 0.25, amount: "50 of 200 instructions" },
        { share: null, amount: "0 of 0 instructions" },
      ],
    });
    expect(groups[1]?.units[1]).toEqual({ name: "HBM Read Ratio - core 0", bars: [{ share: 0.5, amount: "512 B of 1 KiB" }] });
  });

  it("of many cores are cut, and say so", () => {
    const many = tableOf(Array.from({ length: 20 }, (_, device): Row => [device, 1, 0, "Scalar Unit", 1, 2, "instructions"]));
    const [group] = groupsOf(many, samplesOf(many)[0] as Sample);
    expect([group?.columns.length, group?.more]).toEqual([MOST_COLUMNS, 4]);
  });

  it("name the unit nearest to its peak, not the idle time", () => {
    expect(headline(table, first).title).toBe("Avg MXU Busy is nearest to its peak: 60.0%");
    expect(headline(table, second).title).toBe("The counters of this sample did not count");
  });
});

describe("utilization viewer", () => {
  it("draws units with achieved and peak, and keeps the chosen sample in the address", async () => {
    const shown = await show(ROWS);
    expect(shown.text()).toContain("50 of 200 instructions");
    expect(shown.root.querySelectorAll("section.card")).toHaveLength(4);
    (shown.root.querySelector(".pick-button") as HTMLElement).click();
    await settle(shown.root);
    [...shown.root.querySelectorAll<HTMLElement>('[role="option"]')].find((one) => one.textContent?.includes("kernel_b"))?.click();
    await settle(shown.root);
    expect(shown.keys.get("sample")).toBe("kernel_b #2");
    expect(shown.text()).toContain("did not count");
  });

  it("says why there is nothing", async () => {
    expect((await show([])).text()).toContain("units and peaks of other chips are not known");
  });
});
