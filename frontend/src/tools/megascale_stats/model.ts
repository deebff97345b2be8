// Headline and columns of the collectives between slices. Pure.
import { columnOf, numbersOf, textsOf } from "../../api/payload/fields";
import { formatQuantity, plural } from "../../base/format";
import type { BarsChart } from "../../base/chart/chart_spec";
import { CATEGORIES } from "../../base/steps/step_category";
import type { TableData } from "../../base/table/table_data";

const WHAT = "the table of collectives";
const MOST_BARS = 12;

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

export interface Headline {
  tone: "good" | "fair" | "none";
  title: string;
  sentences: string[];
}

/** Row of the collective with the longest total stall. */
export function longest(table: TableData): number {
  const total = numbersOf(table, "total_stall_ms", WHAT);
  return total.reduce((best, value, row) => (value > (total[best] ?? 0) ? row : best), 0);
}

/** Names the collective that holds the TPU up longest, and the largest bandwidth that one needs. */
export function headline(table: TableData): Headline {
  const names = textsOf(table, "rendezvous", WHAT);
  const [total, runs] = [numbersOf(table, "total_stall_ms", WHAT), numbersOf(table, "runs", WHAT)];
  const needed = columnOf(table, "required_gbps") ?? [];
  const most = longest(table);
  const sentences = [
    `${plural(names.length, "collective")}, ${plural(sum(runs), "run")}; sends and receives hold the first TPU up ` +
      `for ${formatQuantity(sum(total), "ms")} in total.`,
  ];
  const without = names.filter((_, row) => needed[row] === null);
  if (without.length)
    sentences.push(
      `No slack: ${without.slice(0, 3).join(", ")}${without.length > 3 ? ` and ${without.length - 3} more` : ""}; any ` +
        "time that the network takes holds the TPU up.",
    );
  const limited = needed.filter((value) => typeof value === "number");
  if (limited.length) sentences.push(`Largest bandwidth needed to fit into the slack: ${formatQuantity(Math.max(...limited), "Gbit/s")}.`);
  if ((total[most] ?? 0) === 0) return { tone: "good", title: "Collectives between slices do not hold the TPU up", sentences };
  return { tone: "fair", title: `${names[most]} holds the TPU up longest: ${formatQuantity(total[most] ?? 0, "ms")}`, sentences };
}

/** The collectives with the longest total stall, longest first. */
export function stallChart(table: TableData): BarsChart {
  const names = textsOf(table, "rendezvous", WHAT);
  const total = numbersOf(table, "total_stall_ms", WHAT);
  const rows = [...total.keys()].sort((a, b) => (total[b] ?? 0) - (total[a] ?? 0)).slice(0, MOST_BARS);
  return {
    kind: "bars",
    x: { name: "Collective", unit: null, labels: rows.map((row) => names[row] ?? "") },
    y: { name: "Total stall", unit: "ms" },
    colour: CATEGORIES.collectives.colour,
    values: rows.map((row) => total[row] ?? 0),
  };
}
