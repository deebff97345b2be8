"""Instructions that a drawing of an HLO program shows: all, or the neighbourhood of one, as XLA selects it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tpu_profile_plugin.analysis.hlo.graph.links import Links

MOST_USERS = 16
"""Users are followed only from results with at most this many."""


class Mark(Enum):
    """Which neighbours of a shown instruction are hidden."""

    WHOLE = "whole"
    CENTER = "center"
    SOME_OPERANDS = "some operands not shown"
    NO_OPERANDS = "no operand shown"
    SOME_USERS = "some users not shown"


CUT = frozenset((Mark.SOME_OPERANDS, Mark.NO_OPERANDS, Mark.SOME_USERS))
CUT_ABOVE = frozenset((Mark.SOME_OPERANDS, Mark.NO_OPERANDS))


@dataclass(frozen=True, slots=True)
class Selection:
    """The shown instructions: everything, or in the computation `home` only the rows in `marks`.

    Attributes:
      marks: per selected row which of its neighbours are hidden.
      distance: per selected row its hops from the center.
      home: the computation of the center; None if everything is shown.
    """

    marks: Mapping[int, Mark]
    distance: Mapping[int, int]
    home: range | None

    def shows(self, row: int) -> bool:
        """Whether a row is shown; computations other than the center's are shown whole."""
        return row in self.marks or self.home is None or row not in self.home

    def mark(self, row: int) -> Mark:
        """The mark of a row that is shown."""
        return self.marks.get(row, Mark.WHOLE)


def everything() -> Selection:
    """No instruction is left out."""
    return Selection({}, {}, None)


def around(links: Links, center: int, radius: int) -> Selection:
    """The instructions within `radius` hops of an instruction.

    An operand, a user and the result of a called computation are one hop away; an operand is no hop away if one of the
    two is a bitcast. Operands of a tuple are followed only from the center. Users are not followed from constants, nor
    from results with more than MOST_USERS.
    """
    home = links.rows_of(links.home(center))
    marks, distance = _walk(links, center, radius)
    opcodes = links.program.opcodes

    def displayed(row: int) -> bool:
        return row in marks or opcodes[row] == "constant" or row not in home

    for row, mark in marks.items():
        operands = [one for one in links.operands(row) if one >= 0]
        shown = sum(map(displayed, operands))
        if 0 < shown < len(operands):
            marks[row] = Mark.SOME_OPERANDS
        elif operands and not shown:
            marks[row] = Mark.NO_OPERANDS
        elif mark is Mark.SOME_USERS and all(map(displayed, links.users(row))):
            marks[row] = Mark.WHOLE
    marks[center] = Mark.CENTER
    return Selection(marks, distance, home)


def _walk(links: Links, center: int, radius: int) -> tuple[dict[int, Mark], dict[int, int]]:
    """Rows near the center, with a mark for too many users; of several visits to a row the last counts."""
    marks: dict[int, Mark] = {}
    distance: dict[int, int] = {}
    waiting, queued = deque([(center, 0)]), {(center, 0)}

    def reach(row: int, depth: int) -> None:
        if row >= 0 and (row, depth) not in queued:
            queued.add((row, depth))
            waiting.append((row, depth))

    while waiting:
        row, depth = waiting.popleft()
        marks[row] = Mark.WHOLE
        distance[row] = min(depth, distance.get(row, depth))
        if depth == radius:
            continue
        for operand, free in _operands(links, row, row == center):
            if operand not in marks:
                reach(operand, depth if free else depth + 1)
        for computation in links.called(row):
            root = links.root(computation)
            reach(-1 if root is None else root, depth + 1)
        if links.program.opcodes[row] == "constant":
            continue
        users = links.users(row)
        if len(users) > MOST_USERS:
            marks[row] = Mark.SOME_USERS
            continue
        for user in users:
            if user not in marks:
                reach(user, depth + 1)
    return marks, distance


def _operands(links: Links, row: int, is_center: bool) -> list[tuple[int, bool]]:
    """Followed operands, each with whether it is no hop away."""
    opcodes = links.program.opcodes
    if opcodes[row] == "tuple" and not is_center:
        return []
    bitcast = opcodes[row] == "bitcast"
    return [(one, bitcast or opcodes[one] == "bitcast") for one in links.operands(row) if one >= 0]
