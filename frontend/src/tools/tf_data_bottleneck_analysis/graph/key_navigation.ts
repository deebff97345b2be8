// Key navigation in the graph of a pipeline. Pure.
import type { Layout } from "./layout";
import type { Drawn } from "./tree";

/** The node that a key selects, starting from `at` (-1 for none); null for other keys, or if there is none. */
export function neighbour(key: string, at: number, drawn: readonly Drawn[], layout: Layout): number | null {
  const first = layout.order[0] ?? null;
  const worst = drawn.findIndex(({ role }) => role === 2);
  const beside = (by: number): number | null => {
    const { y } = layout.places[at] ?? { y: -1 };
    const row = layout.order
      .filter((i) => layout.places[i]?.y === y)
      .sort((a, b) => (layout.places[a]?.x ?? 0) - (layout.places[b]?.x ?? 0));
    return row[row.indexOf(at) + by] ?? null;
  };
  const arrows = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
  if (at < 0 && arrows.includes(key)) return worst >= 0 ? worst : first;
  switch (key) {
    case "ArrowUp":
      return layout.edges.find(({ from }) => from === at)?.to ?? null;
    case "ArrowDown":
      return layout.edges.find(({ to }) => to === at)?.from ?? null;
    case "ArrowLeft":
      return beside(-1);
    case "ArrowRight":
      return beside(1);
    case "Home":
      return first;
    case "End":
      return layout.order.at(-1) ?? null;
    case "b":
    case "B":
      return worst >= 0 ? worst : null;
    default:
      return null;
  }
}
