// The page for a logdir without profiles: the searched directories and how to capture a profile.
import type { Status } from "../../api/types";
import { formatCount, plural } from "../../base/format";
import { CaptureHowTo } from "../capture/capture_howto";

/** Where profiles lie below the log directory: an XSpace, and a trace of PyTorch's profiler. */
const LAYOUTS = ["plugins/profile/<session>/<host>.xplane.pb", "<run>/<rank>.pt.trace.json.gz"];

interface Props {
  status: Status | null;
  onReload: () => void;
}

export function NoProfiles({ status, onReload }: Props) {
  return (
    <div class="doc">
      <h1>No profiles yet</h1>
      {status ? <SearchResult status={status} /> : <p>The log directory contains no profile.</p>}
      <p>
        <button type="button" class="button" onClick={onReload}>
          Search again
        </button>
      </p>
      <h2>Capture one from your program</h2>
      <CaptureHowTo logdir={status?.absolute_logdir ?? ""} />
      <h2>Already have a profile?</h2>
      <p>Copy it below the log directory in this layout, one file per host, then search again:</p>
      <pre>{LAYOUTS.map((layout) => `${status?.absolute_logdir || "<logdir>"}/${layout}`).join("\n")}</pre>
    </div>
  );
}

function SearchResult({ status }: { status: Status }) {
  return (
    <>
      <dl class="properties">
        <dt>Log directory</dt>
        <dd>
          <code>{status.logdir || "(no log directory given: start TensorBoard with --logdir)"}</code>
        </dd>
        <dt>File patterns</dt>
        <dd>
          {status.patterns.map((pattern) => (
            <div key={pattern}>
              <code>{pattern}</code>
            </div>
          ))}
        </dd>
        <dt>Found</dt>
        <dd>
          none in {plural(status.scanned_directories, "directory", "directories")} ({formatCount(Math.round(status.scan_ms))} ms)
        </dd>
      </dl>
      {status.problems.length ? (
        <ul class="notes" role="alert">
          {status.problems.map((p) => (
            <li key={`${p.code}${p.file ?? ""}`}>
              {p.file ? <code>{p.file}</code> : null} {p.message} {p.remedy}
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}
