"""How often each value inside a fusion is computed, from the roots that its elementwise uses lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Value:
    """One instruction of a fusion.

    Attributes:
      id: its id.
      operands: ids of its operands.
      elements: number of elements of its result.
      elementwise: each element of the result needs the same element of each operand; also true of tuples.
    """

    id: int
    operands: Sequence[int]
    elements: int
    elementwise: bool


def utilization(values: Iterable[Value], root: int, share: Callable[[int, int], float]) -> Mapping[int, float]:
    """How often each value is computed in full, relative to its size.

    A value is computed once for each root that its elementwise uses lead to. The operands of all other instructions are
    roots, too; a root counts as often as these instructions use it.

    Args:
      values: the instructions of a fusion.
      root: id of its result.
      share: how many times an instruction (id) uses the elements of its operand (position).
    """
    by_id = {value.id: value for value in values}
    roots: dict[int, set[int]] = {id_: set() for id_ in by_id}
    weight = dict.fromkeys(by_id, np.float32(0.0))
    use = dict.fromkeys(by_id, np.float32(0.0))
    if root in by_id:
        roots[root], weight[root] = {root}, np.float32(1.0)
    for user in _users_first(by_id):
        use[user.id] = sum((weight[r] for r in roots[user.id]), np.float32(0.0))
        for position, operand in enumerate(user.operands):
            if operand not in by_id:
                continue
            if user.elementwise:
                roots[operand] |= roots[user.id]
                continue
            roots[operand].add(operand)
            elements = np.float32(by_id[operand].elements)
            if elements:
                # Single precision, as in XLA: rounding up depends on it.
                times = use[user.id] * np.float32(share(user.id, position))
                weight[operand] += np.ceil(times * elements) / elements
    return {id_: float(times) for id_, times in use.items()}


def _users_first(by_id: Mapping[int, Value]) -> list[Value]:
    """The values in an order in which each comes after all its users; operands that are not among them are ignored."""
    order: list[Value] = []
    seen: set[int] = set()
    for start in by_id:
        stack = [(start, False)]
        while stack:
            id_, done = stack.pop()
            if done:
                order.append(by_id[id_])
            elif id_ in by_id and id_ not in seen:
                seen.add(id_)
                stack.append((id_, True))
                stack.extend((operand, False) for operand in by_id[id_].operands)
    return order[::-1]
