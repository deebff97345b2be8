// One module: its text with a search, its graph, and properties of the selected name.
import { useMemo, useState } from "preact/hooks";
import { plural } from "../../base/format";
import { documentOf } from "../../api/client";
import type { Params } from "../../api/client";
import type { PageProps } from "../../page/page";
import { fileNameOf } from "../../page/page_state";
import { useKey } from "../../page/use_key";
import { Card } from "../../widgets/content/card";
import { useLoad } from "../../widgets/status/use_load";
import { Details } from "./details";
import type { ShownInstruction } from "./graph/drawing";
import { opcodes } from "./text/hlo_text";
import type { HloText } from "./text/hlo_text";
import { GraphCard } from "./graph/card";
import { TextPane } from "./text/pane";
import { opTimes, readTimes } from "./times";
import { VIEW_KEYS, readView } from "./view_state";

interface Props {
  page: PageProps;
  module: string;
  hlo: HloText;
  /** Of requests about this module. */
  params: Params;
}

/** Describes the module in one line. */
function describeModule(module: string, hlo: HloText): string {
  const most = opcodes(hlo)
    .slice(0, 4)
    .map(([opcode, count]) => `${count} ${opcode}`);
  const entry = hlo.computations.find((one) => one.entry);
  return (
    `${module}: ${plural(hlo.instructions.length, "instruction")} in ` +
    `${plural(hlo.computations.length, "computation")}${entry ? `, entry ${entry.name}` : ""}; most frequent: ${most.join(", ")}.`
  );
}

export function Module({ page, module, hlo, params }: Props) {
  const { client, state } = page;
  const keys = Object.fromEntries(VIEW_KEYS.map((key) => [key, useKey(state, key)]));
  const view = readView((key) => keys[key] ?? null, hlo);
  const [facts, setFacts] = useState<ShownInstruction | null>(null);
  const request = opTimes(page.run, page.host);
  const timing = useLoad(JSON.stringify([request, module]), async (signal) =>
    readTimes(await documentOf(client, "hlo_stats", request, { signal }), module),
  );
  const times = timing.data && timing.data.byName.size > 0 ? timing.data : null;
  const untimed =
    times || timing.loading
      ? null
      : timing.error
        ? "No times: the profile has no table of HLO ops for this host."
        : "No times: no op of this module ran while the profile was recorded.";
  const go = (target: string): void => state.set({ node_name: target, sel: null, expand: null, max_nodes: null }, "push");
  const selected = view.selected === null ? -1 : (hlo.byName.get(view.selected) ?? -1);
  const chosen = hlo.instructions[selected]?.line ?? (view.name === null ? -1 : (hlo.computations[view.computation]?.line ?? -1));
  const title = view.selected ?? hlo.computations[view.computation]?.name ?? "";
  const known = view.instruction >= 0 || view.computation >= 0;
  const more = useMemo(() => ({ ...params, show_metadata: true }), [JSON.stringify(params)]);
  return (
    <>
      <p class="graph-summary">{describeModule(module, hlo)}</p>
      <div class={`graph-split parts-${view.parts}`}>
        {view.parts === "graph" ? null : <TextPane hlo={hlo} state={state} chosen={chosen} named={view.name !== null} onGo={go} />}
        <div class="graph-side">
          {known ? (
            <>
              <Card
                title={title}
                class="graph-details"
                tools={
                  view.name !== null ? (
                    <button
                      type="button"
                      class="button ghost"
                      onClick={() => state.set({ node_name: null, sel: null, expand: null, max_nodes: null }, "push")}
                    >
                      Entry
                    </button>
                  ) : null
                }
              >
                <Details
                  hlo={hlo}
                  instruction={selected}
                  computation={view.computation}
                  facts={facts?.name === view.selected ? facts : null}
                  times={times}
                  client={page.client}
                  params={more}
                  onGo={go}
                />
              </Card>
              {view.parts === "text" ? null : (
                <GraphCard
                  page={page}
                  module={module}
                  view={view}
                  params={more}
                  times={times}
                  untimed={untimed}
                  fileName={fileNameOf(module, title)}
                  onFacts={setFacts}
                />
              )}
            </>
          ) : (
            <Card title={view.name === null ? "No entry computation" : `There is no ${view.name}`}>
              <p>
                {view.name === null
                  ? "The text marks no entry computation; select a name in it."
                  : `No instruction or computation of ${module} has this name. It may be in another module: choose one above, or search the text.`}
              </p>
            </Card>
          )}
        </div>
      </div>
    </>
  );
}
