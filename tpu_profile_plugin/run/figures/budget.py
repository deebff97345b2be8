"""The time budget of a run, and the names of its parts."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.budget import HostBudget, host_budget
from tpu_profile_plugin.analysis.budget.run import RunBudget, merge_budgets
from tpu_profile_plugin.run.figures.devices import device_steps, host_devices, reader_of
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts


@dataclass(frozen=True)
class Label:
    """Display name and explanation of a part."""

    name: str
    sentence: str


LABELS = {
    "compute": Label("Compute", "Ops other than communication and copies; loops and calls around them included."),
    "exposed_communication": Label(
        "Exposed communication",
        "Collectives, send and recv while the device computes nothing, without the time it waits for other devices.",
    ),
    "exposed_copy": Label(
        "Exposed copies", "Copies between memories while the device neither computes nor communicates."
    ),
    "idle_input": Label("Idle: input", "The host waits for input data or sends it to a device."),
    "idle_compile": Label("Idle: compilation", "The host traces or compiles a program, or loads it to a device."),
    "idle_host": Label("Idle: host code", "One event of the host's main thread covers at least 80% of the idle time."),
    "idle_transfer": Label(
        "Idle: blocked on results",
        "The host is blocked until a device has finished or its results have arrived, and then launches the next work.",
    ),
    "idle_launch": Label("Idle: launch", "The host launches work, or launched work has not begun."),
    "idle_peer": Label(
        "Idle: waiting for another device", "The device is in a collective that another device has not reached yet."
    ),
    "idle_other": Label("Idle: unexplained", "No event tells the cause; gaps between the ops of a program included."),
}
"""By id of the category."""


@per_host()
def budget(host: HostProfile) -> HostBudget:
    """The budget of one host."""
    return host_budget(host.lazy, host_devices(host), device_steps(host), hlo_ops(host).programs, reader_of(host))


def run_budget(run: RunHosts) -> RunBudget:
    """The budget of the chosen hosts."""
    return run.merged(budget, merge_budgets)
