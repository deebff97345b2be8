import { expect, it } from "vitest";
import { settle, showPage } from "../../page/testing";
import page from "./page";
import type { PythonStacks } from "../../base/documents";
import { frameName, pythonFrames } from "./python";
import { pythonHeadline } from "./python_view";
import { answerOf } from "./testing";

const STACKS: PythonStacks = {
  hosts: [
    {
      host: "h",
      names: ["main thread", "$train.py:9 main", "$train.py:5 step", "Execute"],
      name: [0, 1, 2, 3],
      parent: [-1, 0, 1, 2],
      self_ps: [0, 30e6, 55e6, 15e6],
    },
  ],
  reason: null,
  left_out: [],
};
const TOOL = { id: "source_view", title: "Source", group: "Ops", hosts: "one_or_all" } as const;
const server =
  (stacks: unknown) =>
  ({ searchParams }: URL): unknown =>
    searchParams.get("tag") === "python_stacks" ? stacks : answerOf({ dot: 60e6, add: 30e6, lost: 10e6 });

it("names frames by function, then place", () => {
  expect(["$train.py:9 main", "$builtins.print", "Execute"].map(frameName)).toEqual(["main (train.py:9)", "builtins.print", "Execute"]);
});

it("has hosts, threads and calls, beside those of a base", () => {
  const root = pythonFrames(STACKS, STACKS, { run: 2, base: 1 });
  expect([root.value, root.base]).toEqual([50e6, 100e6]);
  const main = root.children[0]?.children[0]?.children[0];
  expect([main?.name, main?.value, main?.children[0]?.name]).toEqual(["main (train.py:9)", 50e6, "step (train.py:5)"]);
  expect(pythonHeadline(STACKS)).toBe("55.0% of 100 us of Python threads is spent in step (train.py:5)");
});

it("is a view of the page, and the way back is one click", async () => {
  const shown = await showPage(page, TOOL, server(STACKS), { group_by: "python" });
  expect(shown.root.querySelector(".summary h2")?.textContent).toContain("is spent in step (train.py:5)");
  expect(shown.root.querySelector(".flame canvas")).not.toBeNull();
  [...shown.root.querySelectorAll("button")].find((one) => one.textContent === "Lines of devices")?.click();
  await settle(shown.root);
  expect(shown.keys.has("group_by")).toBe(false);
  expect(shown.root.querySelector(".src-grid")).not.toBeNull();
});

it("says what to do without Python frames", async () => {
  const shown = await showPage(page, TOOL, server({ hosts: [], reason: "No call of Python was recorded." }), { group_by: "python" });
  expect(shown.text()).toContain("No call of Python was recorded.");
});
