import { expect, it } from "vitest";
import { BaseLine, COMPARE, useComparedBase } from "./base_run";
import { COMPARISON } from "./comparison_testing";
import type { PageProps } from "../page";
import { settle, showPage } from "../testing";

const tool = { id: "kernel_stats", title: "Kernel Stats", group: "Ops", hosts: "one" as const };

function Page(page: PageProps) {
  const { base, found } = useComparedBase(page, { read: Number, params: { run: page.run, tag: tool.id } });
  return (
    <div>
      <BaseLine page={page} answer={base} />
      <i>{`${base.data} ${found !== null}`}</i>
    </div>
  );
}
const page = { ids: [tool.id], Page, compares: true };

/** A server whose comparison is answered when told. */
function server() {
  let answer: (body: unknown) => void = () => undefined;
  const comparison = new Promise((done) => {
    answer = done;
  });
  const info = { tools: [{ ...tool, available: true, host_names: ["h"] }] };
  return {
    answer,
    ask: (at: URL): unknown => (at.pathname.endsWith("run_info") ? info : at.searchParams.get("tag") === COMPARE ? comparison : 7),
  };
}

it.each([
  ["after it is there", COMPARISON, "7 true"],
  ["after it has failed", new Response("{}", { status: 404 }), "7 false"],
])("shows the base only with the comparison, %s", async (_, body, shown) => {
  const { ask, answer } = server();
  const { root, text } = await showPage(page, tool, ask, { base: "before" });
  expect(text()).toContain("Reading the base before…");
  expect(root.querySelector("i")?.textContent).toBe("null false");
  answer(body);
  await settle(root);
  expect(text()).toContain("Compared with before.");
  expect(root.querySelector("i")?.textContent).toBe(shown);
});
