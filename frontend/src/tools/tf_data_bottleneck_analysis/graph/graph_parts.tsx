// The visible edges and nodes of the graph of a pipeline.
import { cutMiddle } from "../../../base/format";
import { edgePath } from "../../../widgets/graph/edge_path";
import { NODE_HEIGHT, NODE_WIDTH } from "./layout";
import type { Layout } from "./layout";
import { ROLES, nodeLines, describeNode } from "../model";
import { within } from "../../../widgets/graph/viewport";
import type { Viewport } from "../../../widgets/graph/viewport";
import type { Drawn } from "./tree";
import type { DataPipelineRun as Run } from "../../../base/documents";

const CHARS = 25;

export const nodeId = (at: number): string => `tfd-node-${at}`;

interface VisibleGraphProps {
  run: Run;
  drawn: readonly Drawn[];
  layout: Layout;
  selected: number;
  viewport: Viewport;
  /** Draw frames without texts. */
  plain: boolean;
  onChoose: (at: number) => void;
}

export function VisibleGraph({ run, drawn, layout, selected, viewport, plain, onChoose }: VisibleGraphProps) {
  const most = drawn.reduce((all, { self_ps, grouped }) => (grouped ? all : Math.max(all, self_ps)), 1);
  return (
    <>
      <defs>
        <marker
          id="tfd-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="10"
          markerHeight="10"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8Z" class="tfd-head" />
        </marker>
      </defs>
      {layout.edges.map(({ from, to }) => {
        const [child, parent] = [layout.places[from], layout.places[to]];
        const seen =
          child &&
          parent &&
          within(viewport, Math.min(child.x, parent.x), parent.y, Math.max(child.x, parent.x) + NODE_WIDTH, child.y + NODE_HEIGHT);
        return seen ? (
          <path
            key={from}
            class={drawn[from]?.role ? "tfd-edge critical" : "tfd-edge"}
            d={edgePath([
              [child.x + NODE_WIDTH / 2, child.y],
              [parent.x + NODE_WIDTH / 2, parent.y + NODE_HEIGHT],
            ])}
            marker-end="url(#tfd-arrow)"
          />
        ) : null;
      })}
      {layout.order.map((at) => {
        const [node, place] = [drawn[at], layout.places[at]];
        if (!node || !place || !within(viewport, place.x, place.y, place.x + NODE_WIDTH, place.y + NODE_HEIGHT)) return null;
        return (
          <Node
            key={node.id}
            at={at}
            node={node}
            run={run}
            x={place.x}
            y={place.y}
            level={place.depth + 1}
            most={most}
            selected={at === selected}
            plain={plain}
            onChoose={onChoose}
          />
        );
      })}
    </>
  );
}

interface NodeProps {
  at: number;
  node: Drawn;
  run: Run;
  x: number;
  y: number;
  level: number;
  /** Largest self time of an iterator, for the scale of the bars. */
  most: number;
  selected: boolean;
  plain: boolean;
  onChoose: (at: number) => void;
}

const CLASSES = ["", " critical", " critical bottleneck"] as const;

function Node({ at, node, run, x, y, level, most, selected, plain, onChoose }: NodeProps) {
  return (
    <g
      id={nodeId(at)}
      class={`tfd-node${CLASSES[node.role]}${selected ? " selected" : ""}${node.grouped ? " grouped" : ""}`}
      transform={`translate(${x} ${y})`}
      role="treeitem"
      aria-level={level}
      aria-selected={selected}
      data-tip={node.grouped ? `${node.name} are not shown.\nClick to show all.` : node.long_name}
      onClick={() => onChoose(at)}
    >
      <text class="tfd-spoken">{node.grouped ? `${describeNode(node, run)} Press Enter to show them.` : describeNode(node, run)}</text>
      {node.grouped ? <rect class="tfd-behind" x="6" y="6" width={NODE_WIDTH} height={NODE_HEIGHT} rx="5" /> : null}
      <rect class="tfd-frame" width={NODE_WIDTH} height={NODE_HEIGHT} rx="5" />
      {plain ? null : <NodeTexts node={node} run={run} most={most} />}
    </g>
  );
}

function NodeTexts({ node, run, most }: Pick<NodeProps, "node" | "run" | "most">) {
  return (
    // Screen readers have the sentence above.
    <g aria-hidden="true">
      <rect class="tfd-self" x="10" y="72" width={Math.max(0, (NODE_WIDTH - 20) * Math.min(1, node.self_ps / most))} height="16" />
      <text class="tfd-name" x="10" y="19">
        {cutMiddle(node.name, CHARS)}
      </text>
      <text class="tfd-role" x="10" y="35">
        {ROLES[node.role].mark}
      </text>
      {nodeLines(node, run).map(([name, value], i) => [
        <text key={name} class="tfd-key" x="10" y={52 + i * 16}>
          {name}
        </text>,
        <text key={`${name} value`} class="tfd-value" x={NODE_WIDTH - 10} y={52 + i * 16} text-anchor="end">
          {value}
        </text>,
      ])}
    </g>
  );
}
