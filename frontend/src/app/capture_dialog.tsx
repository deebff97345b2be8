// The CAPTURE PROFILE dialog: says what to do until the page can capture by itself.
import { Dialog } from "../widgets/dialog";
import { CaptureHowTo } from "./capture_howto";

export function CaptureDialog({ logdir, onClose }: { logdir: string; onClose: () => void }) {
  return (
    <Dialog title="Capture profile" onClose={onClose}>
      <p>
        This version cannot start a capture from the page yet. Capture from your program instead: run a few steps inside
        the profiler and write into the log directory that TensorBoard watches. The new session appears here after a
        reload.
      </p>
      <CaptureHowTo logdir={logdir} />
      <p class="dim">Five to ten steps are enough. Skip the first steps: they hold compilation and warm-up.</p>
    </Dialog>
  );
}
