"""The memory of a run: its devices, their allocators, and its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpu_profile_plugin.analysis.devices.program_times import programs_of_devices
from tpu_profile_plugin.analysis.memory.capacity import DeviceMemory, device_allocators, device_memory
from tpu_profile_plugin.analysis.memory.ran import ProgramRan, programs_ran
from tpu_profile_plugin.errors import NoData
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
      allocators: by host and allocator of a device, its peak; empty if allocations were not recorded.
      programs: by `module(program id)`, the peak memory of the program, as XLA planned it.
      ran: the programs that devices ran, most time first; without ops that name their program empty.
    """

    devices: Mapping[str, DeviceMemory]
    allocators: Mapping[tuple[str, str], AllocatorPeak]
    programs: Mapping[str, int]
    ran: tuple[ProgramRan, ...] = ()


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
        raise NoData("The profile has neither allocations, nor programs with buffers, nor devices of known memory.")
    return memory
