// A titled part of a page that may be collapsible.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Info } from "./info";
import "./card.css";

interface Props {
  title: string;
  help?: string;
  /** Beside the title. */
  tools?: ComponentChildren;
  /** Given: the card is collapsible; true: it starts collapsed. */
  collapsed?: boolean | undefined;
  onToggle?: (collapsed: boolean) => void;
  class?: string;
  children: ComponentChildren;
}

export function Card({ title, help, tools, collapsed, onToggle, class: extra = "", children }: Props) {
  const [closed, setClosed] = useState(collapsed ?? false);
  const toggle = (): void => {
    setClosed(!closed);
    onToggle?.(!closed);
  };
  return (
    <section class={`card ${extra}`} aria-label={title}>
      <header class="card-head">
        <h2>
          {collapsed === undefined ? (
            title
          ) : (
            <button type="button" class="card-fold" aria-expanded={!closed} onClick={toggle}>
              <span class="card-arrow" aria-hidden="true" />
              {title}
            </button>
          )}
        </h2>
        {help ? <Info text={help} label={title} /> : null}
        <span class="card-space" />
        {tools}
      </header>
      {closed ? null : children}
    </section>
  );
}
