// The recommendations: statements, and what to look at next. Pure.
import type { Advice, Overview } from "./decode";

/** Statements, most important first; without the additions of `extended`, XProf's conclusion sentences. */
export function statementsOf(overview: Overview): { topic: string; level: string; text: string }[] {
  if (overview.extras) return overview.extras.statements;
  const { advice, steps } = overview;
  const texts = [advice["statement"] || steps.properties["input_conclusion"], steps.properties["output_conclusion"]];
  for (const key of ["device_collectives_statement", "kernel_launch_statement", "all_other_statement", "precision_statement"])
    texts.push(advice[key]);
  return texts.flatMap((text) => (text ? [{ topic: "", level: "", text }] : []));
}

export interface Link extends Advice {
  /** Title of the tool; null for documents and plain sentences. */
  title: string | null;
}

/** The advice that leads to something: tools with data, documents, sentences. */
export function links(overview: Overview, tools: ReadonlyMap<string, string>): Link[] {
  return (overview.extras?.advice ?? []).flatMap((one): Link[] => {
    if (one.tool === null) return [{ ...one, title: null }];
    const id = tools.has(one.tool) ? one.tool : `${one.tool}@`;
    const title = tools.get(id);
    return title === undefined ? [] : [{ ...one, tool: id, title }];
  });
}
