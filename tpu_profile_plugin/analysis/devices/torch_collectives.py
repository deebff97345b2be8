"""What collectives of PyTorch send, from the arguments that its profiler records with their kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tpu_profile_plugin.analysis.common.keys import row_codes
from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

_TEXTS = ("Collective name", "dtype", "Process Group Name", "Process Group Ranks", "Input Dims", "Input type", "tf_op")
_MARK = "nccl:"
_INTS = ("In msg nelems", "Group size")
_WIDTHS = {
    "double": 8, "long": 8, "long int": 8, "float": 4, "int": 4, "half": 2, "bfloat16": 2, "c10::half": 2,
    "c10::bfloat16": 2, "short": 2, "byte": 1, "char": 1, "bool": 1, "unsigned char": 1, "signed char": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "c10::float8_e4m3fn": 1, "c10::float8_e5m2": 1,
}  # fmt: skip
_KINDS = (
    ("reducescatter", "reduce-scatter"), ("allreduce", "all-reduce"), ("allgather", "all-gather"),
    ("alltoall", "all-to-all"), ("broadcast", "collective-broadcast"), ("send", "send"), ("recv", "recv"),
    ("reduce", "reduce"),
)  # fmt: skip
_UNEVEN = ("all-to-all", "send", "recv")
"""Ranks may send different amounts, so that the amount does not tell which of their kernels belong together."""
_SHAPE, _TEXT = re.compile(r"\[([\d, ]+)\]"), re.compile(r'"([^"]+)"')


@dataclass(frozen=True, slots=True)
class Sent:
    """A collective's kind, operands on one rank, and group; 0 and "" if unknown."""

    kind: str = ""
    elements: int = 0
    dtype: str = ""
    group: str = ""
    ranks: int = 0

    def of(self, op: Op) -> Op:
        """The op with what it sends; collectives of different kinds, sizes or groups are different ops."""
        said = [self.kind] if self.kind and self.kind != op.collective else []
        said += [] if self.kind in _UNEVEN or not self.elements else [f"{self.elements} {self.dtype}".strip()]
        said += [f"group {self.group}"] if self.group else []
        name = f"{op.name} [{', '.join(said)}]" if said else op.name
        size = self.elements * _WIDTHS.get(self.dtype.lower(), 0)
        return replace(op, name=name, collective=self.kind or op.collective, operand_bytes=size, ranks=self.ranks)


def torch_collectives(space: XSpace, plane: Plane, events: I64) -> tuple[I64, list[Sent]]:
    """Per event the index of what it sends, -1 if nothing is recorded."""
    declared = plane.stat_metadata
    if declared.row("Collective name") is None and declared.row("Input Dims") is None:
        return np.full(len(events), -1, np.int64), []
    columns, texts = [], []
    for name in _TEXTS:
        code, found = read.strings(space, plane, plane.events.stats, name)
        columns.append(code[events].astype(np.int64))
        texts.append(found)
    for name in _INTS:
        columns.append(read.ints(space, plane, plane.events.stats, name)[0][events])
    index, first = row_codes(*columns)
    made: list[Sent] = []
    number = np.full(len(first), -1, np.int64)
    for i, row in enumerate(first.tolist()):
        known = [found[column[row]] if column[row] >= 0 else "" for column, found in zip(columns, texts, strict=False)]
        one = _sent(known, *(int(column[row]) for column in columns[len(texts) :]))
        if one != Sent():
            number[i] = len(made)
            made.append(one)
    return number[index], made


def _sent(texts: list[str], elements: int, ranks: int) -> Sent:
    collective, dtype, group, members, shapes, types, op = texts
    if collective:
        group = f"{group}: {members}" if members else group
        return Sent(_kind(collective), elements, dtype, group.strip(": "), ranks)
    # Older versions mark the launch as `nccl:all_reduce`, with shapes as those of an op.
    name = op.rpartition("/")[2]
    if not name.startswith(_MARK):
        return Sent()
    sizes = [list(map(int, found.split(","))) for found in _SHAPE.findall(shapes)]
    first = _TEXT.search(types)
    return Sent(_kind(name.removeprefix(_MARK)), sum(map(prod, sizes)), first[1] if first else "")


def _kind(name: str) -> str:
    plain = name.lower().replace("_", "")
    return next((kind for part, kind in _KINDS if part in plain), "")
