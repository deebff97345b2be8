// The base of the memory viewer: the same program in another run.
import { useMemo } from "preact/hooks";
import { readModules } from "../../api/payload/modules";
import { hostOfBase, useComparison } from "../../page/compare/base_run";
import type { BaseAnswer } from "../../page/compare/base_run";
import { explain } from "../../page/failure/explain";
import type { PageProps } from "../../page/page";
import { storeAt } from "../../page/page_state";
import type { RunInfo } from "../../api/types";
import { Card } from "../../widgets/content/card";
import { FitTable } from "../../widgets/table/fit_table";
import { useLoad } from "../../widgets/status/use_load";
import { moduleOfBase, sizesTable } from "./base_tables";
import { documentOf } from "../../api/client";
import type { ProgramMemory } from "../../base/documents";

interface BaseModule {
  module: string;
  view: ProgramMemory;
}

/** The program of the base that corresponds to a program of the run. */
export function useBaseModule(page: PageProps, module: string, space: string): BaseAnswer<BaseModule> {
  const { tool, host, client, base } = page;
  const name = base.run;
  const comparison = useComparison(page);
  const loaded = useLoad(name === null ? null : JSON.stringify([name, host, module, space, comparison !== null]), async (signal) => {
    const info = await client.json<RunInfo>("run_info", { run: name }, { signal });
    const theirs = info.tools.find(({ id }) => id === tool.id);
    const chosen = theirs?.available ? hostOfBase(theirs, host) : undefined;
    if (!theirs?.available) return { data: null, host: null, why: theirs?.reason ?? "It has no compiled programs." };
    if (chosen === undefined) return { data: null, host: null, why: `It has no host named ${host ?? ""}.` };
    const same = moduleOfBase(
      readModules(await client.text("module_list", { run: name, host: chosen ?? undefined }, { signal })),
      module,
      comparison,
    );
    if (same === null) return { data: null, host: null, why: `It has no program that corresponds to ${module}.` };
    const params = { run: name, host: chosen ?? undefined, module_name: same, memory_space: space };
    return { data: { module: same, view: await documentOf(client, "memory_viewer", params, { signal }) }, host: chosen, why: null };
  });
  if (loaded.error !== null)
    return { run: name, data: null, host: null, why: explain(loaded.error, { run: name ?? undefined, tool: tool.id }).why };
  return { run: name, data: null, host: null, why: null, ...loaded.data };
}

export function BaseCard({ view, base, file, page }: { view: ProgramMemory; base: ProgramMemory; file: string; page: PageProps }) {
  const table = useMemo(() => sizesTable(view, base), [view, base]);
  const store = useMemo(() => storeAt(page.state, "t2"), [page.state]);
  return (
    <Card title="Memory against the base" help={"Sizes of the program in both runs.\nSource: HLO, buffer assignment."}>
      <FitTable most={320} data={table} title="" fileName={`${file}_base`} store={store} />
    </Card>
  );
}
