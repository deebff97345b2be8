"""Copies of buffers in the layout that they have: why XLA makes them, from the program."""

from __future__ import annotations

from enum import Enum
from functools import cached_property

from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import Shape, leaves

COPY, _PART = "copy", "get-tuple-element"
_SAME = frozenset(("bitcast", "copy", "opt-barrier", "optimization-barrier"))


class Why(Enum):
    """Why a buffer is copied."""

    NOT_DONATED = "not donated"
    """An argument is overwritten, its buffer belongs to the caller, and a result of its shape and type is returned."""
    ARGUMENT = "argument"
    """An argument is overwritten whose buffer must not change."""
    CARRIED = "carried"
    """A loop carries the value from iteration to iteration and still needs the old one when it writes the new one."""
    OTHER = "other"
    """XLA's own reasons, such as the initial value of a loop; the program does not show what to change."""


class ProgramCopies:
    """The copies of one program."""

    def __init__(self, rows: ProgramRows) -> None:
        self._rows, self._links = rows, rows.links

    def is_copy(self, row: int) -> bool:
        """Whether an instruction only duplicates its operand: same type, sizes, layout and memory."""
        inside = self._rows.inside(row)
        copies = [one for one in inside if self._rows.opcodes[one] == COPY]
        if len(copies) != 1 or any(self._rows.opcodes[one] not in (*_SAME, "parameter") for one in inside):
            return False
        source = self._links.operands(copies[0])[:1]
        return (
            source != [] and source[0] >= 0 and _kind(self._rows.shape(copies[0])) == _kind(self._rows.shape(source[0]))
        )

    def why(self, row: int) -> tuple[Why, str]:
        """The reason for a copy, and the name of the argument that it copies; "" if it is none."""
        rows = list(self._rows.back(row, lambda one: self._rows.opcodes[one] in (*_SAME, _PART)))
        source = rows[-1]
        path = tuple(
            self._rows.instruction(one).tuple_index for one in reversed(rows) if self._rows.opcodes[one] == _PART
        )
        if self._rows.opcodes[source] != "parameter":
            return Why.OTHER, ""
        home = self._links.home(source)
        if home in self._bodies:
            return Why.CARRIED, ""
        if home != self._rows.program.entry:
            return Why.OTHER, ""
        number = int(self._rows.instruction(source).parameter_number)
        name = self._rows.program.op_names[source] or self._rows.program.names[source]
        if (number, path) in self._donated:
            return Why.OTHER, name
        given_back = _kind(self._rows.shape(row)) in self._results
        return (Why.NOT_DONATED if given_back else Why.ARGUMENT), name

    @cached_property
    def _bodies(self) -> frozenset[int]:
        """Computations that loops run in every iteration."""
        loops = (row for row, opcode in enumerate(self._rows.opcodes) if opcode == "while")
        return frozenset(called for loop in loops for called in self._links.called(loop))

    @cached_property
    def _donated(self) -> frozenset[tuple[int, tuple[int, ...]]]:
        """Arguments, by number and path, whose buffers the program may overwrite."""
        header = self._rows.header
        entries = (*header.input_output_alias.entries, *header.buffer_donor.entries)
        return frozenset((int(one.parameter_number), tuple(one.parameter_shape_index)) for one in entries)

    @cached_property
    def _results(self) -> frozenset[tuple[object, ...]]:
        """Types and sizes of the program's results."""
        entry = self._rows.program.entry
        root = None if entry is None else self._rows.root(entry)
        return frozenset() if root is None else frozenset(_kind(leaf) for _, leaf in leaves(self._rows.shape(root)))


def _kind(shape: Shape) -> tuple[object, ...]:
    """What two arrays have in common if one can take the other's place in memory."""
    return shape.element_type, tuple(shape.dimensions), tuple(shape.layout.minor_to_major), shape.layout.memory_space
