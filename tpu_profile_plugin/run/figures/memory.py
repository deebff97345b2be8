"""The memory of a run: its devices, their allocators, and its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_CAPACITY, NO_MEMORY
from tpu_profile_plugin.analysis.environment.environment import Hardware
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
      allocators: by host and allocator of a device, its peak; of hosts where no device was recorded; empty if
        allocations were not.
      programs: by `module(program id)`, the peak memory of the programs that ran, as XLA planned it.
    """

    devices: Mapping[str, DeviceMemory]
    allocators: Mapping[tuple[str, str], AllocatorPeak]
    programs: Mapping[str, int]

    @property
    def caution(self) -> str:
        """Why it is unknown whether memory is a limit, as a sentence; "" if a capacity is known."""
        known = any(one.bytes for one in self.devices.values())
        known |= any(one.managed_bytes > one.in_use_bytes for one in self.allocators.values())
        return "" if known else NO_CAPACITY.sentence

    @property
    def largest_program(self) -> str:
        """The program that needs most memory of those that ran; "" if none of these is known."""
        return max(self.programs, key=lambda name: self.programs[name], default="")


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


def _of_cpus(run: RunHosts) -> dict[tuple[str, str], AllocatorPeak]:
    """The peaks of the allocators of hosts."""
    from tpu_profile_plugin.run.figures.memory_peak import host_allocator_uses

    uses = [use for of_host in run.map_hosts(host_allocator_uses) for use in of_host if use.in_use_bytes > 0]
    return {
        (use.host, use.allocator): AllocatorPeak(use.in_use_bytes, use.in_use_bytes + use.free_bytes) for use in uses
    }


def run_memory(run: RunHosts) -> Memory:
    """The memory of the chosen hosts. Raises NoData if nothing about memory was recorded."""
    of_hosts = run.map_hosts(host_memory)
    names = [host.name for host in run.readable]
    on_cpu = all(device.hardware is Hardware.CPU_ONLY for device, _ in of_hosts)
    memory = Memory(
        devices={name: device for name, (device, _) in zip(names, of_hosts, strict=True)},
        allocators={
            (name, allocator): peak
            for name, (_, peaks) in zip(names, of_hosts, strict=True)
            for allocator, peak in peaks.items()
        }
        | (_of_cpus(run) if on_cpu else {}),
        programs=run_side(run).memory,
    )
    if not memory.allocators and not memory.programs and not any(one.bytes for one in memory.devices.values()):
        raise NO_MEMORY.error()
    return memory
