import { expect, it } from "vitest";
import type { ComparedRuns } from "../../base/documents";
import { BaseLine } from "./base_run";
import { COMPARISON } from "./comparison_testing";
import type { PageProps } from "../page";
import { usePerStep } from "./per_step";
import { settle, showPage } from "../testing";

const tool = { id: "kernel_stats", title: "Kernel Stats", group: "Ops", hosts: "one" as const };

/** A page that shows what its totals are divided by. */
function pageOf(found: ComparedRuns | null) {
  function Page(page: PageProps) {
    const per = usePerStep(page, found);
    return (
      <div>
        <BaseLine page={page} answer={{ run: page.base.run, data: 1, host: null, why: null }} per={per} />
        <i>{JSON.stringify(per.steps)}</i>
      </div>
    );
  }
  return { ids: ["kernel_stats"], Page, compares: true };
}
const divisor = (root: Element) => root.querySelector("i")?.textContent;
const press = async (root: Element, name: string) => {
  [...root.querySelectorAll("button")].find(({ textContent }) => textContent === name)?.click();
  await settle(root);
};

it("compares recordings of different length per step, and totals on request", async () => {
  const { root, keys, text } = await showPage(pageOf(COMPARISON), tool, {}, { base: "before" });
  expect(text()).toContain("Compared with before. Times and counts are per step: 6 steps in the base, 4 steps here.");
  expect(divisor(root)).toBe('{"run":4,"base":6}');
  await press(root, "Total");
  expect(keys.get("totals")).toBe("1");
  expect(text()).toContain("Times and counts are totals of the recordings: 6 steps in the base, 4 steps here.");
  expect(divisor(root)).toBe("null");
  await press(root, "Per step");
  expect(keys.has("totals")).toBe(false);
});

it("compares totals, and says so, if a side has no steps or nothing is known", async () => {
  const without = await showPage(
    pageOf({ ...COMPARISON, base: { ...COMPARISON.base, recorded_steps: null } }),
    tool,
    {},
    { base: "before" },
  );
  expect(without.text()).toContain("Times and counts are totals of the recordings, which may differ in length: not both have steps.");
  expect(divisor(without.root)).toBe("null");
  expect(without.root.querySelector(".segmented")).toBeNull();
  const unknown = await showPage(pageOf(null), tool, {}, { base: "before" });
  expect(unknown.text()).toContain("Times and counts are totals of the recordings.");
});
