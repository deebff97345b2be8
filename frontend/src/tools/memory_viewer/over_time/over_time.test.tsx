import { expect, it, vi } from "vitest";
import type { PageProps } from "../../../page/page";
import { settle, showPage } from "../../../page/testing";
import type { Shown } from "../../../page/testing";
import { OverTime } from "./card";
import { fitSentence, largestFactor, overTimeChart, overTimeTable, peakAt, toggled } from "./model";
import { OVER_TIME } from "./testing";

vi.mock("../../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

const TOOL = { id: "memory_viewer", title: "Memory Viewer", group: "Memory", hosts: "one" } as const;

async function show(keys: Record<string, string> = {}, part: "timeline" | "fit" = "fit"): Promise<Shown & { asked: URL[] }> {
  const asked: URL[] = [];
  const Page = (page: PageProps) => <OverTime page={page} module="jit_f(1)" own={[]} file="f" part={part} />;
  const shown = await showPage({ ids: [], Page }, TOOL, (address: URL) => (asked.push(address), OVER_TIME), keys);
  return { ...shown, asked };
}

it("stacks kinds or lines, which add up to the heap at every instant", () => {
  for (const by of ["category", "line"] as const) {
    const chart = overTimeChart(OVER_TIME, by);
    const sums = chart.at.map((_, i) => chart.series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
    expect(sums).toEqual(OVER_TIME.heap);
    expect(chart.series.every(({ draw }) => draw === "area")).toBe(true);
  }
  expect(overTimeChart(OVER_TIME, "category").tip(1)).toMatchObject({
    title: "After a",
    lines: [{ text: "1 KiB" }, { name: "Argument", text: "512 B" }, { name: "Parameter" }, { name: "Temporary" }],
  });
  expect(overTimeTable(OVER_TIME, "line").columns.map(({ label }) => label)).toEqual([
    "Instant",
    "Instruction",
    "Sum",
    "Train.py:3",
    "No location",
  ]);
});

it("predicts the peak of other batches, which may lie at another instant", () => {
  expect([0.5, 1, 2].map((k) => peakAt(OVER_TIME, k))).toEqual([640, 1024, 1792]);
  const moving = {
    corners: [
      [400, 64, 0],
      [0, 192, 0],
    ] as const,
  };
  expect([1, 3, 4].map((k) => peakAt(moving, k))).toEqual([464, 592, 768]);
  expect(largestFactor(moving, 960)).toBe(5);
  expect([largestFactor({ corners: [[100, 0, 0]] }, 200), largestFactor({ corners: [[300, 1, 0]] }, 200)]).toEqual([null, null]);
});

it("counts what leaves the storage of results only above its factor", () => {
  const leaving = {
    corners: [
      [100, 10, 0],
      [100, 30, 2],
    ] as const,
  };
  expect([1, 2, 3].map((k) => peakAt(leaving, k))).toEqual([110, 120, 190]);
  expect([115, 130, 220].map((device) => largestFactor(leaving, device))).toEqual([1.5, 2, 4]);
});

it("says whether it fits", () => {
  expect(fitSentence(OVER_TIME, 2)).toBe(
    "Batch × 2.0 (8 to 16): peak of 1.750 KiB (1.575 KiB to 2.100 KiB if the compiler fuses otherwise), 1.8 times today's 1 KiB. " +
      "It probably fits: 256 B of 2 KiB stay free. The largest that fits is about × 2.3.",
  );
  expect(fitSentence({ ...OVER_TIME, batch: 0 }, 4)).toContain("Batch × 4.0: peak of 3.250 KiB");
  expect(fitSentence(OVER_TIME, 4)).toContain("It does not fit: 1.250 KiB are missing.");
  expect(fitSentence({ ...OVER_TIME, device_bytes: 0 }, 1)).toBe("Batch × 1.0 (8 to 8): peak of 1 KiB, 1.0 times today's 1 KiB.");
});

it("keeps changed assumptions as a list", () => {
  expect(toggled(null, 7, true)).toBe("7");
  expect(toggled("12,3", 7, true)).toBe("3,7,12");
  expect(toggled("7", 7, false)).toBeNull();
});

it("has the table of a chosen moment; that of the peak is elsewhere on the page", async () => {
  const { root } = await show({}, "timeline");
  expect(root.textContent).toContain("1 KiB live at the peak in 3 buffers.");
  expect(root.querySelector(".table")).toBeNull();
  const moment = await showPage(
    { ids: [], Page: (page: PageProps) => <OverTime page={page} module="jit_f(1)" own={[]} file="f" part="timeline" /> },
    TOOL,
    () => ({ ...OVER_TIME, instant: 2, live_bytes: 768 }),
    { instant: "2" },
  );
  expect(moment.root.textContent).toContain("Buffers at instant 2");
  [...moment.root.querySelectorAll("button")].find((one) => one.textContent === "Back to the peak")?.click();
  expect(moment.keys.has("instant")).toBe(false);
});

it("asks again for another assumption", async () => {
  const { root, keys, asked } = await show();
  // No verdict without a question.
  expect(root.textContent).toContain("Move the slider");
  expect(root.textContent).not.toContain("fits");
  const boxes = [...root.querySelectorAll<HTMLInputElement>('.memory-fit-list input[type="checkbox"]')];
  expect(boxes.map(({ checked }) => checked)).toEqual([true, true, false]);
  expect([...root.querySelectorAll(".memory-fit-name")].map((one) => one.textContent)).toEqual(["x", "a", "params['w']"]);
  boxes[0]?.click();
  await settle(root);
  expect([keys.get("fixed"), keys.get("scaled")]).toEqual(["0", undefined]);
  expect(asked.at(-1)?.searchParams.get("fixed")).toBe("0");
});

it("the slider and the moment are in the address", async () => {
  const { root, keys, asked } = await show({ instant: "2", batch: "8" });
  expect(asked[0]?.searchParams.get("instant")).toBe("2");
  expect(root.textContent).toContain("Batch × 4.0 (8 to 32)");
  const slider = root.querySelector<HTMLInputElement>('input[type="range"]') as HTMLInputElement;
  slider.value = "0";
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  expect(keys.get("batch")).toBe("0");
});
