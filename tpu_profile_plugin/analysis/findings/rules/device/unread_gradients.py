"""PyTorch's backward pass computes gradients of parameters that no optimizer updates.

Fires if the backward pass after the last gradient that an optimizer reads, the matrix products of other gradients
without a reader, and the rest of a module without any other whose input needs no gradient (a teacher, a frozen encoder)
take at least {UNREAD_SHARE:.0%} of the step. Gradients and updated parameters are compared by their
shapes, if these are recorded (`record_shapes=True`): what is frozen, but has the shape of what is not, is not seen.

Exclude these parameters from the backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.budget import categories
from tpu_profile_plugin.analysis.common.op_names import PYTORCH
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.spans import Times, contains, times_of
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.torch_gradients import unread_gradients

UNREAD_SHARE = 0.05
"""Share of the step: less is worth no change."""


def gather(host: HostView) -> HostLoss | None:
    """What gradients without a reader cost a host; None if that is not known."""
    plane = host_plane(host.space)
    if plane is None or host.steps is None or PYTORCH not in host.summary.frameworks:
        return None
    found = unread_gradients(host.space, plane)
    if found is None:
        return None
    evidence = (
        Evidence("Gradients per update", found.gradients),
        Evidence("Of parameters that no optimizer updates", found.unread),
        *([Evidence("The largest of these", found.largest)] if found.largest else []),
    )
    by_part = host.by_part([_on(device, host, found.spans) for device in host.devices], categories.PARTS)
    what = f"{found.unread} of {found.gradients} gradients per update are of parameters that no optimizer updates"
    return HostLoss(by_part, what, evidence, PARTS["unread gradients"], "medium")


def _on(device: Device, host: HostView, spans: Times) -> Times:
    """When a device does what the host launches in these spans, which for CPUs is then."""
    if device.kind != "gpu":
        return spans
    launched = host.reader.time.calls.times(device.launch_key)[0]
    mine = np.isin(device.runs.begin_ps, device.starts[contains(spans, launched)])
    return times_of(device.runs.begin_ps, device.runs.end_ps, mine)


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host that loses most."""
    if PYTORCH not in run.frameworks:
        return Silence("No program of PyTorch recorded.")
    return verdict(
        run,
        gathered,
        title="{what}, which takes {share} of the {base}",
        label="The backward pass for them alone",
        formula="time of devices in the backward pass after the last gradient of an updated parameter, "
        "in matrix products of the size of a parameter that is not updated, and in a module of such parameters alone, "
        "whose input needs no gradient, per step",
        nothing="No gradients and updates of known shapes recorded.",
        little="Gradients that no optimizer reads take {share} of the {base}.",
        least=UNREAD_SHARE,
    )


RULE = Rule("unread_gradients", "Gradients that no optimizer reads", judge, gather)
