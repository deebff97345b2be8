"""The memory of a program by buffer, category and source line, at its peak."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.findings.evidence.device.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.source import Frame, call_stack
from tpu_profile_plugin.analysis.memory.buffers import DEFAULT_SPACE, MemoryHistory, MemoryLayout, memory_history
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import CorruptProfile, in_file
from tpu_profile_plugin.run.figures.programs import chosen_program, is_program_id, programs_of
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.hosts import RunHosts


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
