"""What a collective op transfers, and between which devices: from its HLO instruction or its HLO text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.analysis.hlo.instructions import Instruction, replica_groups
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, Program
from tpu_profile_plugin.analysis.hlo.shapes import leaf_bytes

Groups = tuple[tuple[int, ...], ...]

_ARRAY = re.compile(r"\b(pred|bf16|[sufc]\d+(?:e\d+m\d+\w*)?)\[([\d,]*)\]")
_LISTED = re.compile(r"replica_groups=\{(\{[\d,{} ]*\})?\}")
_IOTA = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MOST_DEVICES = 1 << 20


@dataclass(frozen=True, slots=True)
class Transfer:
    """What one run of a collective moves.

    Attributes:
      operand_bytes: size of the operands on one device; None if unknown.
      groups: numbers of the devices that exchange data with each other; empty: all of them; None: unknown.
    """

    operand_bytes: int | None = None
    groups: Groups | None = None

    def group_of(self, device: int, devices: int) -> int | None:
        """The index of a device's group; None if it is in none, or unknown.

        `device` is its position among the run's `devices`. Groups that hold more devices than were recorded can only be
        told apart if there is a single one.
        """
        if self.groups is None:
            return None
        if len(self.groups) <= 1:
            return 0
        if sum(map(len, self.groups)) != devices:
            return None
        return next((i for i, group in enumerate(self.groups) if device in group), None)

    @property
    def ranks(self) -> int:
        """Number of devices in the largest group; 0 if unknown."""
        return max(map(len, self.groups), default=0) if self.groups else 0


def transfer_of(op: Op, programs: HloPrograms) -> Transfer:
    """What a collective op transfers; unknown parts are None."""
    if op.operand_bytes or op.ranks:
        # Its name tells the group, so that the devices that run it are one.
        return Transfer(op.operand_bytes or None, (tuple(range(op.ranks)),) if op.ranks else ())
    program = programs.program(op.program) if op.program else None
    row = program.row_of.get(op.name) if program is not None else None
    if program is None or row is None:
        return _from_text(op.text)
    instruction = program.instruction(row)
    operands = [operand.shape for operand in _operands(program, instruction)]
    return Transfer(sum(map(leaf_bytes, operands)) if operands else None, _groups(instruction))


def _operands(program: Program, instruction: Instruction) -> list[Instruction]:
    wanted = set(instruction.operand_ids)
    rows = np.flatnonzero(np.isin(program.columns["id"], list(wanted))) if wanted else ()
    return [program.instruction(int(row)) for row in rows]


def _groups(instruction: Instruction) -> Groups | None:
    iota, listed = replica_groups(instruction)
    if iota is not None:
        shape = (iota.num_replica_groups, iota.num_devices_per_group)
        return _iota(shape, tuple(iota.iota_reshape_dims), tuple(iota.iota_transpose_perm))
    if instruction.HasField("mesh_axes_replica_group_list"):
        return None
    return tuple(tuple(group.replica_ids) for group in listed)


def _iota(shape: Sequence[int], dimensions: Sequence[int], order: Sequence[int]) -> Groups | None:
    """Device numbers in order, shaped, transposed and cut into groups."""
    count = prod(shape)
    if not 0 < count <= _MOST_DEVICES or prod(dimensions) != count or min(dimensions, default=0) < 1:
        return None
    numbers = np.arange(count).reshape(tuple(dimensions))
    if order:
        if sorted(order) != list(range(len(dimensions))):
            return None
        numbers = numbers.transpose(tuple(order))
    rows = numbers.reshape(tuple(shape))
    return tuple(tuple(map(int, row)) for row in rows)


def _from_text(text: str) -> Transfer:
    """From HLO text such as `%x = f32[8] all-reduce(f32[8] %y), replica_groups={{0,1}}`."""
    if not text:
        return Transfer()
    _, _, rest = text.partition(" = ")
    call = re.search(r"[ )][a-z][a-z0-9-]*\(", rest)
    operands = _ARRAY.findall(_enclosed(rest[call.end() :])) if call else []
    size = sum((prod(map(int, filter(None, sizes.split(",")))) * _bits(kind) + 7) // 8 for kind, sizes in operands)
    groups: Groups | None = None
    if iota := _IOTA.search(text):
        shape, dimensions, order = (tuple(map(int, (part or "").split(",") if part else [])) for part in iota.groups())
        groups = _iota(shape, dimensions, order)
    elif listed := _LISTED.search(text):
        members = re.findall(r"\{([\d, ]+)\}", listed[1] or "")
        groups = tuple(tuple(int(number) for number in group.split(",")) for group in members)
    return Transfer(size if operands else None, groups)


def _enclosed(text: str) -> str:
    """The text up to the parenthesis that closes it."""
    depth = 1
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[:position]
    return text


def _bits(kind: str) -> int:
    number = re.search(r"\d+", kind)
    return 8 if kind == "pred" else int(number[0]) if number else 0
