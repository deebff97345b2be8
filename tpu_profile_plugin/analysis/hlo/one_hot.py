"""Matrix products with one-hot rows: they look up rows of a table by multiplying all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tpu_profile_plugin.analysis.hlo.products import MATRICES
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import leaves
from tpu_profile_plugin.analysis.hlo.text import literal_text

_SAME_ELEMENTS = frozenset(("bitcast", "convert", "copy", "reshape", "transpose"))
_COPIES = _SAME_ELEMENTS | {"fusion", "parameter", "tuple", "get-tuple-element"}
_PRODUCTS = frozenset((*MATRICES, "custom-call"))


class LookUp(NamedTuple):
    """A product with one-hot rows."""

    entries: int
    """Rows of the table."""
    makers: Sequence[int]
    """Rows of the program, outside of fusions, that make the one-hot rows, if only products read them."""
    is_gradient: bool
    """Whether it adds gradients up to rows of the table, in place of reading rows."""


def looked_up(rows: ProgramRows, row: int) -> LookUp | None:
    """What an op with a product of one-hot rows looks up; None for other ops."""
    for product in rows.inside(row):
        operands = rows.links.operands(product)[:2] if rows.opcodes[product] in _PRODUCTS else []
        if len(operands) < 2 or min(operands) < 0:
            continue
        for one, other in (operands, operands[::-1]):
            entries, made_by = _one_hot(rows, one)
            is_gradient = entries in _sizes(rows, product)
            if entries and is_gradient != (entries in _sizes(rows, other)):
                return LookUp(entries, _for_products(rows, made_by), is_gradient)
    return None


def _sizes(rows: ProgramRows, row: int) -> Sequence[int]:
    """The sizes of an array; of a tuple those of its first."""
    arrays = leaves(rows.shape(row))
    return list(arrays[0][1].dimensions) if arrays else []


def _for_products(rows: ProgramRows, made_by: Sequence[int]) -> Sequence[int]:
    """These rows and copies of them, if nothing but products reads them; else none."""
    makers = dict.fromkeys(made_by)
    pending = list(makers)
    while pending:
        for user in rows.links.users(pending.pop()):
            inside = {rows.opcodes[one] for one in rows.inside(user)}
            if user in makers or not inside.isdisjoint(_PRODUCTS):
                continue
            if not inside <= _COPIES:
                return ()
            makers[user] = None
            pending.append(user)
    return tuple(makers)


def _one_hot(rows: ProgramRows, row: int) -> tuple[int, list[int]]:
    """How long the one-hot rows of an operand are, 0 if it has none, and the rows outside of fusions that make them."""
    outside: list[int] = []
    for one in rows.back(row, lambda one: rows.opcodes[one] in _SAME_ELEMENTS or _same_or_zero(rows, one)):
        outside += [] if rows.links.home(one) in rows.links.fusion_of else [one]
        if rows.opcodes[one] == "compare":
            return _compared(rows, one), outside
    return 0, outside


def _same_or_zero(rows: ProgramRows, row: int) -> bool:
    """Whether a row is a select that gives one value where its condition holds and zeros elsewhere."""
    operands = rows.links.operands(row) if rows.opcodes[row] == "select" else []
    if len(operands) != 3 or min(operands) < 0 or any(rows.opcodes[one] != "broadcast" for one in operands[1:]):
        return False
    sources = [rows.links.operands(one)[0] for one in operands[1:] if rows.links.operands(one)]
    if len(sources) != 2 or min(sources) < 0 or any(rows.opcodes[one] != "constant" for one in sources):
        return False
    return literal_text(rows.instruction(sources[1]).literal) == "0"


def _compared(rows: ProgramRows, row: int) -> int:
    """The size of the dimension in which a comparison finds each index among 0, 1, 2, ...; 0 if it does not."""
    operands = rows.links.operands(row)
    if rows.instruction(row).comparison_direction != "EQ" or len(operands) != 2 or min(operands) < 0:
        return 0
    for counts, indices in (operands, operands[::-1]):
        along = _counts_along(rows, counts)
        if along is not None and rows.opcodes[indices] == "broadcast":
            sizes = _sizes(rows, row)
            repeated = along not in rows.instruction(indices).dimensions
            return int(sizes[along]) if repeated and along < len(sizes) else 0
    return 0


def _counts_along(rows: ProgramRows, row: int) -> int | None:
    """The dimension along which an array counts from 0 on; None if it does not."""
    if rows.opcodes[row] == "iota":
        return next(iter(rows.instruction(row).dimensions), 0)
    operands = rows.links.operands(row)
    if rows.opcodes[row] != "broadcast" or not operands or operands[0] < 0 or rows.opcodes[operands[0]] != "iota":
        return None
    inner = next(iter(rows.instruction(operands[0]).dimensions), 0)
    outer = rows.instruction(row).dimensions
    return int(outer[inner]) if inner < len(outer) else None
