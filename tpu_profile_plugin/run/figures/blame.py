"""Where the wall time of a host's steps goes, by op and call: one pass per host for findings and comparisons."""

from __future__ import annotations

from tpu_profile_plugin.analysis.blame.host_blame import HostBlame, host_blame
from tpu_profile_plugin.analysis.blame.places import HostPlaces, host_places
from tpu_profile_plugin.analysis.budget.budget import HostBudget, SpentTime
from tpu_profile_plugin.analysis.budget.run_budget import merge_budgets
from tpu_profile_plugin.analysis.compare.host_work import MOST_STEPS
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE
from tpu_profile_plugin.run.figures.budget import (
    alone_spent,
    budget,
    host_alone,
    host_devices,
    host_spent,
    reader_of,
    whole_budget,
    whole_spent,
)
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, derived, per_host


@derived(alone=True)
def blame(host: HostProfile) -> HostBlame:
    """The steps of one host, of its devices or the host alone; the first `MOST_STEPS` are told apart."""
    of_devices = budget(host)
    if of_devices.devices:
        return _blame(host, of_devices, host_spent(host))
    return _blame(host, host_alone(host), alone_spent(host))


@per_host()
def places(host: HostProfile) -> HostPlaces:
    """Where the devices of one host wait; none without steps of devices."""
    steps = budget(host).steps
    return HostPlaces() if steps is None else host_places(blame(host), hlo_ops(host), min(len(steps), MOST_STEPS))


@per_host()
def whole_places(host: HostProfile) -> HostPlaces:
    """Where the devices of one host wait, the whole recording taken as one step."""
    of = whole_budget(host)
    return HostPlaces() if of.steps is None else host_places(_blame(host, of, whole_spent(host)), hlo_ops(host), 1)


def _blame(host: HostProfile, of: HostBudget, spent: SpentTime | None) -> HostBlame:
    devices = host_devices(host)
    # Ops of XLA have source lines; what launched the others tells where they come from.
    launches = not any(op.program for device in devices for op in device.ops)
    used = merge_budgets([of]).takes_part
    return host_blame(devices or (HOST_ALONE,), spent, used, reader_of(host), launches=launches, steps=MOST_STEPS)
