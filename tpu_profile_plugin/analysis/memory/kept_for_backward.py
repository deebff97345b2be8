"""Buffers of a program that the forward pass writes and the backward pass reads, of those in use at the peak."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.value_flow import ValueFlow
from tpu_profile_plugin.analysis.memory.buffers import MemoryLayout

_BACKWARD = re.compile(r"transpose\(|(^|/)gradient_tape/|(^|/)gradients(_\d+)?/")
_MARKS = (b"transpose(jvp(", b"gradient_tape/", b"gradients/")
"""One of these is in every program with a backward pass, in JAX and TensorFlow."""
_LEAST_SHARE = 0.01
"""Least share of the peak: smaller buffers are not looked at."""
_NO_ORIGIN = frozenset(("broadcast", "constant", "iota", "parameter", "custom-call"))
"""What fills an empty buffer says nothing about what the buffer is for."""


@dataclass(frozen=True, slots=True)
class KeptBuffer:
    """A buffer.

    Attributes:
      name: defining instruction with shape index, as the memory viewer has it; op: without; shape: with layout.
      size: in bytes.
      made_by: the framework op whose result it holds; place: its `file:line`; each "" if unknown.
    """

    name: str
    op: str
    shape: str
    size: int
    made_by: str
    place: str


@dataclass(frozen=True, slots=True)
class KeptGroup:
    """The buffers that one line of the user's program makes, such as one per layer, the largest first."""

    buffers: tuple[KeptBuffer, ...]

    @property
    def size(self) -> int:
        """Size of all its buffers in bytes."""
        return sum(one.size for one in self.buffers)

    @property
    def label(self) -> str:
        """The last parts of the framework op's name, and its line."""
        first = self.buffers[0]
        name = "/".join(first.made_by.split("/")[-2:]) or first.name
        return f"{name} ({first.place})" if first.place else name


@dataclass(frozen=True, slots=True)
class Kept:
    """What a program keeps for its backward pass, the largest group first; sizes in bytes."""

    module: str
    program_id: int
    peak: int
    groups: tuple[KeptGroup, ...]

    @property
    def size(self) -> int:
        """Size of all groups in bytes."""
        return sum(one.size for one in self.groups)


def has_backward_pass(blob: bytes) -> bool:
    """Whether a serialized program may have a backward pass, which costs little to find out."""
    return any(mark in blob for mark in _MARKS)


def kept_buffers(layout: MemoryLayout, least_peak: int, least_share: float) -> Kept | None:
    """The kept buffers whose groups have at least `least_share` of the peak; None if that is below `least_peak`."""
    peak = layout.peak_bytes
    if peak < least_peak:
        return None
    program = layout.program
    rows = ProgramRows(program)
    flow = ValueFlow(rows)
    kept = []
    for buffer in layout.at_peak[0]:
        position = layout.buffers.position(buffer.row)
        temporary = buffer.allocation >= 0 and layout.buffers.category(buffer.allocation) == "Temporary"
        if buffer.size < _LEAST_SHARE * peak or not temporary or position.row is None:
            continue
        maker = _maker(rows, flow, position.row, position.index)
        if maker is not None:
            shape = layout.buffers.shape(buffer.row).text
            named = position.full_name, program.names[position.row]
            kept.append(KeptBuffer(*named, shape, buffer.size, rows.op_name(maker), rows.place(maker)))
    return Kept(program.module.name, program.program_id, peak, _grouped(kept, least_share * peak))


def _grouped(buffers: Sequence[KeptBuffer], least: float) -> tuple[KeptGroup, ...]:
    """Buffers by the line that makes them, or by op where that is unknown; groups of at least `least` bytes."""
    groups: dict[str, list[KeptBuffer]] = {}
    for buffer in sorted(buffers, key=lambda one: -one.size):
        groups.setdefault(buffer.place or buffer.made_by, []).append(buffer)
    large = [group for group in map(KeptGroup, map(tuple, groups.values())) if group.size >= least]
    return tuple(sorted(large, key=lambda group: -group.size))


def _maker(rows: ProgramRows, flow: ValueFlow, row: int, index: tuple[int, ...]) -> int | None:
    """What the forward pass put into a buffer that the backward pass reads; None if it is no such buffer."""
    reached = flow.follow(row, index)
    if not any(_is_backward(rows, reader) for reader in reached.readers):
        return None
    for fill, written in reached.fills:
        if _is_forward(rows, fill):
            return flow.origin(written, fill)
    return row if _is_forward(rows, row) and not reached.fills else None


def is_kept_for_backward(rows: ProgramRows, flow: ValueFlow, row: int, index: tuple[int, ...]) -> bool:
    """Whether a buffer holds what the forward pass wrote and the backward pass reads."""
    return _maker(rows, flow, row, index) is not None


def _own_names(rows: ProgramRows, row: int) -> list[str]:
    names = rows.program.op_names
    return [names[row]] if names[row] else [names[one] for one in rows.inside(row) if names[one]]


def _is_backward(rows: ProgramRows, row: int) -> bool:
    return any(_BACKWARD.search(name) for name in _own_names(rows, row))


def _is_forward(rows: ProgramRows, row: int) -> bool:
    """Written by the forward pass: its ops are in no transposed scope, in JAX in a scope of `jvp`.

    Initial values do not count.
    """
    if rows.opcodes[row] in _NO_ORIGIN and not rows.program.op_names[row]:
        return False
    names = _own_names(rows, row)
    if any(_BACKWARD.search(name) for name in names):
        return False
    return any("jvp(" in name for name in names) or (bool(names) and not _of_jax(rows))


def _of_jax(rows: ProgramRows) -> bool:
    return any("transpose(jvp(" in name for name in rows.program.op_names)
