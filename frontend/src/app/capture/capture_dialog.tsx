// The CAPTURE PROFILE dialog: captures a profile from running programs, shows progress, then opens the new run.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { makeCaptureApi } from "../../api/capture";
import type { CaptureApi, CaptureJob, ProbeResult, SwitchResult } from "../../api/capture";
import type { Client } from "../../api/client";
import { ApiError } from "../../api/error";
import { Dialog } from "../../widgets/overlay/dialog";
import { CaptureContinuous } from "./capture_continuous";
import type { ContinuousAction } from "./capture_continuous";
import { CaptureFields } from "./capture_fields";
import { addressed, check, continuousRequestOf, DEFAULTS, ready, recentAddresses, rememberAddress, requestOf } from "./capture_form";
import type { CaptureForm } from "./capture_form";
import { CaptureHowTo } from "./capture_howto";
import { CaptureProgress, ProbeResults } from "./capture_progress";
import "./capture.css";

interface Props {
  client: Client;
  logdir: string;
  /** Null while unknown. */
  enabled: boolean | null;
  /** Fields set by a link; the address is the last used one. */
  presets?: Partial<CaptureForm>;
  onClose: () => void;
  /** A new run was stored. */
  onRun: (run: string) => void;
  api?: CaptureApi;
  pollMs?: number;
}

function words(error: unknown): string {
  return error instanceof ApiError || error instanceof Error ? error.message : String(error);
}

export function CaptureDialog({ client, logdir, enabled, presets = {}, onClose, onRun, api: given, pollMs = 300 }: Props) {
  const api = useMemo(() => given ?? makeCaptureApi(client), [given, client]);
  const [form, setForm] = useState<CaptureForm>(() => ({ ...DEFAULTS, service: recentAddresses()[0] ?? "", ...presets }));
  const [job, setJob] = useJob(api, pollMs, onRun);
  const [probed, setProbed] = useState<ProbeResult[] | null>(null);
  const [switched, setSwitched] = useState<{ action: "start" | "stop"; results: SwitchResult[] } | null>(null);
  const [busy, setBusy] = useState<"start" | "probe" | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const errors = check(form);

  const attempt = async (what: "start" | "probe", action: () => Promise<void>): Promise<void> => {
    setBusy(what);
    setProblem(null);
    try {
      await action();
    } catch (error) {
      setProblem(words(error));
    }
    setBusy(null);
  };
  const start = (): Promise<void> =>
    attempt("start", async () => {
      setProbed(null);
      const started = await api.start(requestOf(form));
      if (form.kind === "ip") rememberAddress(form.service.trim());
      setJob(started);
    });
  const probe = (): Promise<void> => attempt("probe", async () => setProbed(await api.probe(form.service, form.kind === "tpu")));
  const continuous = (action: ContinuousAction): Promise<void> =>
    attempt("start", async () => {
      setSwitched(null);
      const request = continuousRequestOf(form);
      if (action === "snapshot") setJob(await api.snapshot(request));
      else setSwitched({ action, results: await api.setContinuous(action, request) });
      if (form.kind === "ip") rememberAddress(form.service.trim());
    });
  const end = (keep: boolean): Promise<void> =>
    attempt("start", async () => {
      if (job) setJob(await api.cancel(job.job, keep));
    });

  if (enabled === false) return <Disabled logdir={logdir} onClose={onClose} />;
  return (
    <Dialog title="Capture profile" onClose={onClose}>
      {job ? (
        <>
          <CaptureProgress job={job} />
          {problem ? (
            <p class="capture-error" role="alert">
              {problem}
            </p>
          ) : null}
          <Actions
            job={job}
            busy={busy !== null}
            onEnd={(keep) => void end(keep)}
            onBack={() => setJob(null)}
            onRun={onRun}
            onClose={onClose}
          />
        </>
      ) : (
        <form
          class="capture-form"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            if (ready(form) && busy === null) void start();
          }}
        >
          <CaptureFields
            form={form}
            errors={errors}
            recent={recentAddresses()}
            onChange={(patch) => setForm((old) => ({ ...old, ...patch }))}
          />
          {probed ? <ProbeResults results={probed} /> : null}
          {problem ? (
            <p class="capture-error" role="alert">
              {problem}
            </p>
          ) : null}
          <footer class="capture-actions">
            <button type="button" class="button" disabled={!addressed(form) || busy !== null} onClick={() => void probe()}>
              {busy === "probe" ? "Probing…" : "Probe"}
            </button>
            <button type="button" class="button" onClick={onClose}>
              CLOSE
            </button>
            <button type="submit" class="button primary" disabled={!ready(form) || busy !== null}>
              CAPTURE
            </button>
          </footer>
          <CaptureContinuous
            disabled={!addressed(form) || errors.extra !== undefined || busy !== null}
            done={switched}
            onAction={(action) => void continuous(action)}
          />
          <details class="capture-advanced">
            <summary>How do I start a profiler server?</summary>
            <p>
              Start one before the training loop: <code>jax.profiler.start_server(9012)</code> in JAX,{" "}
              <code>tf.profiler.experimental.server.start(6009)</code> in TensorFlow,{" "}
              <code>torch_xla.debug.profiler.start_server(9012)</code> in PyTorch/XLA. Or let the program write the profile itself:
            </p>
            <CaptureHowTo logdir={logdir} />
          </details>
        </form>
      )}
    </Dialog>
  );
}

/** The capture to show: one that is running when the dialog opens, or the one started here. */
function useJob(api: CaptureApi, pollMs: number, onRun: (run: string) => void): [CaptureJob | null, (job: CaptureJob | null) => void] {
  const [job, setJob] = useState<CaptureJob | null>(null);
  const opened = useRef<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    api.jobs({ signal: stop.signal }).then(
      (jobs) => setJob((shown) => shown ?? jobs.find((known) => known.state === "running") ?? null),
      () => undefined, // No capture is shown; starting one reports the error.
    );
    return () => stop.abort();
  }, [api]);
  const running = job?.state === "running" ? job.job : null;
  useEffect(() => {
    if (running === null) return undefined;
    const stop = new AbortController();
    let timer = 0;
    const look = (): void => {
      api.status(running, { signal: stop.signal }).then(
        (seen) => {
          if (stop.signal.aborted) return;
          setJob(seen);
          if (seen.state === "running") timer = window.setTimeout(look, pollMs);
        },
        () => {
          if (!stop.signal.aborted) timer = window.setTimeout(look, 5 * pollMs);
        },
      );
    };
    timer = window.setTimeout(look, pollMs);
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [running, api, pollMs]);
  useEffect(() => {
    // A complete capture is opened automatically; a partial one shows its errors first.
    if (job?.state === "done" && job.run !== null && job.warnings.length === 0 && opened.current !== job.job) {
      opened.current = job.job;
      onRun(job.run);
    }
  }, [job, onRun]);
  return [job, setJob];
}

interface ActionProps {
  job: CaptureJob;
  busy: boolean;
  onEnd: (keep: boolean) => void;
  onBack: () => void;
  onRun: (run: string) => void;
  onClose: () => void;
}

function Actions({ job, busy, onEnd, onBack, onRun, onClose }: ActionProps) {
  const { run } = job;
  if (job.state === "running") {
    return (
      <footer class="capture-actions">
        {job.phase === "recording" ? (
          <button type="button" class="button" disabled={busy} onClick={() => onEnd(true)}>
            Stop now and keep
          </button>
        ) : null}
        <button type="button" class="button" disabled={busy} onClick={() => onEnd(false)}>
          Cancel the capture
        </button>
        <button type="button" class="button" onClick={onClose}>
          CLOSE
        </button>
      </footer>
    );
  }
  return (
    <footer class="capture-actions">
      <button type="button" class="button" onClick={onBack}>
        Back
      </button>
      <button type="button" class="button" onClick={onClose}>
        CLOSE
      </button>
      {run !== null ? (
        <button type="button" class="button primary" onClick={() => onRun(run)}>
          Open the run
        </button>
      ) : null}
    </footer>
  );
}

function Disabled({ logdir, onClose }: { logdir: string; onClose: () => void }) {
  return (
    <Dialog title="Capture profile" onClose={onClose}>
      <p>
        {logdir
          ? "Capturing from this page is disabled on this server. Capture from your program instead; the new session appears here after a reload."
          : "This server has no log directory to store a profile in: start TensorBoard with --logdir."}
      </p>
      <CaptureHowTo logdir={logdir} />
      <p class="dim">Five to ten steps are enough. Skip the first steps, which include compilation and warm-up.</p>
    </Dialog>
  );
}
