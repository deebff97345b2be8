// The page for a logdir without profiles: the searched directories and how to capture a profile; or what to do with a file.
import type { Status } from "../../api/types";
import { formatCount, plural } from "../../base/format";
import { CaptureHowTo } from "../capture/capture_howto";
import { RichText } from "../../widgets/content/rich_text";

/** Where profiles lie below the log directory: an XSpace, and a trace of PyTorch's profiler. */
const LAYOUTS = ["plugins/profile/<session>/<host>.xplane.pb", "<run>/<rank>.pt.trace.json.gz"];
/** The code of the problem of a logdir that is no directory. */
const IS_FILE = "logdir_is_file";

interface Props {
  status: Status | null;
  onReload: () => void;
}

export function NoProfiles({ status, onReload }: Props) {
  if (status?.problems.some(({ code }) => code === IS_FILE)) return <FileAsLogdir status={status} />;
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

/** A path as one word of a shell's command line. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'"'"'`)}'`;
}

function FileAsLogdir({ status }: { status: Status }) {
  const path = status.absolute_logdir;
  return (
    <div class="doc">
      <h1>The log directory is a file</h1>
      <p>
        TensorBoard was started with <code>--logdir {status.logdir}</code>, but shows directories only.
      </p>
      <h2>Show this profile alone</h2>
      <pre>{`tpu-profile serve ${quoted(path)}`}</pre>
      <h2>Or put it into a log directory</h2>
      <p>One file per host, in one of these layouts; then start TensorBoard with the directory:</p>
      <pre>{LAYOUTS.map((layout) => `<logdir>/${layout}`).join("\n")}</pre>
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
              {p.file ? <code>{p.file}</code> : null} <RichText text={`${p.message} ${p.remedy}`} />
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}
