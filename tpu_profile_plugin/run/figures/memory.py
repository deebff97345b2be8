"""The memory of a run: its devices, their allocators, and its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_CAPACITY, NO_MEMORY
from tpu_profile_plugin.analysis.devices.inventory import programs_of_devices
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.memory.allocations import (
    Allocations,
    DeviceMemory,
    MemoryUse,
    device_allocators,
    device_memory,
    memory_peak,
)
from tpu_profile_plugin.analysis.memory.buffers import ProgramRan, programs_ran
from tpu_profile_plugin.run.figures.allocations import host_allocations
from tpu_profile_plugin.run.figures.comparison import run_side
from tpu_profile_plugin.run.figures.devices import host_devices
from tpu_profile_plugin.run.figures.programs import hlo_ops
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
      programs: by `module(program id)`, the peak memory of the program, as XLA planned it.
      ran: the programs that devices ran, most time first; without ops that name their program empty.
    """

    devices: Mapping[str, DeviceMemory]
    allocators: Mapping[tuple[str, str], AllocatorPeak]
    programs: Mapping[str, int]
    ran: tuple[ProgramRan, ...] = ()

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
    """The memory of one host's devices, and the peaks of their allocators; of the host's, if it has no devices."""
    device = host_device_memory(host)
    return device, _of_host(host) if device.hardware is Hardware.CPU_ONLY else _of_devices(host)


def _of_devices(host: HostProfile) -> dict[str, AllocatorPeak]:
    found = device_allocators(host.lazy).items()
    return {name: _peak(rows, int(rows.in_use.argmax())) for name, rows in found if len(rows.in_use)}


def _of_host(host: HostProfile) -> dict[str, AllocatorPeak]:
    recorded, _ = host_allocations(host, since_recording=True)
    found = {} if recorded is None else {name: memory_peak(rows) for name, rows in recorded.by_memory().items()}
    peaks = {name: _peak(one.rows, one.peak) for name, one in found.items() if one.peak is not None}
    return {name: peak for name, peak in peaks.items() if peak.in_use_bytes}


def _peak(rows: Allocations | MemoryUse, at: int) -> AllocatorPeak:
    return AllocatorPeak(int(rows.in_use[at]), int(rows.in_use[at] + rows.free[at]))


@per_host()
def host_programs_ran(host: HostProfile) -> tuple[ProgramRan, ...]:
    """The programs that one host's devices ran."""
    return programs_of_devices(host.lazy, host_devices(host), hlo_ops(host).programs)


def run_programs_ran(run: RunHosts) -> tuple[ProgramRan, ...]:
    """The programs that the devices of the chosen hosts ran, most time first."""
    return programs_ran(run.map_hosts(host_programs_ran))


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
        ran=run_programs_ran(run),
    )
    if (
        not memory.allocators
        and not memory.programs
        and not memory.ran
        and not any(one.bytes for one in memory.devices.values())
    ):
        raise NO_MEMORY.error()
    return memory
