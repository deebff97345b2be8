// The card with the drawing: asks the server for it, and changes the address as fusions open and nodes are chosen.
import { useEffect } from "preact/hooks";
import { plural } from "../../../base/format";
import type { Params } from "../../../api/client";
import type { PageProps } from "../../../page/page";
import { Pending } from "../../../page/failure/pending";
import { Card } from "../../../widgets/content/card";
import { useLoad } from "../../../widgets/status/use_load";
import { documentOf } from "../../../api/client";
import { drawnAs } from "./drawing";
import type { ShownInstruction } from "./drawing";
import { Graph, useLatest } from "./graph";
import type { ModuleTimes } from "../times";
import { MAX_STEPS, toggled } from "../view_state";
import type { View } from "../view_state";

interface Props {
  page: PageProps;
  module: string;
  view: View;
  /** Of requests about this module. */
  params: Params;
  times: ModuleTimes | null;
  untimed: string | null;
  fileName: string;
  /** Tells what the drawing knows about the selected instruction. */
  onFacts: (facts: ShownInstruction | null) => void;
}

export function GraphCard({ page, module, view, params, times, untimed, fileName, onFacts }: Props) {
  const { client, state } = page;
  const { name, instruction, merged, opened, steps, nodes } = view;
  const asked: Params = {
    ...params,
    node_name: name ?? undefined,
    graph_width: steps,
    merge_fusion: merged,
    expand: opened.join(",") || undefined,
  };
  const answer = useLoad(JSON.stringify([asked, nodes]), (signal) =>
    documentOf(client, "graph_viewer", { ...asked, type: "json", max_nodes: nodes }, { signal }),
  );
  const identity = JSON.stringify([module, name, steps, merged]);
  const drawing = useLatest(answer.data, identity);
  const selected = drawing ? drawnAs(drawing, view.selected) : null;
  useEffect(() => onFacts(selected), [selected]);
  const title = name ?? drawing?.computation ?? "";
  const file = (form: string): string => client.url("page", { ...asked, node_name: title, type: "graph", format: form });
  const tools = (
    <>
      {instruction >= 0 ? (
        <>
          <label class="graph-steps">
            Steps{" "}
            <input
              class="field"
              type="number"
              min="1"
              max={MAX_STEPS}
              value={steps}
              onChange={(event) => state.set({ graph_width: event.currentTarget.value }, "replace")}
            />
          </label>
          {drawing ? (
            <button
              type="button"
              class="button ghost"
              onClick={() => state.set({ node_name: drawing.computation, sel: name, expand: null }, "push")}
            >
              Whole computation
            </button>
          ) : null}
        </>
      ) : null}
      <label class="graph-steps">
        <input
          type="checkbox"
          checked={!merged}
          onChange={(event) => state.set({ merge_fusion: event.currentTarget.checked ? "false" : null, expand: null }, "push")}
        />{" "}
        Open fusions
      </label>
      <a class="button ghost" href={file("dot")} download={`${title}.dot`}>
        DOT
      </a>
      <a class="button ghost" data-tip="A page with the picture, for any browser" href={file("html")} download={`${title}.html`}>
        HTML
      </a>
    </>
  );
  return (
    <Card
      title={instruction >= 0 ? "Neighbourhood" : "Graph"}
      class="graph-card"
      help={
        "Operands above, users below. Constants, parts of tuples and constant arguments are written into the nodes that use them, as XLA draws programs."
      }
      tools={tools}
    >
      {drawing ? (
        <Graph
          drawing={drawing}
          identity={identity}
          selected={view.selected}
          colouring={times ? view.colouring : "kind"}
          times={times}
          untimed={untimed}
          closable={merged}
          fileName={fileName}
          label={
            `${instruction >= 0 ? `Graph around ${title}` : `Graph of ${title}`}: ${plural(drawing.nodes.length, "node")}, ` +
            `${plural(drawing.edges.length, "edge")}.`
          }
          onSelect={(one) => state.set({ sel: one }, view.selected === one ? "replace" : "push")}
          onCenter={(one) => state.set({ node_name: one, sel: null, expand: null, max_nodes: null }, "push")}
          onToggle={(one) => {
            if (merged) state.set({ expand: toggled(opened, one), sel: one }, "push");
            else state.set({ sel: one }, "push");
          }}
          onColour={(color) => state.set({ color: color === "kind" ? null : color }, "replace")}
          onMore={(count) => state.set({ max_nodes: String(count) }, "replace")}
        />
      ) : (
        <Pending answer={answer} page={page} what={`Drawing ${title || module}`} rows={8} />
      )}
    </Card>
  );
}
