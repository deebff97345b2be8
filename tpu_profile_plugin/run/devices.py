"""What the tools about devices share: the devices of a host and their steps, their names, and why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.budget.host_reader import HostReader, Keep
from tpu_profile_plugin.analysis.devices.host import devices_of
from tpu_profile_plugin.analysis.devices.model import Device, RunDevice
from tpu_profile_plugin.analysis.devices.windows import StepWindows, step_windows
from tpu_profile_plugin.run.ops import hlo_ops_of
from tpu_profile_plugin.run.summary import groups_if_any

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import XSpace
    from tpu_profile_plugin.run.facts import RunFacts
    from tpu_profile_plugin.run.host import HostProfile


def host_devices(host: HostProfile) -> tuple[Device, ...]:
    """The devices of one host, cached with its columns."""
    return host.derive_lazily("devices", lambda space: devices_of(space, hlo_ops_of(host).programs))


def device_steps(host: HostProfile) -> StepWindows | None:
    """When each of them was in which step, cached with the host's columns; None without devices."""

    def make(space: XSpace) -> StepWindows | None:
        devices = host_devices(host)
        return step_windows(space, groups_if_any(host), devices) if devices else None

    return host.derive_lazily("device_steps", make, alone=True)


def keeper_of(host: HostProfile) -> Keep:
    """Caches what is read of a host with its columns."""
    return lambda key, make: host.derive_lazily(key, lambda _: make(), alone=True)


def reader_of(host: HostProfile) -> HostReader:
    """Reads what the host did; the parts are cached with the host's columns."""
    return HostReader(host.lazy, keeper_of(host))


def device_names(devices: Sequence[RunDevice], hosts: Sequence[str], *, several: bool) -> list[str]:
    """The devices for display, with the names of their hosts if there are several."""
    return [f"{hosts[one.host]}: {one.name}" if several else one.name for one in devices]


def devices_available(facts: RunFacts) -> str | None:
    """None if the profile may have devices, else the reason why it has none."""
    if facts.tf_executor or communication_available(facts) is None:
        return None
    return "The profile has neither a TPU nor a GPU, nor programs of XLA's CPU backend or ops of TensorFlow."


def communication_available(facts: RunFacts) -> str | None:
    """None if the profile may have devices that communicate: TensorFlow's ops on the CPU do not."""
    if facts.has_plane("/device:TPU:") or facts.has_plane("/device:GPU:") or facts.modules:
        return None
    return "The profile has neither a TPU nor a GPU nor a program of XLA's CPU backend."
