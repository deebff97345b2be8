// Progress and result of a capture: time, size and state per worker.
import type { CaptureJob, CaptureWorker, ProbeResult, ProbeStep } from "../../api/capture";
import { formatBytes, formatCount } from "../../base/format";

const PHASES: Readonly<Record<CaptureJob["phase"], string>> = {
  connecting: "Connecting",
  delay: "Waiting for the start time",
  recording: "Recording",
  receiving: "Waiting for the profile",
  retry: "Waiting before the next attempt",
  ended: "Ended",
};

/** Elapsed seconds with one decimal. */
function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}

/** The overall result; the table gives the reasons per worker. */
function headline(job: CaptureJob): string {
  if (job.state === "running") return PHASES[job.phase];
  if (job.kind === "snapshot" && job.state === "failed") return "No snapshot was taken.";
  return job.state === "failed" ? "No profile was captured." : job.message;
}

function stateText(worker: CaptureWorker, job: CaptureJob): string {
  if (worker.state === "recording") return PHASES[job.phase === "ended" ? "recording" : job.phase];
  const words: Record<CaptureWorker["state"], string> = {
    waiting: "Waiting",
    connecting: "Connecting",
    recording: "Recording",
    receiving: "Storing",
    done: "Stored",
    failed: "Failed",
    cancelled: "Cancelled",
  };
  return words[worker.state];
}

/** Progress of a running capture. The bar covers delay and recording; the time to collect the profile is not known. */
export function CaptureProgress({ job }: { job: CaptureJob }) {
  const value = Math.max(0, job.duration_ms - job.recording_left_ms);
  return (
    <section aria-label="Progress" aria-live="polite">
      <p class="capture-phase">
        <strong>{headline(job)}</strong>
        <span class="number">{seconds(job.seconds)}</span>
      </p>
      {job.state === "running" ? (
        job.phase === "receiving" || job.phase === "retry" ? (
          <progress class="capture-bar" aria-label={PHASES[job.phase]} />
        ) : (
          <progress class="capture-bar" max={job.duration_ms} value={value} aria-label="Recorded" />
        )
      ) : null}
      <WorkerTable job={job} />
      {job.warnings.map((warning) => (
        <p key={warning} class="capture-warning">
          {warning}
        </p>
      ))}
    </section>
  );
}

function WorkerTable({ job }: { job: CaptureJob }) {
  return (
    <table class="capture-workers">
      <thead>
        <tr>
          <th scope="col">Worker</th>
          <th scope="col">Status</th>
          <th scope="col" class="number">
            Time
          </th>
          <th scope="col" class="number">
            Size
          </th>
          <th scope="col" class="number">
            Events
          </th>
        </tr>
      </thead>
      <tbody>
        {job.workers.map((worker) => (
          <tr key={worker.address} data-state={worker.state}>
            <th scope="row">{worker.address}</th>
            <td>
              {stateText(worker, job)}
              {worker.attempt > 1 ? ` (attempt ${worker.attempt} of ${job.attempts})` : ""}
              {worker.file ? <div class="dim capture-file">{worker.file}</div> : null}
              {worker.stored_by_worker ? <div class="dim">Stored by the worker itself (an old profiler server).</div> : null}
              {worker.error && worker.state !== "cancelled" ? <Failure worker={worker} /> : null}
              {worker.warnings.map((warning) => (
                <div key={warning} class="capture-warning">
                  {warning}
                </div>
              ))}
            </td>
            <td class="number">{seconds(worker.seconds)}</td>
            <td class="number">{worker.bytes ? formatBytes(worker.bytes) : ""}</td>
            <td class="number">{worker.events === null ? "" : formatCount(worker.events)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Failure({ worker }: { worker: CaptureWorker }) {
  const { error } = worker;
  if (!error) return null;
  return (
    <div class="capture-error">
      {error.message} {error.todo}
      {error.grpc_code && error.grpc_code !== "OK" ? (
        <div class="dim">
          {error.grpc_code}
          {error.details ? `: ${error.details}` : ""}
        </div>
      ) : null}
    </div>
  );
}

const STEPS: readonly [ProbeStep, string][] = [
  ["name", "name resolves"],
  ["allowed", "address is allowed"],
  ["port", "port is open"],
  ["grpc", "speaks gRPC"],
  ["profiler", "is a profiler"],
];

/** Result of the connection test, per address. */
export function ProbeResults({ results }: { results: readonly ProbeResult[] }) {
  return (
    <ul class="capture-probe" aria-label="Result of the probe">
      {results.map((result) => (
        <li key={result.address} data-ok={result.ok}>
          <strong>{result.address}</strong>{" "}
          {STEPS.filter(([step]) => result.steps[step] !== null).map(([step, label]) => (
            <span key={step} class={result.steps[step] ? "capture-yes" : "capture-no"}>
              {result.steps[step] ? "✓" : "✗"} {label}
            </span>
          ))}
          {result.error ? (
            <div class="capture-error">
              {result.error.message} {result.error.todo}
            </div>
          ) : null}
        </li>
      ))}
    </ul>
  );
}
