// A drawing of the server: nodes, open computations and edges with their places; which node a key leads to.
import { asDict, asList, asNumber, asText } from "../../../api/payload/fields";
import type { Dict } from "../../../api/payload/fields";

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What is known of an instruction, drawn as a node or open as a box. */
export interface Facts {
  name: string;
  opcode: string;
  shape: string;
  /** What the framework called the op, and `file:line` in the program's source; "" if unknown. */
  opName: string;
  source: string;
  /** The calls that led there, innermost first. */
  stack: readonly string[];
  text: string;
}

export interface Node extends Rect, Facts {
  /** Row of the program, unique in the drawing. */
  id: number;
  group: string;
  computation: string;
  calls: readonly string[];
  /** What simple computations that it calls do, e.g. "add". */
  applies: readonly string[];
  root: boolean;
  /** Whether some neighbours are not shown. */
  boundary: boolean;
  /** Operands that are written into the node. */
  inline: readonly { operand: number; text: string }[];
}

/** An open computation with the facts of the instruction that calls it. */
export interface Box extends Rect, Facts {
  computation: string;
  fusion: boolean;
  /** Row of that instruction. */
  caller: number;
}

export interface Edge {
  from: number;
  /** -1: the tag of the result. */
  to: number;
  kind: string;
  points: readonly (readonly [number, number])[];
}

export interface Drawing {
  width: number;
  height: number;
  computation: string;
  center: string | null;
  leftOut: number;
  nodes: readonly Node[];
  boxes: readonly Box[];
  edges: readonly Edge[];
  /** The tag of the computation's result. */
  root: Rect | null;
}

const texts = (value: unknown, what: string): string[] => asList(value, what).map((one) => asText(one, what));

function rectOf(value: unknown): Rect {
  const [x = 0, y = 0, width = 0, height = 0] = asList(value, "a place").map((one) => asNumber(one, "a place"));
  return { x, y, width, height };
}

function readFacts(one: Dict): Facts {
  const text = (name: string): string => asText(one[name], name);
  return {
    name: text("name"),
    opcode: text("opcode"),
    shape: text("shape"),
    opName: text("opName"),
    source: text("source"),
    text: text("text"),
    stack: texts(one["stack"], "stack"),
  };
}

function readNode(value: unknown): Node {
  const fields = asDict(value, "a node");
  return {
    ...rectOf(fields["at"]),
    ...readFacts(fields),
    id: asNumber(fields["id"], "id of a node"),
    group: asText(fields["group"], "group of a node"),
    computation: asText(fields["computation"], "computation of a node"),
    calls: texts(fields["calls"], "calls"),
    applies: texts(fields["applies"], "applies"),
    root: fields["root"] === true,
    boundary: fields["boundary"] === true,
    inline: asList(fields["inline"], "inline").map((each) => {
      const operand: Dict = asDict(each, "an operand");
      return { operand: asNumber(operand["operand"], "number of an operand"), text: asText(operand["text"], "text of an operand") };
    }),
  };
}

function readBox(value: unknown): Box {
  const fields = asDict(value, "a box");
  return {
    ...rectOf(fields["at"]),
    ...readFacts(fields),
    computation: asText(fields["computation"], "computation of a box"),
    fusion: fields["fusion"] === true,
    caller: asNumber(fields["caller"], "caller of a box"),
  };
}

function readEdge(value: unknown): Edge {
  const fields = asDict(value, "an edge");
  const points = asList(fields["points"], "points").map((point): [number, number] => {
    const [x = 0, y = 0] = asList(point, "a point").map((each) => asNumber(each, "a point"));
    return [x, y];
  });
  return { from: asNumber(fields["from"], "from"), to: asNumber(fields["to"], "to"), kind: asText(fields["kind"], "kind"), points };
}

export function readDrawing(value: unknown): Drawing {
  const fields = asDict(value, "the drawing");
  return {
    width: asNumber(fields["width"], "width"),
    height: asNumber(fields["height"], "height"),
    leftOut: asNumber(fields["leftOut"], "leftOut"),
    computation: asText(fields["computation"], "computation"),
    center: typeof fields["center"] === "string" ? fields["center"] : null,
    nodes: asList(fields["nodes"], "nodes").map(readNode),
    boxes: asList(fields["boxes"], "boxes").map(readBox),
    edges: asList(fields["edges"], "edges").map(readEdge),
    root: fields["root"] === null ? null : rectOf(fields["root"]),
  };
}

/** Where an instruction is drawn: its node, or the box that it is open as. */
export function drawnAs(drawing: Drawing, name: string | null): (Rect & Facts) | null {
  return drawing.nodes.find((one) => one.name === name) ?? drawing.boxes.find((one) => one.name === name) ?? null;
}

const middle = ({ x, width }: Rect): number => x + width / 2;

/** Of several nodes the one that is horizontally nearest. */
function nearest(nodes: readonly Node[], from: Rect): Node | null {
  return nodes.reduce<Node | null>(
    (best, one) => (best === null || Math.abs(middle(one) - middle(from)) < Math.abs(middle(best) - middle(from)) ? one : best),
    null,
  );
}

/** The node that an arrow key leads to: up to an operand, down to a user, sideways in the layer; null for other keys. */
export function neighbour(drawing: Drawing, name: string | null, key: string): string | null {
  const namedNode = drawing.nodes.find((one) => one.name === name);
  if (!key.startsWith("Arrow")) return null;
  if (!namedNode) return drawing.nodes.find((one) => one.name === drawing.center)?.name ?? drawing.nodes[0]?.name ?? null;
  const ids = new Set(
    drawing.edges.flatMap(({ from, to }) =>
      key === "ArrowUp" && to === namedNode.id ? [from] : key === "ArrowDown" && from === namedNode.id ? [to] : [],
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
export function findNodes(drawing: Drawing, query: string): string[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  return drawing.nodes
    .filter((one) => [one.name, one.opcode, one.shape, one.opName, one.source].some((text) => text.toLowerCase().includes(wanted)))
    .map(({ name }) => name);
}
