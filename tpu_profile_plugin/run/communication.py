"""Communication of a run: per-host communication, computed in parallel, and the hosts' collectives as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.communication.host import HostCommunication, host_communication
from tpu_profile_plugin.analysis.communication.run import RunCommunication, merge_communication
from tpu_profile_plugin.run.devices import device_steps, host_devices, reader_of
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.ops import hlo_ops_of

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


def make_communication(host: HostProfile) -> HostCommunication:
    """The communication of one host, from its columns."""
    programs, reader = hlo_ops_of(host).programs, reader_of(host)
    return host_communication(host.lazy, host_devices(host), device_steps(host), programs, lambda: reader.events)


COMMUNICATION = PerHost(make_communication)


def run_communication(inputs: Inputs) -> RunCommunication:
    """The communication of the chosen hosts."""
    return inputs.map_reduce("communication", COMMUNICATION, merge_communication)
