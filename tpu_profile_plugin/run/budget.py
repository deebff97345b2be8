"""The time budget of a run: per-host budgets, computed in parallel, and the names of their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.budget.budget import HostBudget, host_budget
from tpu_profile_plugin.analysis.budget.run import RunBudget, merge_budgets
from tpu_profile_plugin.run.devices import device_steps, host_devices, reader_of
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.ops import hlo_ops_of

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


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


def make_budget(host: HostProfile) -> HostBudget:
    """The budget of one host, from its columns."""
    programs = hlo_ops_of(host).programs
    return host_budget(host.lazy, host_devices(host), device_steps(host), programs, reader_of(host))


BUDGET = PerHost(make_budget)


def run_budget(inputs: Inputs) -> RunBudget:
    """The budget of the chosen hosts."""
    return inputs.map_reduce("time_budget", BUDGET, merge_budgets)
