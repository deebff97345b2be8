"""What holds the memory at its peak: buffers of a program as XLA planned them, and allocations that were recorded."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_ALLOCATIONS, NO_CAPACITY
from tpu_profile_plugin.analysis.hlo.source import source_of
from tpu_profile_plugin.analysis.memory.allocations import INVALID, MemoryPeak, device_allocators, memory_peak
from tpu_profile_plugin.analysis.memory.buffers import DEFAULT_SPACE, MemoryLayout, by_size
from tpu_profile_plugin.errors import in_file
from tpu_profile_plugin.run.figures.allocations import host_allocations
from tpu_profile_plugin.run.figures.memory import host_device_memory, run_memory
from tpu_profile_plugin.run.figures.programs import chosen_program, is_program_id, programs_of
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts

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
      host, allocator: which; of_device: it has the memory of a device, rather than of the host.
      in_use_bytes: at the peak; of which stack_bytes are for temporaries of programs, heap_bytes allocated.
      free_bytes: available at that time; 0 if unknown.
      time_ps: of the peak, since the start of the recording.
      fragmentation: of the free memory, 0 to 1.
      lifetime_bytes: the most ever in use, also before the recording.
      allocations: at the peak, the largest first.
    """

    host: str
    allocator: str
    of_device: bool
    in_use_bytes: int
    stack_bytes: int
    heap_bytes: int
    free_bytes: int
    time_ps: int
    fragmentation: float
    lifetime_bytes: int
    allocations: tuple[AtPeak, ...]

    @property
    def capacity_bytes(self) -> int:
        """What the allocator manages; 0 if unknown."""
        return self.in_use_bytes + self.free_bytes if self.free_bytes else 0

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
        _use(host.name, name, peak, of_device=name in of_devices)
        for name, peak in peaks.items()
        if peak.peak is not None
    )


def _use(host: str, name: str, found: MemoryPeak, *, of_device: bool) -> AllocatorUse:
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
        known = f"{'' if kind == INVALID else kind}{shape}" if shape not in ("", "unknown") else ""
        listed.append(AtPeak(op or "unknown", int(rows.allocated[row]), count, known, region, op, ""))
    return AllocatorUse(
        host,
        name,
        of_device,
        int(rows.in_use[peak]),
        int(rows.stack[peak]),
        int(rows.heap[peak]),
        int(rows.free[peak]),
        int(rows.time_ps[peak]),
        float(rows.fragmentation[peak]),
        found.lifetime_peak,
        tuple(listed),
    )


def run_allocator_uses(run: RunHosts) -> tuple[AllocatorUse, ...]:
    """The peaks of all allocators: of devices, the fullest first, then of hosts. Raises NoData without any."""
    uses = [use for of_host in run.map_hosts(host_allocator_uses) for use in of_host if use.in_use_bytes > 0]
    if not uses:
        raise NO_ALLOCATIONS.error()
    return tuple(sorted(uses, key=lambda use: (not use.of_device, -use.share, -use.in_use_bytes)))
