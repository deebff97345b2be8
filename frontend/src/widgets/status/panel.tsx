// The panel that replaces missing content: what is wrong, why, and what to do.
import type { ComponentChildren } from "preact";
import { RichText } from "../content/rich_text";
import "./panel.css";

interface Props {
  tone: "error" | "empty";
  title: string;
  why?: string | undefined;
  todo?: readonly string[] | undefined;
  technical?: string | null | undefined;
  /** Buttons, e.g. retry. */
  children?: ComponentChildren;
}

/** Screen readers announce an error immediately, an empty page politely. */
export function Panel({ tone, title, why, todo = [], technical, children }: Props) {
  return (
    <section class={`panel panel-${tone}`} role={tone === "error" ? "alert" : "status"}>
      <h2>{title}</h2>
      {why ? (
        <p>
          <RichText text={why} />
        </p>
      ) : null}
      {todo.length ? (
        <ul>
          {todo.map((line) => (
            <li key={line}>
              <RichText text={line} />
            </li>
          ))}
        </ul>
      ) : null}
      {children ? <div class="panel-actions">{children}</div> : null}
      {technical ? <p class="panel-technical">{technical}</p> : null}
    </section>
  );
}
