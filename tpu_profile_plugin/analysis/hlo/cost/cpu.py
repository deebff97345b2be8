"""Cost of one execution of an HLO instruction on a CPU, as XLA's cost analysis for CPUs estimates it.

Every operation counts one per element, transcendental functions too. A fused instruction counts once for all its users,
and an operand of a fusion is read once for all instructions that read it whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tpu_profile_plugin.analysis.hlo.cost.model import CostModel, elements_of
from tpu_profile_plugin.analysis.hlo.cost.rules import BYTES, FLOPS, Properties, read, written
from tpu_profile_plugin.analysis.hlo.elementwise import COMPUTING
from tpu_profile_plugin.analysis.hlo.instructions import Computation, Instruction, Instructions
from tpu_profile_plugin.analysis.hlo.shapes import Shape, byte_size, element_count, leaves

_PER_ELEMENT = COMPUTING | {"rng", "rng-bit-generator"}
_OF_GPUS = ("all-gather", "all-gather-start", "all-reduce-start", "concatenate", "ragged-dot", "reduce-scatter")
"""Opcodes whose rule for GPUs does not hold on CPUs."""
_ALONE = frozenset(("broadcast", "reshape"))
"""Users that read an operand of a fusion on their own."""
Users = Mapping[int, Sequence[Instruction]]


_MAX_DEPTH = 50
"""Maximum nesting of fusions that is followed."""


class CpuCostModel(CostModel):
    """Costs of one program's instructions on a CPU."""

    immediate = 1

    def __init__(self, program: Instructions, known: dict[int, Properties] | None = None) -> None:
        super().__init__(program, known)
        for opcode in _OF_GPUS:
            del self._rules[opcode]

    def _default(self, instruction: Instruction, operands: Sequence[Shape]) -> Properties:
        properties = super()._default(instruction, operands)
        properties[FLOPS] = float(elements_of(instruction.shape)) if instruction.opcode in _PER_ELEMENT else 0.0
        return properties

    def _scale(self, instruction: Instruction, operands: Sequence[Shape]) -> float:
        return 1.0

    def _reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        bytes_ = {key: value for key, value in properties.items() if key != FLOPS}
        super()._reduce(instruction, operands, properties)
        properties |= bytes_

    def _all_reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Two replicas are assumed: each element of the result is one addition."""
        properties[FLOPS] = float(elements_of(instruction.shape))

    def _fused(self, inner: Computation, properties: Properties) -> None:
        users = _users(inner)
        large = (i for i in inner.instructions if i.opcode == "constant" and element_count(i.shape) > self.immediate)
        properties[FLOPS] = self._flops(inner)
        properties[BYTES] = properties[written()] + math.fsum(byte_size(i.shape) for i in large)
        for instruction in inner.instructions:
            if instruction.opcode == "parameter":
                parts = {
                    part: self._read_of(_part_reader(instruction, part, users), users)
                    for part, _ in leaves(instruction.shape)
                }
                properties |= {read(instruction.parameter_number, part): size for part, size in parts.items()}
                properties[read(instruction.parameter_number)] = math.fsum(parts.values())
                properties[BYTES] += properties[read(instruction.parameter_number)]

    def _read_of(self, operand: Instruction, users: Users, depth: int = 0) -> float:
        """Bytes that the instructions of a fusion read of an operand: its parts, and the whole once."""
        size, whole, read_whole = 0.0, float(byte_size(operand.shape)), False
        for user in users.get(operand.id, ()):
            first = user.operand_ids[0] == operand.id
            if user.opcode == "fusion":
                size += self._read_inside(operand, user, depth)
            elif user.opcode == "slice" or (user.opcode == "dynamic-slice" and first):
                size += byte_size(user.shape)
            elif user.opcode in _ALONE:
                size += whole
            elif not read_whole and not (user.opcode == "dynamic-update-slice" and first):
                read_whole, size = True, size + whole
        return size

    def _read_inside(self, operand: Instruction, fusion: Instruction, depth: int) -> float:
        inner = self._program.called(fusion)
        if inner is None or depth >= _MAX_DEPTH:
            return 0.0
        users = _users(inner)
        places = {place for place, id_ in enumerate(fusion.operand_ids) if id_ == operand.id}
        parameters = (i for i in inner.instructions if i.opcode == "parameter" and i.parameter_number in places)
        return math.fsum(self._read_of(parameter, users, depth + 1) for parameter in parameters)


def _users(inner: Computation) -> Users:
    users: dict[int, list[Instruction]] = {}
    for user in inner.instructions:
        for id_ in dict.fromkeys(user.operand_ids):
            users.setdefault(id_, []).append(user)
    return users


def _part_reader(parameter: Instruction, part: tuple[int, ...], users: Users) -> Instruction:
    """The instruction that takes a part of a tuple, or the last instruction on the path to it."""
    taken = parameter
    for index in part:
        takes = (i for i in users.get(taken.id, ()) if i.opcode == "get-tuple-element" and i.tuple_index == index)
        taken = next(takes, taken)
    return taken
