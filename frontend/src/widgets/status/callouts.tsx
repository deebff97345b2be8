// Messages above a page: errors, warnings, notes; each can be dismissed.
import { useState } from "preact/hooks";
import { RichText } from "../content/rich_text";
import "./callouts.css";

interface Callout {
  severity: "error" | "warning" | "info";
  text: string;
}

const LABELS = { error: "Error", warning: "Warning", info: "Note" } as const;

export function Callouts({ messages }: { messages: readonly Callout[] }) {
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set());
  const shown = messages.filter(({ text }) => !dismissed.has(text));
  if (shown.length === 0) return null;
  return (
    <div class="callouts">
      {shown.map(({ severity, text }) => (
        <div key={text} class={`callout callout-${severity}`} role={severity === "error" ? "alert" : "status"}>
          <strong>{LABELS[severity]}</strong>
          <p>
            <RichText text={text} />
          </p>
          <button
            type="button"
            class="button ghost icon"
            aria-label={`Dismiss: ${text}`}
            onClick={() => setDismissed(new Set([...dismissed, text]))}
          >
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
