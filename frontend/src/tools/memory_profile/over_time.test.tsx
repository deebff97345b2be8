import { expect, it, vi } from "vitest";
import type { PageProps } from "../../page/page";
import type { AllocationsOverTime } from "../../base/documents";
import { tableOf } from "../../base/testing";
import { showPage } from "../../page/testing";
import { liveSentence, recordedChart } from "./over_time";
import { RecordedMoments } from "./over_time_card";

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
  expect([chart.at, chart.x.name]).toEqual([[1, 2, 4], "Time since the start of the recording (ms)"]);
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
  const Page = (page: PageProps) => <RecordedMoments page={page} memory="0" own={["instant"]} file="f" />;
  const { root, keys } = await showPage({ ids: [], Page }, TOOL, (address: URL) => (asked.push(address), ANSWER), { instant: "1" });
  expect([asked[0]?.searchParams.get("tag"), asked[0]?.searchParams.get("memory_id"), asked[0]?.searchParams.get("instant")]).toEqual([
    "allocations_over_time",
    "0",
    "1",
  ]);
  expect(root.textContent).toContain("96 B in recorded blocks at the peak");
  [...root.querySelectorAll("button")].find((one) => one.textContent === "By step")?.click();
  expect(keys.get("stack")).toBe("step");
});
