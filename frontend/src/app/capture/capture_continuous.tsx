// Continuous profiling in the capture dialog: start, take snapshots, stop.
import type { SwitchResult } from "../../api/capture";

export type ContinuousAction = "start" | "snapshot" | "stop";

const BUTTONS: readonly [ContinuousAction, string][] = [
  ["start", "Start recording"],
  ["snapshot", "Take a snapshot"],
  ["stop", "Stop recording"],
];

interface Props {
  disabled: boolean;
  /** Of the last start or stop. */
  done: { action: "start" | "stop"; results: readonly SwitchResult[] } | null;
  onAction: (action: ContinuousAction) => void;
}

export function CaptureContinuous({ disabled, done, onAction }: Props) {
  return (
    <details class="capture-advanced">
      <summary>Continuous profiling</summary>
      <p>
        The program records its devices all the time and keeps the latest part. A snapshot stores what was recorded since the start or the
        last snapshot as a session; recording goes on. Duration, levels and delay above do not apply; extra options do.
      </p>
      <div class="capture-continuous" role="group" aria-label="Continuous profiling">
        {BUTTONS.map(([action, label]) => (
          <button key={action} type="button" class="button" disabled={disabled} onClick={() => onAction(action)}>
            {label}
          </button>
        ))}
      </div>
      {done ? (
        <ul class="capture-probe" aria-label="Result" aria-live="polite">
          {done.results.map((result) => (
            <li key={result.address} data-ok={result.ok}>
              <strong>{result.address}</strong>{" "}
              {result.error ? (
                <div class="capture-error">
                  {result.error.message} {result.error.todo}
                </div>
              ) : (
                <span class="capture-yes">✓ {done.action === "start" ? "recording" : "stopped"}</span>
              )}
            </li>
          ))}
        </ul>
      ) : null}
    </details>
  );
}
