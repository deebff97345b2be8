// Exports of the current view: link, image and trace files.
import { composePicture } from "../../../timeline/picture";
import { download } from "../../../widgets/content/download";
import { copyText } from "../../../widgets/content/copy";
import { chromeFile } from "./chrome_trace";
import type { Session } from "../session/session";

/** The address to share: the parent's when embedded. */
function shareAddress(): string {
  try {
    return window.parent.location.href;
  } catch {
    return window.location.href;
  }
}

/** A file name from a run's name and a suffix. */
function fileName(run: string, suffix: string): string {
  return `${run.replace(/[^\w.-]+/g, "_") || "trace"}.${suffix}`;
}

/** Saves an image of the timeline with its labels as PNG. */
export function savePicture(session: Session, run: string): void {
  const canvas = composePicture(session.timeline);
  canvas.toBlob((blob) => {
    if (blob) download(fileName(run, "png"), blob);
  }, "image/png");
}

/** Copies a link to the current selection and window. */
export function copyLink(session: Session): Promise<boolean> {
  session.writeUrl();
  return copyText(shareAddress());
}

/** Saves all events of the visible window, unmerged, as trace-event JSON. */
export async function saveChrome(session: Session, run: string): Promise<void> {
  const text = chromeFile(await session.visibleEvents());
  download(fileName(run, "trace.json"), new Blob([text], { type: "application/json" }));
}

/** Saves them as a Perfetto trace, for ui.perfetto.dev. */
export async function savePerfetto(session: Session, run: string): Promise<void> {
  const bytes = await session.visiblePerfetto();
  download(fileName(run, "pftrace"), new Blob([bytes], { type: "application/octet-stream" }));
}
