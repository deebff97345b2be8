"""Products of each example that are only added up over the examples."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.hlo.products import Product, products_of
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import element_count, leaves


def summed(rows: ProgramRows, row: int) -> tuple[Product, Sequence[int]] | None:
    """The batched product of an op, and the rows that read it, if each adds it up over the batch; else None."""
    products, users = products_of(rows, row), rows.links.users(row)
    if len(products) != 1 or products[0].sizes is None or not users:
        return None
    batch, height, width, _ = products[0].sizes
    if batch > 1 and all(_adds_up(rows, user, height * width) for user in users):
        return products[0], users
    return None


def _adds_up(rows: ProgramRows, row: int, size: int) -> bool:
    """Whether an op reduces something, and all of its results have so many elements."""
    results = [element_count(shape) for _, shape in leaves(rows.shape(row))]
    return set(results) == {size} and any(rows.opcodes[one] == "reduce" for one in rows.inside(row))
