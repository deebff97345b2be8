// The main finding of a page in one line, with details below it; the colour of the edge rates it.
import type { ComponentChildren } from "preact";
import { RichText } from "./rich_text";
import "./card.css";

interface Props {
  tone?: "good" | "fair" | "bad" | "none";
  title: string;
  children?: ComponentChildren;
}

export function SummaryBox({ tone = "none", title, children }: Props) {
  return (
    <section class={tone === "none" ? "summary" : `summary ${tone}`} aria-label="Summary">
      <h2>
        <RichText text={title} />
      </h2>
      {children}
    </section>
  );
}
