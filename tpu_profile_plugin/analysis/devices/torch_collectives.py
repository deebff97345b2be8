"""Data that collectives of PyTorch send, from arguments that its profiler records and the ops that launched them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.op_names import (
    PYTORCH,
    UNKNOWN_KIND,
    collective_kind,
    op_collective,
    parse_op,
    range_of,
)
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

ARGUMENT = "Collective name"
"""The stat that events with the arguments of a collective have."""
_TEXTS = (ARGUMENT, "dtype", "Process Group Name", "Process Group Ranks", "Input Dims", "Input type")
_INTS = ("In msg nelems", "Group size")
_WIDTHS = {
    "double": 8, "long": 8, "long int": 8, "float": 4, "int": 4, "half": 2, "bfloat16": 2, "c10::half": 2,
    "c10::bfloat16": 2, "short": 2, "byte": 1, "char": 1, "bool": 1, "unsigned char": 1, "signed char": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "c10::float8_e4m3fn": 1, "c10::float8_e5m2": 1,
}  # fmt: skip
_UNEVEN = ("all-to-all", "send", "recv")
"""Ranks may send different amounts, so that the amount does not tell which of their kernels belong together."""
_SHAPE, _TEXT = re.compile(r"\[([\d, ]+)\]"), re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Sent:
    """A collective's kind, operands on one rank, and group; 0 and "" if unknown.

    `certain`: its arguments or its range say so; else the op around the launch starts a collective, of which the event
    may be a part.
    """

    kind: str = ""
    elements: int = 0
    dtype: str = ""
    group: str = ""
    ranks: int = 0
    certain: bool = True

    @property
    def launches(self) -> str:
        """The kind of collective that a kernel with an unknown name is part of; `of` adds the kind."""
        return UNKNOWN_KIND if self.certain else self.kind

    def of(self, op: Op) -> Op:
        """The op with what it sends; collectives of different kinds, sizes or groups are different ops."""
        if not self.certain:
            return op
        details = [self.kind] if self.kind and self.kind != op.collective else []
        details += [] if self.kind in _UNEVEN or not self.elements else [f"{self.elements} {self.dtype}".strip()]
        details += [f"group {self.group}"] if self.group else []
        name = f"{op.name} [{', '.join(details)}]" if details else op.name
        size = self.elements * _WIDTHS.get(self.dtype.lower(), 0)
        return replace(op, name=name, collective=self.kind or op.collective, operand_bytes=size, ranks=self.ranks)


def torch_collectives(space: XSpace, plane: Plane, events: I64) -> tuple[I64, list[Sent]]:
    """Per event of a GPU the index of what it sends, -1 if neither its arguments nor its op are of a collective."""
    declared = plane.stat_metadata
    # Ops of PyTorch are written as references.
    if declared.row(ARGUMENT) is None and not any(_starts_collective(name) for name in declared.names):
        return np.full(len(events), -1, np.int64), []
    named = named_ops(space, plane).by("framework_op")
    ops = [op.framework_op for op in named.ops]
    return sent_by(space, plane, events, named.op[events].astype(np.int64), ops)


def sent_by(space: XSpace, plane: Plane, events: I64, op: I64, ops: Sequence[str]) -> tuple[I64, list[Sent]]:
    """As `torch_collectives`, of any events: `op` is the index of each in `ops`, -1 without an op."""
    columns, texts = [op], [ops]
    for name in _TEXTS:
        code, distinct = read.strings(space, plane, plane.events.stats, name)
        columns.append(code[events].astype(np.int64))
        texts.append(distinct)
    for name in _INTS:
        columns.append(read.ints(space, plane, plane.events.stats, name)[0][events])
    index, first = row_codes(*columns)
    made: list[Sent] = []
    number = np.full(len(first), -1, np.int64)
    for i, row in enumerate(first.tolist()):
        cells = [of[column[row]] if column[row] >= 0 else "" for column, of in zip(columns, texts, strict=False)]
        sent = _sent(cells, *(int(column[row]) for column in columns[len(texts) :]))
        if sent is not None:
            number[i] = len(made)
            made.append(sent)
    return number[index], made


def _starts_collective(name: str) -> bool:
    """Whether a name is the path of an op of PyTorch that starts a collective."""
    parsed = parse_op(name)
    return parsed.category == PYTORCH and bool(op_collective(parsed.type))


def _sent(texts: list[str], elements: int, ranks: int) -> Sent | None:
    op, collective, dtype, group, members, shapes, types = texts
    if collective:
        group = f"{group}: {members}" if members else group
        return Sent(collective_kind(collective), elements, dtype, group.strip(": "), ranks)
    op = parse_op(op).type if op.endswith(PYTORCH) else op.rpartition("/")[2].strip()
    # Older versions, and libraries of processors, mark a range (`nccl:all_reduce`), with shapes as those of an op.
    if range_of(op)[0]:
        sizes = [list(map(int, shape.split(","))) for shape in _SHAPE.findall(shapes)]
        first = _TEXT.search(types)
        return Sent(op_collective(op), sum(map(prod, sizes)), first[1] if first else "")
    kind = op_collective(op)
    return Sent(kind, certain=False) if kind else None
