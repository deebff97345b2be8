import { expect, it, vi } from "vitest";
import type { PageProps } from "../../page/page";
import type { AllocationsOverTime } from "../../base/documents";
import { tableOf } from "../../base/testing";
import { showPage } from "../../page/testing";
import { CATEGORIES } from "../../base/steps/step_category";
import { PARTS } from "./model";
import { liveSentence, recordedChart } from "./over_time";
import { MEMORY } from "./testing";
import { TimelineCard } from "./timeline_card";

vi.mock("../../widgets/chart/canvas", () => ({ ChartCanvas: () => null }));

const TOOL = { id: "memory_profile", title: "Memory Profile", group: "Memory", hosts: "one" } as const;
const IDS = ["op", "size", "requested", "source", "region", "step", "allocated_ps", "freed_ps", "freed_by", "data_type", "shape"];
const BLOCKS = [
  ["a", 64, 60, "/src/train.py:3", "output", 0, 1e9, 4e9, "free", "float", "[16]"],
  ["b", 32, 32, "", "", 0, 2e9, null, "", "", ""],
];
const ANSWER: AllocationsOverTime = {
  memory: "0",
  host: "h",
  instants: 3,
  peak: 1,
  shown: [0, 1, 2],
  time_ps: [1e9, 2e9, 4e9],
  heap: [74, 106, 42],
  stacks: {
    region: [
      { name: "output", bytes: [64, 64, 0] },
      { name: "no region recorded", bytes: [0, 32, 32] },
      { name: "allocated before or not recorded", bytes: [10, 10, 10] },
    ],
    op: [
      { name: "a", bytes: [64, 64, 0] },
      { name: "b", bytes: [0, 32, 32] },
      { name: "allocated before or not recorded", bytes: [10, 10, 10] },
    ],
    step: [{ name: "step 0", bytes: [74, 106, 42] }],
    line: [{ name: "no line recorded", bytes: [74, 106, 42] }],
  },
  instant: 1,
  at_ps: 2e9,
  live_bytes: 96,
  blocks: 2,
  rest_bytes: 10,
  live: tableOf(Object.fromEntries(IDS.map((id, i) => [id, BLOCKS.map((row) => row[i] ?? null)]))),
  left_out: [],
};

it("stacks regions, ops and steps, which add up to the memory in use", () => {
  for (const by of ["region", "op", "step"] as const) {
    const chart = recordedChart(ANSWER, by);
    expect(chart.at.map((_, i) => chart.series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))).toEqual(ANSWER.heap);
  }
  const chart = recordedChart(ANSWER, "op");
  expect([chart.at, chart.x.name]).toEqual([[1e9, 2e9, 4e9], "Timestamp (ms)"]);
  expect(chart.tip(1)).toMatchObject({
    title: "At 2 ms",
    lines: [{ text: "106 B" }, { name: "A", text: "64 B" }, { name: "B" }, { text: "10 B" }],
  });
});

it("says what the list is", () => {
  expect(liveSentence(ANSWER)).toBe(
    "96 B in recorded blocks at the peak in 2 blocks. 10 B more are in use: the stack of programs, " +
      "what was allocated before the recording, or is not recorded.",
  );
  expect(liveSentence({ ...ANSWER, instant: 2, at_ps: 4e9, rest_bytes: 0 })).toBe("96 B in recorded blocks at 4 ms in 2 blocks.");
});

it("asks for the moment in the address, and leads from a block to its line", async () => {
  const asked: URL[] = [];
  const Page = (page: PageProps) => (
    <TimelineCard page={page} memory={MEMORY} own={["instant"]} file="f" zoom={null} onZoom={() => undefined} />
  );
  const { root, keys } = await showPage(
    { ids: [], Page },
    TOOL,
    (address: URL) => (asked.push(address), { ...ANSWER, instant: 2, at_ps: 4e9 }),
    { instant: "2" },
  );
  expect([asked[0]?.searchParams.get("tag"), asked[0]?.searchParams.get("memory_id"), asked[0]?.searchParams.get("instant")]).toEqual([
    "allocations_over_time",
    "0",
    "2",
  ]);
  expect(root.textContent).toContain("96 B in recorded blocks at 4 ms");
  expect(root.textContent).toContain("Blocks at 4 ms");
  [...root.querySelectorAll("button")].find((one) => one.textContent === "By step")?.click();
  expect(keys.get("stack")).toBe("step");
  [...root.querySelectorAll("button")].find((one) => one.textContent === "Back to the peak")?.click();
  expect(keys.has("instant")).toBe(false);
});

it("asks for the blocks only when they are needed, and has one table, of the peak", async () => {
  const asked: URL[] = [];
  const Page = (page: PageProps) => <TimelineCard page={page} memory={MEMORY} own={[]} file="f" zoom={null} onZoom={() => undefined} />;
  const { root } = await showPage({ ids: [], Page }, TOOL, (address: URL) => (asked.push(address), ANSWER));
  expect([asked.length, root.querySelectorAll(".table").length]).toEqual([0, 1]);
  expect(root.textContent).toContain("Live allocations at the peak");
});

it("has the stack in its own colour, and what is not known in grey", () => {
  const chart = recordedChart(
    { ...ANSWER, stacks: { ...ANSWER.stacks, region: [{ name: "stack of programs", bytes: [74, 106, 42] }] } },
    "region",
  );
  expect(chart.series.map(({ colour, striped }) => [colour, striped])).toEqual([[PARTS.stack.colour, true]]);
  expect(recordedChart(ANSWER, "region").series.map(({ colour }) => colour)).toEqual([0, 3, CATEGORIES.other.colour]);
});
