// The offer to record again what a profile lacks: opens the capture dialog with the options set.
import { Link } from "../widgets/content/link";

/** Evidence for this "tool" is the offer; its query has the options of the capture. */
export const CAPTURE_TOOL = "capture";
/** The key of the address that opens the dialog, with the options as a query string. */
export const CAPTURE_KEY = "capture";

export function CaptureAgain({ query }: { query: Readonly<Record<string, string>> }) {
  const python = query["python_tracer_level"] === "1";
  return (
    <Link class="button" to={{ [CAPTURE_KEY]: new URLSearchParams(query).toString() }}>
      {python ? "Capture again with Python functions" : "Capture again"}
    </Link>
  );
}
