"""Devices send results to the host for much of the step.

Fires if copies of results to the host that no computation hides take at least {OUTPUT_SHARE:.0%} of the time from step
to step: XProf's limit for a moderate share. On TPUs with an outfeed, waiting for it counts, too.

Return results less often, or fewer of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.run_view import RunView

OUTPUT_SHARE = 0.05
"""Least share of the time: XProf's limit for a moderate bottleneck."""
ADVICE = PARTS["output"]


def gather(host: HostView) -> bool:
    """Whether a device of the host has an outfeed, for which it waits as for the host's other waits for results."""
    if not host.time.part_ps("idle_transfer"):
        return False
    return any(op.work == Work.OUTPUT for device in host.devices for op in device.ops)


def judge(run: RunView, gathered: Sequence[bool | None]) -> Finding | Silence:
    """The verdict on the time budget's output."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    lost = run.lost_to("output" if any(gathered) else "output_copy")
    if lost.share < OUTPUT_SHARE:
        return Silence(f"Output takes {lost.share:.1%} of the {run.base}.")
    return Finding(
        f"Output takes {lost.share:.1%} of the {run.base}",
        lost.ps,
        "copies of results to the host and waits for them, per step and device",
        "medium",
        costs(run, "Output", lost),
        ADVICE,
        segments=lost.segments,
    )


RULE = Rule("output_bound", "Sending output", judge, gather, ("debug_callbacks", "host_sync"))
