"""The findings of a run: what each rule needs of each host, computed in parallel, and what the rules say of all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.analysis.budget.host_reader import EVENTS, MAIN, TIME, HostReader
from tpu_profile_plugin.analysis.common.planes import device_planes, is_tpu
from tpu_profile_plugin.analysis.findings.find import Report, find, gather
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.memory.capacity import ALLOCATORS, device_allocators
from tpu_profile_plugin.analysis.summary.host import may_have_groups
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.run.budget import BUDGET, run_budget
from tpu_profile_plugin.run.communication import COMMUNICATION, run_communication
from tpu_profile_plugin.run.devices import host_devices, keeper_of
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.ops import hlo_ops_of
from tpu_profile_plugin.run.summary import SUMMARY, groups_if_any, run_summary, summary_of
from tpu_profile_plugin.system.process import available_cores
from tpu_profile_plugin.system.threads import map_threads

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


def make_gathered(host: HostProfile) -> dict[str, Any]:
    """What the rules need of one host, by their ids."""
    summary_of(host)  # the overview waits for it as well: nothing else may delay it
    gathered, _ = map_threads(lambda part: part(host), (_gathered, _read_ahead))
    host.forget(EVENTS, TIME, MAIN, ALLOCATORS)
    assert gathered is not None
    return gathered


def _gathered(host: HostProfile) -> dict[str, Any] | None:
    hlo = hlo_ops_of(host)
    shared = summary_of(host), host.compute(BUDGET), host.compute(COMMUNICATION)
    devices, keep = lambda: host_devices(host), keeper_of(host)
    return gather(HostView(host.name, host.lazy, groups_if_any(host), hlo, shared, devices, keep))


def _read_ahead(host: HostProfile) -> None:
    """Reads what the host of TPUs without steps did while devices are built, on another core if there is one.

    Steps, and those of other devices in general, may need all events of the host, so that nothing is left to read.
    """
    planes = device_planes(host.lazy)
    if available_cores() < 2 or not planes or not is_tpu(planes[0]) or may_have_groups(host.lazy):
        return
    keep = keeper_of(host)
    with suppress(ProfileError):  # raised again where what cannot be read is needed
        _ = HostReader(host.lazy, keep).time
        keep(ALLOCATORS, lambda: device_allocators(host.lazy))


GATHERED = PerHost(make_gathered, prefetch=(BUDGET, COMMUNICATION, SUMMARY))


def run_findings(inputs: Inputs) -> tuple[RunView, Report]:
    """The run as the rules see it, and what they say."""
    gathered = inputs.map_hosts(GATHERED)
    summary, budget, communication = run_summary(inputs), run_budget(inputs), run_communication(inputs)
    run = RunView(tuple(host.name for host in inputs.readable), summary, budget, communication)
    return run, inputs.derive("findings", lambda _: find(run, gathered))
