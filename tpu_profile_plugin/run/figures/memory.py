"""The memory of a run: its devices, their allocators, and its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_MEMORY
from tpu_profile_plugin.analysis.memory.capacity import DeviceMemory, device_allocators, device_memory
from tpu_profile_plugin.run.figures.comparison import run_side
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.hosts import RunHosts


@dataclass(frozen=True, slots=True)
class AllocatorPeak:
    """Peak memory in use of an allocator, and its capacity at that time; in bytes."""

    in_use_bytes: int
    managed_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """The memory of a run, in bytes.

    Attributes:
      devices: by host, the memory of one of its devices.
      allocators: by host and allocator of a device, its peak; empty if allocations were not recorded.
      programs: by `module(program id)`, the peak memory of the program, as XLA planned it.
    """

    devices: Mapping[str, DeviceMemory]
    allocators: Mapping[tuple[str, str], AllocatorPeak]
    programs: Mapping[str, int]


@derived()
def host_device_memory(host: HostProfile) -> DeviceMemory:
    """The memory of one of the host's devices."""
    return device_memory(host.lazy)


@per_host()
def host_memory(host: HostProfile) -> tuple[DeviceMemory, dict[str, AllocatorPeak]]:
    """The memory of one host's devices, and the peaks of their allocators."""
    peaks = {}
    for name, rows in device_allocators(host.lazy).items():
        if len(rows.in_use):
            peak = int(rows.in_use.argmax())
            peaks[name] = AllocatorPeak(int(rows.in_use[peak]), int(rows.in_use[peak] + rows.free[peak]))
    return host_device_memory(host), peaks


def run_memory(run: RunHosts) -> Memory:
    """The memory of the chosen hosts. Raises NoData if nothing about memory was recorded."""
    of_hosts = run.map_hosts(host_memory)
    names = [host.name for host in run.readable]
    memory = Memory(
        devices={name: device for name, (device, _) in zip(names, of_hosts, strict=True)},
        allocators={
            (name, allocator): peak
            for name, (_, peaks) in zip(names, of_hosts, strict=True)
            for allocator, peak in peaks.items()
        },
        programs=run_side(run).memory,
    )
    if not memory.allocators and not memory.programs and not any(one.bytes for one in memory.devices.values()):
        raise NO_MEMORY.error()
    return memory
