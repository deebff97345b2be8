"""An HLO program by rows: what is inside fusions, shapes, and a source for instructions that have none of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.programs import DEEPEST_STACK, Program, Source, source_of
from tpu_profile_plugin.analysis.hlo.shapes import Shape, bits_of, leaf_bytes, leaves, type_name
from tpu_profile_plugin.analysis.hlo.text import module_header
from tpu_profile_plugin.protos import read

_DEEPEST = 4
"""Fusions do not nest deeper in real programs."""
_FARTHEST_BACK = 32
"""Steps back to where a value comes from; real chains are far shorter."""
_FARTHEST = 3
"""How many operands or users away an instruction without a source may take it from."""


class ProgramRows:
    """One program; rows are those of `Program`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.links = Links(program)
        self.opcodes = program.opcodes
        self._shapes: dict[int, Shape] = {}
        self._inside: dict[int, tuple[int, ...]] = {}

    @cached_property
    def header(self) -> Any:
        """The HloModuleProto without its computations."""
        return module_header(self.program)

    @cached_property
    def _row_of_id(self) -> dict[int, int]:
        return {id_: row for row, id_ in enumerate(self.program.columns["id"].tolist())}

    def row(self, name: str) -> int | None:
        """The first instruction of that name."""
        return self.program.row_of.get(name)

    def instruction(self, row: int) -> Instruction:
        """The instruction with all fields."""
        return self.program.instruction(row)

    def root(self, computation: int) -> int | None:
        """The row whose value a computation has."""
        return self._row_of_id.get(int(self.program.columns["computation_root"][computation]))

    def fused(self, row: int) -> int | None:
        """The computation inside a fusion; None for other instructions."""
        called = self.links.called(row) if self.opcodes[row] == "fusion" else []
        return called[0] if called else None

    def inside(self, row: int, depth: int = _DEEPEST) -> tuple[int, ...]:
        """The rows inside a fusion, those of nested fusions included; the row itself if it is none."""
        if row not in self._inside:
            computation = self.fused(row) if depth else None
            rows = (row,) if computation is None else tuple(self._within(computation, depth))
            self._inside[row] = rows
        return self._inside[row]

    def _within(self, computation: int, depth: int) -> Iterator[int]:
        for row in self.links.rows_of(computation):
            yield from self.inside(row, depth - 1)

    def shape(self, row: int) -> Shape:
        """The shape of a row's result."""
        if row not in self._shapes:
            data = self.program.space.blob(int(self.program.columns["shape"][row]))
            self._shapes[row] = read("xla.ShapeProto", data)
        return self._shapes[row]

    def bytes(self, row: int) -> int:
        """Size of all arrays of a row's result."""
        return leaf_bytes(self.shape(row))

    def float_bits(self, row: int) -> int:
        """Width of the widest floating-point array of a row's result, parts of complex numbers; 0 without any."""
        widths = [0]
        for _, leaf in leaves(self.shape(row)):
            name = type_name(leaf.element_type)
            if name.startswith(("f", "bf", "c")) and any(size > 1 for size in leaf.dimensions):
                widths.append(bits_of(leaf.element_type) // (2 if name.startswith("c") else 1))
        return max(widths)

    def arguments(self) -> list[int]:
        """The rows of what the program takes."""
        entry = self.program.entry
        inside = () if entry is None else self.links.rows_of(entry)
        return [row for row in inside if self.opcodes[row] == "parameter"]

    def parameter(self, fusion: int, row: int) -> int | None:
        """The operand of a fusion that a parameter inside it stands for."""
        operands = self.links.operands(fusion)
        number = int(self.instruction(row).parameter_number)
        return operands[number] if 0 <= number < len(operands) and operands[number] >= 0 else None

    def back(self, row: int, same: Callable[[int], bool]) -> Iterator[int]:
        """A row and what makes its value: first operands of rows that keep it the `same`, into fusions and out."""
        for _ in range(_FARTHEST_BACK):
            yield row
            computation, operands = self.fused(row), self.links.operands(row)
            fusion = self.links.fusion_of.get(self.links.home(row))
            source: int | None = None
            if self.opcodes[row] == "parameter":
                source = None if fusion is None else self.parameter(fusion, row)
            elif computation is not None:
                source = self.root(computation)
            elif operands and same(row):
                source = operands[0]
            if source is None or source < 0:
                return
            row = source

    def loops(self, row: int) -> list[int]:
        """The loops around an instruction, the outermost first."""
        found: list[int] = []
        while (loop := self.links.loop_of.get(self.links.home(row))) is not None and loop not in found:
            found.append(loop)
            row = loop
        return found[::-1]

    def place(self, row: int) -> str:
        """`file:line` of an instruction; of one without a source that of what is inside it or closest to it, or ""."""
        near = self.near_source(row, 1)
        return "" if near is None else f"{near[1].file.rpartition('/')[2]}:{near[1].line}"

    def near_source(self, row: int, deepest: int = DEEPEST_STACK) -> tuple[int, Source] | None:
        """The row that `place` takes the source from, and the source with at most `deepest` calls."""
        for other in self._near(row):
            source = source_of(self.program, other, deepest)
            if source is not None:
                return other, source
        return None

    def op_name(self, row: int) -> str:
        """The framework op of an instruction, or of what is inside it or closest to it; "" if there is none."""
        return next((self.program.op_names[one] for one in self._near(row) if self.program.op_names[one]), "")

    def own_op_name(self, row: int) -> str:
        """The framework op of an instruction, or of what decides inside it; "" if it has none of its own."""
        return next((self.program.op_names[one] for one in self._with_inside(row) if self.program.op_names[one]), "")

    def _near(self, row: int) -> Iterator[int]:
        """The instruction, what is inside it from its result on, then those that need its result, then its operands.

        Others that share an operand with it have nothing to do with it.
        """
        yield from self._with_inside(row)
        for step in (self.links.users, self.links.operands):
            seen = {row}
            waiting = deque([(row, 0)])
            while waiting:
                current, distance = waiting.popleft()
                for other in step(current) if distance < _FARTHEST else ():
                    if other >= 0 and other not in seen:
                        seen.add(other)
                        waiting.append((other, distance + 1))
                        yield from self._with_inside(other)

    def _with_inside(self, row: int) -> Iterator[int]:
        yield row
        if self.opcodes[row] == "fusion":
            yield from reversed(self.inside(row))
