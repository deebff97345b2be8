"""The order in which XLA prints computations: callees before callers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tpu_profile_plugin.analysis.hlo.programs import Program


def call_order(program: Program) -> Sequence[int]:
    """Rows of the computations, depth first in the order of the instructions that call them.

    Each uncalled computation starts a tree, in program order. Computations that only call one another in a ring follow;
    no compiler makes such rings.
    """
    columns = program.columns
    ids = columns["computation_id"].tolist()
    row_of = {id_: row for row, id_ in reversed(list(enumerate(ids)))}
    called_start, start = columns["called_start"].tolist(), columns["computation_start"].tolist()
    called = [row_of.get(id_, -1) for id_ in columns["called"].tolist()]
    calls = [
        [row for row in dict.fromkeys(called[called_start[begin] : called_start[end]]) if row >= 0]
        for begin, end in pairwise(start)
    ]
    inner = {row for rows in calls for row in rows}
    order: dict[int, None] = {}
    for root in (*(row for row in range(len(ids)) if row not in inner), *range(len(ids))):
        _add(root, calls, order)
    return list(order)


def _add(root: int, calls: Sequence[Sequence[int]], order: dict[int, None]) -> None:
    """Adds a computation after its callees; iterative, because chains of calls may be long."""
    seen = set(order)
    if root in seen:
        return
    seen.add(root)
    stack = [(root, iter(calls[root]))]
    while stack:
        row, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            stack.pop()
            order[row] = None
        else:
            seen.add(following)
            stack.append((following, iter(calls[following])))
