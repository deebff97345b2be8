"""Rows of a product's result that nothing reads, because one or a few of them are cut out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tpu_profile_plugin.analysis.hlo.products import MATRICES
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import element_count

_LEAST = 8
"""With fewer rows little is lost."""
_READ = 0.25
"""Largest share of the rows that is read: more than that may be a part of several."""
_LOOKED_AT = 64
"""Instructions between a product and the cut; real chains are far shorter."""
_OPAQUE = frozenset(("while", "call", "conditional", "custom-call", "tuple"))
"""What reads a value in a way that is not followed."""


@dataclass(frozen=True, slots=True)
class UnreadRows:
    """A product of which `read` of `rows` rows are read.

    Attributes:
      ops: its op, and those between it and the cut.
      moving: the program is told which are read: others in each call.
    """

    ops: frozenset[int]
    rows: int
    read: int
    moving: bool


def unread_rows(rows: ProgramRows) -> Iterator[UnreadRows]:
    """The products of a program of which only a few rows are read."""
    for row, opcode in enumerate(rows.opcodes):
        if opcode not in ("slice", "dynamic-slice"):
            continue
        operand = rows.links.operands(row)[0]
        whole, cut = (rows.shape(one).dimensions if one >= 0 else () for one in (operand, row))
        sizes = [(size, left) for size, left in zip(whole, cut, strict=True) if size != left] if whole else []
        if len(sizes) != 1 or sizes[0][0] < _LEAST or sizes[0][1] > _READ * sizes[0][0]:
            continue
        product = _product(rows, operand)
        ops = frozenset[int]() if product is None else _until(rows, product, _op(rows, row))
        if ops:
            yield UnreadRows(ops, *sizes[0], opcode == "dynamic-slice")


def _op(rows: ProgramRows, row: int) -> int:
    """The op that an instruction is in: the outermost fusion around it, or itself."""
    while (fusion := rows.links.fusion_of.get(rows.links.home(row))) is not None:
        row = fusion
    return row


def _product(rows: ProgramRows, row: int) -> int | None:
    """The op with the product that a value is made of, by ops that keep the number of its elements."""
    waiting, seen = deque([row]), {row}
    for _ in range(_LOOKED_AT):
        if not waiting:
            return None
        one = waiting.popleft()
        if rows.opcodes[one] in MATRICES:
            return _op(rows, one)
        computation, fusion = rows.fused(one), rows.links.fusion_of.get(rows.links.home(one))
        if computation is not None:
            sources = [rows.root(computation)]
        elif rows.opcodes[one] == "parameter":
            sources = [] if fusion is None else [rows.parameter(fusion, one)]
        else:
            count = element_count(rows.shape(one))
            operands = (source for source in rows.links.operands(one) if source >= 0)
            sources = [source for source in operands if element_count(rows.shape(source)) == count]
        for source in sources:
            if source is not None and source not in seen:
                seen.add(source)
                waiting.append(source)
    return None


def _until(rows: ProgramRows, product: int, cut: int) -> frozenset[int]:
    """The ops from a product to the cut; none if its result gets elsewhere, or into what is not followed."""
    waiting, seen = [product], {product, cut}
    while waiting:
        row = waiting.pop()
        users = rows.links.users(row)
        if not users or rows.opcodes[row] in _OPAQUE or len(seen) > _LOOKED_AT:
            return frozenset()
        waiting += [user for user in users if user not in seen]
        seen.update(users)
    return frozenset(seen)
