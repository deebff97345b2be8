// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { showPage } from "../../page/testing";
import { tableOf } from "../../base/testing";
import page from "./page";

const COUNTERS = { host: ["h", "h"], chip: [0, 0], counter: ["cycles", "vst"], value: [900.5, 7], sets: ["a", "b"] };
const show = (counters: Parameters<typeof tableOf>[0]) =>
  showPage(page, { id: "perf_counters", title: "Perf Counters", group: "Ops", hosts: "one_or_all" }, { counters: tableOf(counters) });

describe("perf counters", () => {
  it("hides the only host, not counter sets that differ", async () => {
    const shown = await show(COUNTERS);
    const heads = [...shown.root.querySelectorAll('[role="columnheader"]')].map((head) => head.textContent ?? "");
    expect(heads.map((head) => head.split(" ")[0])).not.toContain("host");
    expect(heads.some((head) => head.startsWith("sets"))).toBe(true);
  });

  it("says why there is nothing", async () => {
    expect((await show({ host: [], value: [] })).text()).toContain("No values of performance counters");
  });
});
