"""The time budget of a run."""

from __future__ import annotations

from tpu_profile_plugin.analysis.budget.budget import HostBudget, host_budget
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget, merge_budgets
from tpu_profile_plugin.analysis.common.reasons import DEVICE_PLANES_MISSING
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE
from tpu_profile_plugin.analysis.devices.windows import step_windows, whole_recording
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.run.figures.devices import device_steps, host_devices, reader_of
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_if_any
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.host_facts import host_facts
from tpu_profile_plugin.run.hosts import RunHosts


@per_host()
def budget(host: HostProfile) -> HostBudget:
    """The budget of one host."""
    return host_budget(host.lazy, host_devices(host), device_steps(host), hlo_ops(host).programs, reader_of(host))


@per_host()
def host_alone(host: HostProfile) -> HostBudget:
    """The budget of a host of which no device was recorded: what the host does counts as if a device waited for it."""
    device = (HOST_ALONE,)
    steps = step_windows(host.lazy, groups_if_any(host), device)
    return host_budget(host.lazy, device, steps, hlo_ops(host).programs, reader_of(host))


@per_host()
def whole_budget(host: HostProfile) -> HostBudget:
    """The budget of one host with the recording as one step, for steps that leave out what devices do."""
    devices = host_devices(host)
    return host_budget(host.lazy, devices, whole_recording(devices), hlo_ops(host).programs, reader_of(host))


def run_budget(run: RunHosts) -> RunBudget:
    """The budget of the chosen hosts; empty without devices."""
    return run.merged(budget, merge_budgets)


def run_decomposition(run: RunHosts) -> RunBudget:
    """The budget of the chosen hosts as pages show it: of the hosts alone if they used no device.

    Empty if they did, and no device was recorded.
    """
    of_devices = run_budget(run)
    return of_devices if of_devices.devices or lacks_planes(run) else run.merged(host_alone, merge_budgets)


def lacks_planes(run: RunHosts) -> Problem | None:
    """Why the hosts alone tell nothing of the time: they ran programs on devices that were not recorded."""
    losses = (loss for facts in run.map_hosts(host_facts) for loss in facts.losses)
    return next((loss for loss in losses if loss.code == DEVICE_PLANES_MISSING.code), None)
