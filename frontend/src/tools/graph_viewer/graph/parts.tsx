// The visible nodes, boxes and edges of a drawing.
import { cutMiddle } from "../../../base/format";
import { textOn } from "../../../base/colour";
import type { Theme } from "../../../base/colour";
import { edgePath } from "../../../widgets/graph/edge_path";
import { within } from "../../../widgets/graph/viewport";
import type { Viewport } from "../../../widgets/graph/viewport";
import type { GraphBox, GraphEdge, GraphNode, HloGraph, PlacedRect } from "../../../base/documents";
import { fillOf, readingOf } from "../times";
import type { Colouring, ModuleTimes, Reading } from "../times";

const CHARS = 23;
const LINE = 14;
const MOST_INLINE = 3;
/** Size of the button that opens a fusion. */
const TOGGLE = 16;

export const nodeId = (id: number): string => `hlo-node-${id}`;

export interface Look {
  selected: string | null;
  found: ReadonlySet<string>;
  colouring: Colouring;
  times: ModuleTimes | null;
  theme: Theme;
  /** Whether single fusions can be closed. */
  closable: boolean;
}

export interface Actions {
  onSelect: (name: string) => void;
  onCenter: (name: string) => void;
  onToggle: (name: string) => void;
}

interface Props extends Look, Actions {
  drawing: HloGraph;
  viewport: Viewport;
  /** Draw frames without texts. */
  plain: boolean;
}

const seen = (viewport: Viewport, { x, y, width, height }: PlacedRect): boolean => within(viewport, x, y, x + width, y + height);

function crosses(viewport: Viewport, { points }: GraphEdge): boolean {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
  return within(viewport, left, top, right + 1, bottom + 1);
}

export function VisibleGraph(props: Props) {
  const { drawing, viewport, plain, selected } = props;
  const selectedId = drawing.nodes.find(({ name }) => name === selected)?.id ?? null;
  // Edges of the selected node come last, above the others.
  const edges = drawing.edges.filter((edge) => crosses(viewport, edge));
  const near = edges.filter(({ source, target }) => source === selectedId || target === selectedId);
  return (
    <>
      <defs>
        <marker
          id="graph-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="9"
          markerHeight="9"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8Z" class="graph-head" />
        </marker>
        <marker
          id="graph-arrow-near"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="11"
          markerHeight="11"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8Z" class="graph-head near" />
        </marker>
      </defs>
      {drawing.boxes
        .filter((box) => seen(viewport, box))
        .map((box) => (
          <OpenBox key={box.caller} {...props} box={box} />
        ))}
      {edges.map((edge, i) => (
        <path key={i} class={`graph-edge ${edge.kind}`} d={edgePath(edge.points)} marker-end={plain ? undefined : "url(#graph-arrow)"} />
      ))}
      {near.map((edge, i) => (
        <path key={`near ${i}`} class={`graph-edge near ${edge.kind}`} d={edgePath(edge.points)} marker-end="url(#graph-arrow-near)" />
      ))}
      {drawing.root && seen(viewport, drawing.root) ? <Tag at={drawing.root} /> : null}
      {drawing.nodes
        .filter((node) => seen(viewport, node))
        .map((node) => (
          <NodeView key={node.id} {...props} node={node} />
        ))}
    </>
  );
}

function Tag({ at: { x, y, width, height } }: { at: PlacedRect }) {
  return (
    <g class="graph-tag">
      <rect x={x} y={y} width={width} height={height} rx={height / 2} />
      <text x={x + width / 2} y={y + height / 2 + 4} text-anchor="middle">
        result
      </text>
    </g>
  );
}

function Toggle({ x, y, open, name, onToggle }: { x: number; y: number; open: boolean; name: string; onToggle: (name: string) => void }) {
  const label = open ? `Close ${name}` : `Open ${name} in place`;
  return (
    <g
      class="graph-toggle"
      role="button"
      aria-label={label}
      data-tip={`${label} (E)`}
      onClick={(event) => {
        event.stopPropagation();
        onToggle(name);
      }}
    >
      <rect x={x} y={y} width={TOGGLE} height={TOGGLE} rx="3" />
      <path d={`M${x + 4} ${y + TOGGLE / 2}h${TOGGLE - 8}${open ? "" : `M${x + TOGGLE / 2} ${y + 4}v${TOGGLE - 8}`}`} />
    </g>
  );
}

function OpenBox({ box, plain, selected, colouring, times, theme, closable, onSelect, onCenter, onToggle }: Props & { box: GraphBox }) {
  const reading = readingOf(times, box.name, colouring === "kind" ? "time" : colouring);
  const letters = Math.max(6, Math.floor((box.width - 40) / 7));
  return (
    <g
      class={`graph-box${box.name === selected ? " chosen" : ""}`}
      data-tip={`${box.name}: ${box.opcode}\n${box.computation}\n${box.shape}`}
      onClick={() => onSelect(box.name)}
      onDblClick={() => onCenter(box.name)}
    >
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx="6" />
      {reading && colouring !== "kind" ? (
        <rect
          class="graph-reading-bar"
          x={box.x + 6}
          y={box.y + 4}
          width={box.width - 12}
          height="4"
          rx="2"
          style={{ fill: fillOf(reading.place, colouring, theme) }}
        />
      ) : null}
      {plain ? null : (
        <text class="graph-name" x={box.x + 10} y={box.y + 22}>
          {cutMiddle(`${box.name} ${reading ? ` ${readingText(reading, colouring)}` : ""}`, letters)}
        </text>
      )}
      {box.fusion && closable && !plain ? (
        <Toggle x={box.x + box.width - TOGGLE - 8} y={box.y + 11} open name={box.name} onToggle={onToggle} />
      ) : null}
    </g>
  );
}

/** What the tooltip and screen readers say of a node. */
export function describeNode({ name, opcode, root, shape, boundary }: GraphNode, reading: Reading | null, what: string): string {
  return [
    name,
    `${opcode}${root ? ", result of its computation" : ""}`,
    shape,
    reading ? `${what}: ${reading.text}` : "",
    boundary ? "Dashed outline: some neighbours are not shown." : "",
  ]
    .filter(Boolean)
    .join("\n");
}

const WHAT: Record<Colouring, string> = {
  kind: "Self time over all occurrences",
  time: "Self time over all occurrences",
  flops: "FLOP rate",
  memory: "Bandwidth",
};

/** The reading as it stands on a node: what it is of, as a number alone does not say. */
export function readingText({ text }: Reading, colouring: Colouring): string {
  return colouring === "kind" || colouring === "time" ? `self ${text}` : `${text} of peak`;
}

function NodeView({ node, plain, selected, found, colouring, times, theme, onSelect, onCenter, onToggle }: Props & { node: GraphNode }) {
  const reading = readingOf(times, node.name, colouring === "kind" ? "time" : colouring);
  const readingLabel = reading ? readingText(reading, colouring) : "";
  const fill = colouring !== "kind" && reading ? fillOf(reading.place, colouring, theme) : null;
  const ink = fill ? textOn(fill) : null;
  const chosen = node.name === selected;
  const { x, y, width, height } = node;
  const inline =
    node.inline.length > MOST_INLINE
      ? [...node.inline.slice(0, MOST_INLINE - 1).map(inlineText), `and ${node.inline.length - MOST_INLINE + 1} more operands`]
      : node.inline.map(inlineText);
  const lines = [node.applies.length ? `${node.opcode} (${node.applies.join(", ")})` : node.opcode, node.shape, ...inline];
  return (
    <g
      id={nodeId(node.id)}
      role="img"
      class={[
        "graph-node",
        `op-${node.group}`,
        chosen ? "chosen" : "",
        node.boundary ? "open" : "",
        found.has(node.name) ? "found" : "",
        colouring !== "kind" && !fill ? "unmeasured" : "",
      ]
        .filter(Boolean)
        .join(" ")}
      aria-label={describeNode(node, reading, WHAT[colouring])}
      data-tip={describeNode(node, reading, WHAT[colouring])}
      onClick={() => onSelect(node.name)}
      onDblClick={() => onCenter(node.name)}
    >
      <rect class="graph-frame" x={x} y={y} width={width} height={height} rx="4" style={fill ? { fill } : undefined} />
      <rect class="graph-stripe" x={x} y={y} width="5" height={height} />
      {plain ? null : (
        <g style={ink ? { fill: ink } : undefined}>
          <text class="graph-name" x={x + 11} y={y + 16}>
            {cutMiddle(node.name, CHARS - (node.opcode === "fusion" ? 2 : 0))}
          </text>
          {lines.map((line, i) => (
            <text key={i} class={i > 1 ? "graph-inline" : undefined} x={x + 11} y={y + 16 + LINE * (i + 1)}>
              {cutMiddle(line, i === 0 && reading ? CHARS - readingLabel.length - 1 : CHARS)}
            </text>
          ))}
          {reading ? (
            <text class="graph-reading" x={x + width - 6} y={y + 16 + LINE} text-anchor="end">
              {readingLabel}
            </text>
          ) : null}
        </g>
      )}
      {node.opcode === "fusion" && node.calls.length && !plain ? (
        <Toggle x={x + width - TOGGLE - 4} y={y + 4} open={false} name={node.name} onToggle={onToggle} />
      ) : null}
    </g>
  );
}

const inlineText = ({ operand, text }: { operand: number; text: string }): string => `${operand}: ${text}`;
