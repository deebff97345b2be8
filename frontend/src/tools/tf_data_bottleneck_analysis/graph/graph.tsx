// The pipeline as a tree, with the root at the top and its inputs below; iterators are selected by click or key.
import { useMemo } from "preact/hooks";
import { GraphView } from "../../../widgets/graph/graph_view";
import type { Shown } from "../../../widgets/graph/graph_view";
import type { DataPipelineRun as Run } from "../../../base/documents";
import { VisibleGraph, nodeId } from "./graph_parts";
import { NODE_HEIGHT, NODE_WIDTH, layOut } from "./layout";
import { neighbour } from "./key_navigation";
import type { Drawn } from "./tree";

/** Below this scale, texts are illegible and only frames are drawn. */
const LEGIBLE = 0.28;
const READABLE = 0.85;

interface Props {
  run: Run;
  drawn: readonly Drawn[];
  /** Index into `drawn`, -1 for none. */
  selected: number;
  label: string;
  fileName: string;
  onSelect: (at: number) => void;
  /** Expands a group of siblings. */
  onExpand: (id: string) => void;
}

export function Graph({ run, drawn, selected, label, fileName, onSelect, onExpand }: Props) {
  const layout = useMemo(() => layOut(drawn), [drawn]);
  // Scroll initially to the bottleneck, later to the node selected by keys.
  const place = layout.places[selected >= 0 ? selected : drawn.findIndex(({ role }) => role === 2)];
  const focus = place ? { x: place.x, y: place.y, width: NODE_WIDTH, height: NODE_HEIGHT } : null;
  const choose = (at: number): void => {
    const node = drawn[at];
    if (node?.grouped) onExpand(node.id);
    else if (node) onSelect(at);
  };
  const onKey = (key: string): boolean => {
    const to = neighbour(key, selected, drawn, layout);
    if (to !== null) onSelect(to);
    else if (key === "Enter" && selected >= 0) choose(selected);
    else if (key === "Escape" && selected >= 0) onSelect(-1);
    else return false;
    return true;
  };
  return (
    <GraphView
      drawing={{ width: layout.width, height: layout.height, identity: run, readable: READABLE, focus }}
      label={label}
      fileName={fileName}
      role="tree"
      active={selected >= 0 ? nodeId(selected) : undefined}
      hint="Drag to move, Ctrl + wheel to zoom. Keys: arrows, + −, 0 fits, B bottleneck."
      onKey={onKey}
    >
      {(shown) => <Visible run={run} drawn={drawn} layout={layout} selected={selected} shown={shown} onChoose={choose} />}
    </GraphView>
  );
}

interface VisibleProps extends Pick<Parameters<typeof VisibleGraph>[0], "run" | "drawn" | "layout" | "selected" | "onChoose"> {
  shown: Shown;
}

/** Memoized: renders only when the visible part changes. */
function Visible({ run, drawn, layout, selected, shown: { viewport, scale, saving }, onChoose }: VisibleProps) {
  const plain = scale < LEGIBLE && !saving;
  return useMemo(
    () => (
      <VisibleGraph run={run} drawn={drawn} layout={layout} selected={selected} viewport={viewport} plain={plain} onChoose={onChoose} />
    ),
    [run, drawn, layout, selected, viewport, plain],
  );
}
