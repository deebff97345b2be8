// What is where in a drawing: the instruction of a name, the node that a key leads to, nodes that contain a text.
import type { GraphBox, GraphNode, HloGraph, PlacedRect } from "../../../base/documents";

/** An instruction, drawn as a node or open as a box. */
export type ShownInstruction = GraphNode | GraphBox;

/** Where an instruction is drawn: its node, or the box that it is open as. */
export function drawnAs(drawing: HloGraph, name: string | null): ShownInstruction | null {
  return drawing.nodes.find((one) => one.name === name) ?? drawing.boxes.find((one) => one.name === name) ?? null;
}

const middle = ({ x, width }: PlacedRect): number => x + width / 2;

/** Of several nodes the one that is horizontally nearest. */
function nearest(nodes: readonly GraphNode[], from: PlacedRect): GraphNode | null {
  return nodes.reduce<GraphNode | null>(
    (best, one) => (best === null || Math.abs(middle(one) - middle(from)) < Math.abs(middle(best) - middle(from)) ? one : best),
    null,
  );
}

/** The node that an arrow key leads to: up to an operand, down to a user, sideways in the layer; null for other keys. */
export function neighbour(drawing: HloGraph, name: string | null, key: string): string | null {
  const namedNode = drawing.nodes.find((one) => one.name === name);
  if (!key.startsWith("Arrow")) return null;
  if (!namedNode) return drawing.nodes.find((one) => one.name === drawing.center)?.name ?? drawing.nodes[0]?.name ?? null;
  const ids = new Set(
    drawing.edges.flatMap(({ source, target }) =>
      key === "ArrowUp" && target === namedNode.id ? [source] : key === "ArrowDown" && source === namedNode.id ? [target] : [],
    ),
  );
  if (ids.size > 0)
    return (
      nearest(
        drawing.nodes.filter(({ id }) => ids.has(id)),
        namedNode,
      )?.name ?? null
    );
  const side = drawing.nodes.filter(
    (one) =>
      one.y < namedNode.y + namedNode.height &&
      one.y + one.height > namedNode.y &&
      (key === "ArrowLeft" ? one.x < namedNode.x : key === "ArrowRight" && one.x > namedNode.x),
  );
  return nearest(side, namedNode)?.name ?? null;
}

/** Names of the nodes that contain a text in name, opcode, shape, framework op or source; case does not matter. */
export function findNodes(drawing: HloGraph, query: string): string[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  return drawing.nodes
    .filter((one) => [one.name, one.opcode, one.shape, one.op_name, one.source].some((text) => text.toLowerCase().includes(wanted)))
    .map(({ name }) => name);
}
