"""Devices wait for uploads in every step, and nothing hides them.

Fires if uploads take at least {UPLOAD_SHARE:.0%} of the time from step to step while the device computes nothing, and
at least {UPLOAD_STEPS:.0%} of no fewer than {UPLOADS_SEEN} steps have some. No profile records whether the data is the
same each time.

Send data that does not change once, before the loop; send new data during the step before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import FEW_STEPS, NO_DEVICE
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.uploads import largest_argument, uploads
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import event, shown
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import MIB, PS_PER_MS, PS_PER_S

UPLOAD_SHARE = 0.10
"""Uploads, as a share of the step: below it, hiding them gains less than a tenth."""
UPLOAD_STEPS = 0.80
"""Least share of the steps with uploads: with fewer, they are no part of what every step does."""
UPLOADS_SEEN = 3
"""Fewer steps do not show a repetition."""
SLOWEST_UPLOAD = 200_000_000
"""Bytes per second: copies are faster, so fewer bytes cannot be the cause of the time."""
SAME_SIZE = 0.01
"""Largest deviation from the median number of bytes that counts as the same size."""

ADVICE = Advice(
    "Send data that does not change to the device once, before the loop, and keep it there. Data that is new in each "
    "step should be sent during the step before, so that computation hides it.",
    jax="Call jax.device_put on arrays that do not change once, before the loop: a NumPy array that is passed to a "
    "jitted function is copied in every call. Put the next batch on the device before the current step is waited for.",
    tensorflow="Keep data that does not change in a tf.Variable or tf.constant that is made before the loop. For "
    "batches, end the pipeline with tf.data.experimental.prefetch_to_device.",
    pytorch="Move tensors that do not change to the device once, before the loop. Batches are copied from pinned "
    "memory (pin_memory=True of the DataLoader) with .to(device, non_blocking=True).",
    pytorch_xla="Move tensors that do not change to the device once, before the loop. For batches use torch_xla's "
    "MpDeviceLoader, which sends the next one while the current step runs.",
)

NEW_DATA = Advice(
    "Send the next batch to the device before the current step is waited for, so that computation hides the copy. The "
    "number of bytes differs from step to step, so the data is new.",
    jax="Call jax.device_put on the next batch before the current step is waited for, so that computation hides the "
    "copy. The number of bytes differs from step to step, so the data is new.",
    tensorflow="End the pipeline with tf.data.experimental.prefetch_to_device, so that computation hides the copy. The "
    "number of bytes differs from step to step, so the data is new.",
    pytorch="Let the DataLoader pin its memory (pin_memory=True) and copy the next batch with .to(device, "
    "non_blocking=True) while the step runs. The number of bytes differs from step to step, so the data is "
    "new.",
    pytorch_xla="Use torch_xla's MpDeviceLoader, which sends the next batch while the current step runs. The "
    "number of bytes differs from step to step, so the data is new.",
)


def gather(host: HostView) -> HostLoss | None:
    """The uploads of a host; None if the budget alone tells that they take less than `UPLOAD_SHARE` of the steps."""
    return host.once(_uploads)


def of_its_own(host: HostView) -> HostLoss | None:
    """The uploads of a host if they are a finding of their own."""
    sent, least = gather(host), UPLOAD_SHARE * host.time.base_ps * host.time.cells
    enough = len(host.time) >= UPLOADS_SEEN and host.per == "step"
    return sent if sent is not None and enough and not sent.harmless and sent.ps >= least else None


def _uploads(host: HostView) -> HostLoss | None:
    steps, time = host.steps, host.time
    if steps is None or time.share("input") < UPLOAD_SHARE:
        return None
    sent = uploads(host, steps)
    if sent.by_part.sum() < UPLOAD_SHARE * time.base_ps * time.cells:
        return HostLoss(sent.by_part, "", (), ADVICE)
    often = float(np.mean(sent.count > 0)) if len(sent.count) else 0.0
    rarely = f"Exposed uploads take {{share}} of the {{base}}, in {often:.0%} of the steps."
    function, (argument, arguments) = calls_of(host).calling(sent.begin_ps), largest_argument(host)
    evidence = [
        Evidence(f"Steps with uploads, of {len(sent.count)}", int(np.count_nonzero(sent.count))),
        Evidence("Uploads per step, median", int(np.median(sent.count))),
        Evidence("Median of the steps' uploads", float(np.median(sent.ps)) / PS_PER_MS, "ms"),
    ]
    middle = float(np.median(sent.size))
    if sent.size.any():
        evidence.append(Evidence("Sent per step and device", middle / MIB, "MiB"))
    what = f", in {shown(function)}" if function else ""
    if argument is not None:
        named = f"{argument.shape} {argument.name}".rstrip()
        evidence.append(Evidence("Largest argument of the program", named))
        evidence.append(Evidence("Size of this argument", argument.size / MIB, "MiB"))
        evidence.append(Evidence("Arrays that the program takes", arguments))
        # The others are too small for the upload to be theirs.
        if not what and argument.others <= SLOWEST_UPLOAD * float(np.median(sent.ps)) / PS_PER_S:
            what = f": {named}"
    names = (("Function", function), ("Event", sent.name))
    evidence += [event(label, host.name, sent.window, name) for label, name in names if name]
    new = sent.size.any() and np.mean(np.abs(sent.size - middle) <= SAME_SIZE * middle) < UPLOAD_STEPS
    harmless = rarely if often < UPLOAD_STEPS else ""
    return HostLoss(sent.by_part, what, tuple(evidence), NEW_DATA if new else ADVICE, harmless=harmless)


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the uploads of all hosts."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    if run.steps < UPLOADS_SEEN or run.whole_recording:
        return lacks(FEW_STEPS, f"Fewer than {UPLOADS_SEEN} steps recorded.")
    return verdict(
        run,
        gathered,
        title="{share} of the {base} waits for uploads that nothing hides{what}",
        label="Exposed uploads",
        formula="time of uploads while the device computes nothing, per step and device",
        nothing=f"Input takes less than {UPLOAD_SHARE:.0%} of the {{base}}.",
        little="Exposed uploads take {share} of the {base}.",
        least=UPLOAD_SHARE,
        group="input",
    )


RULE = Rule("repeated_transfer", "Uploads that nothing hides", judge, gather)
