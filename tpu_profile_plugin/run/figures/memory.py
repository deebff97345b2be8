"""The memory of a run: its devices, their allocators, and its programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.reasons import NO_ALLOCATIONS, NO_CAPACITY, NO_MEMORY
from tpu_profile_plugin.analysis.devices.inventory import programs_declared, programs_of_devices
from tpu_profile_plugin.analysis.environment.device_names import device_of_allocator
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import Frame, Program, call_stack, source_of
from tpu_profile_plugin.analysis.memory.allocations import (
    ALLOCATION,
    DEALLOCATION,
    INVALID,
    Allocations,
    DeviceMemory,
    MemoryPeak,
    MemoryUse,
    allocations,
    device_allocators,
    device_memory,
    may_have_allocations,
    memory_peak,
)
from tpu_profile_plugin.analysis.memory.buffers import (
    DEFAULT_SPACE,
    MemoryHistory,
    MemoryLayout,
    ProgramRan,
    by_size,
    memory_history,
    programs_ran,
    unknown_memory,
)
from tpu_profile_plugin.analysis.summary.host_summary import has_root
from tpu_profile_plugin.columns import EventFilter, Plane
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import CorruptProfile, NoData, in_file
from tpu_profile_plugin.run.figures.budget import host_devices
from tpu_profile_plugin.run.figures.comparison import run_side
from tpu_profile_plugin.run.figures.programs import chosen_program, hlo_ops, is_program_id, programs_of
from tpu_profile_plugin.run.figures.summary import groups_of
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


MAX_ALLOCATORS = 1024
"""Upper limit for damaged profiles: real hosts have far fewer allocators, and each is analysed by itself."""


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


def ran_otherwise(host: HostProfile, program: Program) -> tuple[bool, str]:
    """Whether the host's devices ran other programs only, and why the memory of these is unknown; "" if it is known."""
    declared = programs_declared(host.lazy)
    if declared and declared <= programs_of(host).modules.keys():
        return program.program_id not in declared, ""  # nothing that their ops, which take time to read, would add to
    ran = programs_ran([host_programs_ran(host)])
    return bool(ran) and all(one.name != program.module.name for one in ran), unknown_memory(ran)


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


# The allocations that a host recorded.


def host_allocations(
    host: HostProfile, others: Sequence[EventFilter] = (), *, since_recording: bool
) -> tuple[Allocations | None, list[Plane]]:
    """The memory events of the host, None without any; and other planes, reduced by filters in the same pass.

    Raises NoData for impossibly many allocators.
    """
    space = host.lazy
    plane = host_plane(space)
    if plane is None or not may_have_allocations(plane):
        return None, space.filtered(*others)
    if any(has_root(other) for other in space.planes):
        # Groups are indexed by event, so the plane cannot be filtered.
        groups = groups_of(host).planes[plane.index].group_id
        found, reduced = allocations(space, plane, groups, since_recording=since_recording), space.filtered(*others)
    else:
        plane, *reduced = space.filtered(EventFilter(plane, event=(ALLOCATION, DEALLOCATION).__contains__), *others)
        found = allocations(space, plane, since_recording=since_recording)
    count = 0 if found is None else len(np.unique(found.memory.code))
    if count > MAX_ALLOCATORS:
        raise NoData(f"Host {host.name!r} names {count} allocators; at most {MAX_ALLOCATORS} can be shown.")
    return found, reduced


# What holds the memory at its peak: buffers of a program as XLA planned them, and allocations that were recorded.

_MOST = 500
"""Allocations at a peak that are kept, the largest."""


@dataclass(frozen=True, slots=True)
class AtPeak:
    """Memory in use at a peak, in bytes: what holds it, its shape, kind, framework op and source line; "" if unknown.

    `count`: number of equal allocations, of `size_bytes` each.
    """

    name: str
    size_bytes: int
    count: int
    shape: str
    kind: str
    framework_op: str
    source: str


@dataclass(frozen=True, slots=True)
class ProgramPeak:
    """The peak of a program in the main memory of a device.

    Attributes:
      program: `module(program id)`; host: the first that has it.
      peak_bytes: the most bytes in use; unpadded_bytes: the same without padding.
      argument_bytes, output_bytes: of the peak, arguments and results.
      device_bytes: memory of the device; 0 if unknown. device_source: where that is from, see `DeviceMemory`.
      buffers: at the peak, the largest first.
    """

    program: str
    host: str
    peak_bytes: int
    unpadded_bytes: int
    argument_bytes: int
    output_bytes: int
    device_bytes: int
    device_source: str
    buffers: tuple[AtPeak, ...]

    @property
    def caution(self) -> str:
        """Why it is unknown whether memory is a limit, as a sentence; "" if the memory of the device is known."""
        return "" if self.device_bytes else NO_CAPACITY.sentence


@dataclass(frozen=True, slots=True)
class AllocatorUse:
    """The peak of an allocator in the recording.

    Attributes:
      host, allocator: which; device: the TPU core it is of, "" if the name of the allocator tells.
      of_device: it has the memory of a device, rather than of the host.
      in_use_bytes: at the peak; of which stack_bytes are for temporaries of programs, heap_bytes allocated.
      free_bytes: available at that time; 0 if unknown.
      time_ps: of the peak, since the start of the recording.
      fragmentation: of the free memory, 0 to 1.
      lifetime_bytes: the most ever in use, also before the recording.
      segment_bytes: of the segments that blocks are cut from, largest_free_bytes: the largest free block in them; -1 if
        the allocator has none, or that is not known.
      allocations: at the peak, the largest first.
    """

    host: str
    allocator: str
    device: str
    of_device: bool
    in_use_bytes: int
    stack_bytes: int
    heap_bytes: int
    free_bytes: int
    time_ps: int
    fragmentation: float
    lifetime_bytes: int
    segment_bytes: int
    largest_free_bytes: int
    allocations: tuple[AtPeak, ...]

    @property
    def capacity_bytes(self) -> int:
        """What the allocator manages; 0 if unknown."""
        return self.in_use_bytes + self.free_bytes if self.free_bytes else 0

    @property
    def title(self) -> str:
        """Its name for sentences: the device, else the allocator."""
        return self.device or f"allocator {self.allocator}"

    @property
    def share(self) -> float:
        """Of the capacity in use at the peak; 0 if that is unknown."""
        return self.in_use_bytes / self.capacity_bytes if self.capacity_bytes else 0.0


@per_host()
def host_program_peak(host: HostProfile, program_id: int) -> ProgramPeak:
    """The peak of one of the host's programs. Raises CorruptProfile."""
    program = programs_of(host).program(program_id)
    assert program is not None
    with in_file(host.file):
        layout = MemoryLayout(program, DEFAULT_SPACE)
    device, buffers = host_device_memory(host), layout.buffers
    at_peak, _ = layout.at_peak
    listed = []
    for rank in by_size([one.size for one in at_peak]).tolist()[:_MOST]:
        buffer = at_peak[rank]
        position = buffers.position(buffer.row)
        source = None if position.row is None else source_of(program, position.row, 1)
        kind = buffers.category(buffer.allocation) if buffer.allocation >= 0 else ""
        op = "" if position.row is None else program.op_names[position.row]
        place = "" if source is None else f"{source.file}:{source.line}"
        shape = buffers.shape(buffer.row).text
        listed.append(AtPeak(position.full_name, buffer.size, 1, shape, kind, op, place))
    return ProgramPeak(
        program.module.name,
        host.name,
        layout.peak_bytes,
        layout.peak_unpadded,
        layout.bytes_of(buffers.parameter),
        layout.bytes_of(buffers.live_out),
        device.bytes,
        device.source,
        tuple(listed),
    )


def run_program_peak(run: RunHosts, program: str) -> ProgramPeak:
    """The peak of a program by its name with id, or its id; "": the one that needs most of those that ran.

    Raises NoData without any, NotFound for an unknown one.
    """
    program = program or run_memory(run).largest_program
    number = program if is_program_id(program) else ""
    host, chosen = chosen_program(run, "" if number else program, number)
    return host_program_peak(host, chosen.program_id)


@per_host()
def host_allocator_uses(host: HostProfile) -> tuple[AllocatorUse, ...]:
    """The peaks of the allocators of one host."""
    recorded, _ = host_allocations(host, since_recording=True)
    peaks = {} if recorded is None else {name: memory_peak(rows) for name, rows in recorded.by_memory().items()}
    of_devices = device_allocators(host.lazy) if peaks else {}
    return tuple(
        _use(host.name, name, device_of_allocator(host.lazy, name), peak, of_device=name in of_devices)
        for name, peak in peaks.items()
        if peak.peak is not None
    )


def _use(host: str, name: str, device: str, found: MemoryPeak, *, of_device: bool) -> AllocatorUse:
    rows, peak = found.rows, found.peak
    assert peak is not None
    listed = []
    for row, count in zip(found.active[:_MOST], found.count, strict=False):
        if row < 0:
            special = found.special[-1 - row]
            listed.append(AtPeak(special.name, special.bytes, count, "", special.region, "", ""))
            continue
        op, region, shape, kind = (
            column.texts[column.code[row]] for column in (rows.op, rows.region, rows.shape, rows.data_type)
        )
        source = rows.source.texts[rows.source.code[row]]
        known = f"{'' if kind == INVALID else kind}{shape}" if shape not in ("", "unknown") else ""
        listed.append(AtPeak(op or "unknown", int(rows.allocated[row]), count, known, region, op, source))
    return AllocatorUse(
        host,
        name,
        device,
        of_device,
        int(rows.in_use[peak]),
        int(rows.stack[peak]),
        int(rows.heap[peak]),
        int(rows.free[peak]),
        int(rows.time_ps[peak]),
        float(rows.fragmentation[peak]),
        found.lifetime_peak,
        int(rows.segments[peak]),
        int(rows.largest_free[peak]),
        tuple(listed),
    )


def run_allocator_uses(run: RunHosts) -> tuple[AllocatorUse, ...]:
    """The peaks of all allocators: of devices, the fullest first, then of hosts. Raises NoData without any."""
    uses = [use for of_host in run.map_hosts(host_allocator_uses) for use in of_host if use.in_use_bytes > 0]
    if not uses:
        raise NO_ALLOCATIONS.error()
    return tuple(sorted(uses, key=lambda use: (not use.of_device, -use.share, -use.in_use_bytes)))


# The memory of a program by buffer, category and source line, at its peak.


@dataclass(frozen=True, slots=True, eq=False)
class HeldBuffer:
    """A buffer that a program's memory holds.

    Attributes:
      name: defining instruction with shape index; "" if unknown.
      shape: with layout; op: HLO opcode; framework_op: of an argument its path in the call.
      category: see `MemoryHistory.categories`.
      stack: calls that lead to it, innermost first; empty if unknown.
    """

    name: str
    shape: str
    op: str
    framework_op: str
    category: str
    stack: tuple[Frame, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MemoryAtPeak:
    """What a program holds at the peak of a device's main memory.

    Attributes:
      program: `module(program id)`; host: the first that has it.
      peak_bytes: the sum of `size`, as in the memory viewer.
      buffers: the largest first; size: int64[n], bytes.
    """

    program: str
    host: str
    peak_bytes: int
    buffers: tuple[HeldBuffer, ...]
    size: I64


@derived(metadata=True)
def history_of(host: HostProfile, program_id: int) -> MemoryHistory:
    """The memory of one of the host's programs over time. Raises CorruptProfile."""
    program = programs_of(host).program(program_id)
    assert program is not None
    with in_file(host.file):
        return memory_history(MemoryLayout(program, DEFAULT_SPACE))


def held_buffer(history: MemoryHistory, rows: ProgramRows, piece: int) -> HeldBuffer:
    """The buffer in a piece of storage; one without a line has that of the closest op, an argument its path only."""
    row, category = int(history.row[piece]), history.categories[piece]
    if row < 0:
        return HeldBuffer("", "", "", "", category, ())
    buffers, program = history.layout.buffers, history.layout.program
    position, shape = buffers.position(row), buffers.shape(row).text
    at = position.row
    if at is None:
        return HeldBuffer(position.full_name, shape, "", "", category, ())
    opcode, op, stack = program.opcodes[at], program.op_names[at], call_stack(program, at)
    if not stack and opcode != "parameter":
        near = rows.near_source(at, 1)
        stack = () if near is None else call_stack(program, near[0])
    return HeldBuffer(position.full_name, shape, opcode, op, category, stack)


@per_host()
def host_memory_at_peak(host: HostProfile, program_id: int) -> MemoryAtPeak:
    """The peak of one of the host's programs. Raises CorruptProfile."""
    history = history_of(host, program_id)
    live, rows = history.live(history.peak), ProgramRows(history.layout.program)
    return MemoryAtPeak(
        program=history.layout.program.module.name,
        host=host.name,
        peak_bytes=history.layout.peak_bytes,
        buffers=tuple(held_buffer(history, rows, piece) for piece in live.tolist()),
        size=history.size[live],
    )


@per_host()
def host_program_peaks(host: HostProfile) -> dict[int, int]:
    """Peak bytes of each of the host's programs; those that do not decode are left out."""
    programs = programs_of(host)
    peaks = {}
    for number in programs.modules:
        program = programs.program(number)
        peak = None if program is None else _peak_of(program)
        if peak is not None:
            peaks[number] = peak
    return peaks


def _peak_of(program: Program) -> int | None:
    try:
        return MemoryLayout(program, DEFAULT_SPACE).peak_bytes
    except CorruptProfile:
        return None


def run_program_peaks(run: RunHosts) -> dict[str, int]:
    """Peak bytes of the programs by name with id, the largest first."""
    peaks: dict[str, int] = {}
    for host, of_host in zip(run.readable, run.map_hosts(host_program_peaks), strict=True):
        names = programs_of(host).names if of_host else {}
        for number, peak in of_host.items():
            peaks.setdefault(names[number], peak)
    return dict(sorted(peaks.items(), key=lambda item: (-item[1], item[0])))


def run_memory_at_peak(run: RunHosts, program: str = "") -> MemoryAtPeak | None:
    """The memory of a program, by name with id or id, else of the one with the largest peak; None without any.

    Raises NotFound for an unknown program, CorruptProfile.
    """
    if not program:
        peaks = run_program_peaks(run)
        program = next(iter(peaks), "")
        if not program or not peaks[program]:
            return None
    number = program if is_program_id(program) else ""
    host, chosen = chosen_program(run, "" if number else program, number)
    return host_memory_at_peak(host, chosen.program_id)
