"""Communication of a run: its collectives, late devices, and launches."""

from __future__ import annotations

from tpu_profile_plugin.analysis.communication.host_collectives import HostCommunication, host_communication
from tpu_profile_plugin.analysis.communication.run_collectives import RunCommunication, merge_communication
from tpu_profile_plugin.run.figures.budget import budget
from tpu_profile_plugin.run.figures.devices import device_steps, host_devices, reader_of
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts


@per_host(prefetch=(budget,))
def communication(host: HostProfile) -> HostCommunication:
    """The communication of one host."""
    programs, reader = hlo_ops(host).programs, reader_of(host)
    return host_communication(host.lazy, host_devices(host), device_steps(host), programs, lambda: reader.events)


def run_communication(run: RunHosts) -> RunCommunication:
    """The communication of the chosen hosts."""
    return run.merged(communication, merge_communication)
