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
from tpu_profile_plugin.analysis.findings.evidence.host.uploads import UPLOAD_SHARE, Uploads, uploads
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import MIB, PS_PER_MS, PS_PER_S

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


def judge(run: RunView, gathered: Sequence[Uploads | None]) -> Finding | Silence:
    """The verdict on the uploads of all hosts."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    known = run.present(gathered)
    if run.steps < UPLOADS_SEEN or run.whole_recording:
        return lacks(FEW_STEPS, f"Fewer than {UPLOADS_SEEN} steps recorded.")
    if not known:
        return Silence(f"Input takes less than {UPLOAD_SHARE:.0%} of the {run.base}.")
    lost = run.lost_in("input", ps=lost_ps(run, gathered))
    share = lost.share
    if share < UPLOAD_SHARE:
        return Silence(f"Exposed uploads take {share:.1%} of the {run.base}.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    often = float(np.mean(worst.count > 0)) if len(worst.count) else 0.0
    if often < UPLOAD_STEPS:
        return Silence(f"Exposed uploads take {share:.1%} of the {run.base}, in {often:.0%} of the steps.")
    return Finding(
        f"{share:.1%} of the {run.base} waits for uploads that nothing hides{_what(worst)}",
        lost.ps,
        "time of uploads while the device computes nothing, per step and device",
        "high",
        _evidence(run, worst, host, share),
        NEW_DATA if _differs(worst) else ADVICE,
        (host,),
        lost.segments,
    )


def lost_ps(run: RunView, gathered: Sequence[Uploads | None]) -> float:
    """Time of uploads that no computation hides, per step and device."""
    return sum(one.lost_ps for one in gathered if one is not None) / run.cells


def _differs(sent: Uploads) -> bool:
    """Whether steps send different numbers of bytes; False where these are unknown."""
    if not len(sent.size):
        return False
    middle = float(np.median(sent.size))
    return float(np.mean(np.abs(sent.size - middle) <= SAME_SIZE * middle)) < UPLOAD_STEPS


def _what(sent: Uploads) -> str:
    """The function that sends, or the argument, if the others are too small for the upload to be theirs."""
    if sent.function:
        return f", in {shown(sent.function)}"
    if sent.argument is None or sent.argument.others > SLOWEST_UPLOAD * float(np.median(sent.ps)) / PS_PER_S:
        return ""
    return f": {sent.argument.shape} {sent.argument.name}".rstrip()


def _evidence(run: RunView, sent: Uploads, host: str, share: float) -> tuple[Evidence, ...]:
    where = timeline(host, *sent.window, sent.name)
    evidence = [
        Evidence(f"Exposed uploads, of the {run.base}", 100 * share, "%", TIMELINE, where),
        Evidence(f"Steps with uploads, of {len(sent.count)}", int(np.count_nonzero(sent.count))),
        Evidence("Uploads per step, median", int(np.median(sent.count))),
        Evidence("Median of the steps' uploads", float(np.median(sent.ps)) / PS_PER_MS, "ms"),
    ]
    if len(sent.size):
        evidence.append(Evidence("Sent per step and device", float(np.median(sent.size)) / MIB, "MiB"))
    if sent.argument is not None:
        name = f" {sent.argument.name}" if sent.argument.name else ""
        evidence.append(Evidence("Largest argument of the program", f"{sent.argument.shape}{name}"))
        evidence.append(Evidence("Size of this argument", sent.argument.size / MIB, "MiB"))
        evidence.append(Evidence("Arrays that the program takes", sent.arguments))
    if sent.function:
        evidence.append(Evidence("Function", shown(sent.function), "", TIMELINE, {**where, "find": sent.function}))
    if sent.name:
        evidence.append(Evidence("Event", sent.name, "", TIMELINE, {**where, "find": sent.name}))
    return tuple(evidence)


RULE = Rule("repeated_transfer", "Uploads that nothing hides", judge, uploads)
