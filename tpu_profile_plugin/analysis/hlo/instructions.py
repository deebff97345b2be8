"""Instructions of an HLO program as messages with all fields of `protos/hlo.proto`, each read on first use.

Fields needed for every instruction are columns instead: `programs.py`, decoded by `native/src/hlo/instructions.rs`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias

from tpu_profile_plugin.analysis.hlo.programs import Program

Instruction: TypeAlias = Any
"""A message `xla.HloInstructionProto`."""


def provenance(instruction: Instruction) -> str:
    """The framework op that an instruction came from, `name:type`; "" when unknown."""
    op = f"{instruction.metadata.op_name}:{instruction.metadata.op_type}"
    return op if op != ":" else ""


class Instructions:
    """All instructions of one program. Ids are unique within a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._read: dict[int, Instruction] = {}
        self._computations: dict[int, Computation] = {}

    @cached_property
    def _row_of_id(self) -> dict[int, int]:
        return {id_: row for row, id_ in enumerate(self._program.columns["id"].tolist())}

    @cached_property
    def _computation_of_id(self) -> dict[int, int]:
        return {id_: i for i, id_ in enumerate(self._program.columns["computation_id"].tolist())}

    def named(self, name: str) -> Instruction | None:
        """The first instruction of that name."""
        row = self._program.row_of.get(name)
        return None if row is None else self._instruction_in(row)

    def find(self, id_: int) -> Instruction | None:
        """The instruction with that id."""
        row = self._row_of_id.get(id_)
        return None if row is None else self._instruction_in(row)

    def computation(self, id_: int) -> Computation | None:
        """The computation with that id."""
        index = self._computation_of_id.get(id_)
        if index is None:
            return None
        if index not in self._computations:
            start = self._program.columns["computation_start"]
            rows = range(int(start[index]), int(start[index + 1]))
            root = int(self._program.columns["computation_root"][index])
            self._computations[index] = Computation(self, rows, root)
        return self._computations[index]

    def called(self, instruction: Instruction) -> Computation | None:
        """The computation inside a fusion; None for other instructions."""
        ids = instruction.called_computation_ids if instruction.opcode == "fusion" else ()
        return self.computation(ids[0]) if ids else None

    def _instruction_in(self, row: int) -> Instruction:
        if row not in self._read:
            self._read[row] = self._program.instruction(row)
        return self._read[row]


class Computation:
    """One computation of a program."""

    def __init__(self, program: Instructions, rows: range, root_id: int) -> None:
        self._program, self._rows, self._root_id = program, rows, root_id

    @cached_property
    def instructions(self) -> list[Instruction]:
        """In the order of the program."""
        return [self._program._instruction_in(row) for row in self._rows]

    @property
    def root(self) -> Instruction | None:
        """The instruction whose value is the computation's result."""
        return self._program.find(self._root_id)
