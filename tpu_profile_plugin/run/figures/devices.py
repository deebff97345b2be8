"""The devices of a host and their steps, and a reader of what the host did."""

from __future__ import annotations

from functools import partial

from tpu_profile_plugin.analysis.budget.host_time import HostReader, Keep
from tpu_profile_plugin.analysis.devices.collectives import match_collectives, transfer_of
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.model import Device
from tpu_profile_plugin.analysis.devices.windows import StepWindows, step_windows, without_start_up
from tpu_profile_plugin.analysis.steps.inferred import InferredSteps, infer_steps
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_if_any
from tpu_profile_plugin.run.host import HostProfile, derived


@derived()
def host_devices(host: HostProfile) -> tuple[Device, ...]:
    """The devices of one host."""
    return devices_of(host.lazy, hlo_ops(host).programs)


@derived(alone=True)
def device_steps(host: HostProfile) -> StepWindows | None:
    """When each device was in which step; None without devices."""
    devices = host_devices(host)
    infer = partial(inferred_steps, host)
    steps = step_windows(host.lazy, groups_if_any(host), devices, infer) if devices else None
    if steps is None:
        return None
    return without_start_up(
        steps,
        devices,
        lambda: match_collectives(devices, lambda op: transfer_of(op, hlo_ops(host).programs)),
        lambda: reader_of(host).events,
    )


@derived(alone=True)
def inferred_steps(host: HostProfile) -> InferredSteps | None:
    """The steps of one host that what it ran tells, without the device time in them."""
    return infer_steps(host.lazy, busy=False)


def keeper_of(host: HostProfile) -> Keep:
    """Caches what is read of a host with its columns."""
    return lambda key, make: host.once(key, make, alone=True)


def reader_of(host: HostProfile) -> HostReader:
    """Reads what the host did; the parts are cached with the host's columns."""
    return HostReader(host.lazy, keeper_of(host), lambda: hlo_ops(host).programs)
