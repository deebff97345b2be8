"""HLO programs as graphs: links between instructions, and the instructions that a drawing shows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.shapes import element_count, is_tuple, type_name
from tpu_profile_plugin.protos import read

_LOOKED_THROUGH = "get-tuple-element"
"""Instructions with this name prefix are looked through in lists of neighbours."""
_SIMPLE = {
    "add": "add", "multiply": "multiply", "minimum": "min", "maximum": "max", "xor": "xor", "and": "and", "or": "or",
}  # fmt: skip
_COMPARISONS = {
    "LE": "less-or-equal", "GE": "greater-or-equal", "GT": "greater-than", "LT": "less-than", "EQ": "equal-to",
    "NE": "not-equal-to",
}  # fmt: skip


class Links:
    """Operands, users and computations of a program's instructions, by row."""

    def __init__(self, program: Program) -> None:
        self.program = program
        columns = program.columns
        ids, operand = columns["id"], columns["operand"]
        order = np.argsort(ids, kind="stable")
        place = np.minimum(np.searchsorted(ids[order], operand), max(0, len(ids) - 1))
        rows = order[place] if len(ids) else np.zeros(0, dtype=np.int64)
        self._operand = np.where(ids[rows] == operand, rows, -1) if len(ids) else rows
        self._start = columns["operand_start"].astype(np.int64)
        self._reader = np.repeat(np.arange(len(ids)), np.diff(self._start))
        self._by_source = np.argsort(self._operand, kind="stable")
        self._sources = self._operand[self._by_source]
        self._messages: dict[int, Any] = {}

    def operands(self, row: int) -> list[int]:
        """Rows of the operands of a row, in order; -1 for unknown ids."""
        rows: list[int] = self._operand[self._start[row] : self._start[row + 1]].tolist()
        return rows

    def users(self, row: int) -> list[int]:
        """Rows that use the result of a row, each once, in program order."""
        begin, end = np.searchsorted(self._sources, [row, row + 1])
        rows: list[int] = np.unique(self._reader[self._by_source[begin:end]]).tolist()
        return rows

    def before(self, row: int) -> list[int]:
        """Rows that must run earlier without being operands (control predecessors)."""
        rows = (self.program.row_of_id.get(id_) for id_ in self.message(row).control_predecessor_ids)
        return [earlier for earlier in rows if earlier is not None]

    def message(self, row: int) -> Any:
        """The HloInstructionProto of a row, read once."""
        if row not in self._messages:
            self._messages[row] = self.program.instruction(row)
        return self._messages[row]

    def rows_of(self, computation: int) -> range:
        """The instructions of a computation."""
        return self.program.rows_in(computation)

    def root(self, computation: int) -> int | None:
        """The instruction whose result is the computation's."""
        rows = self.rows_of(computation)
        row = self.program.row_of_id.get(int(self.program.columns["computation_root"][computation]), -1)
        return row if row in rows else None

    def home(self, row: int) -> int:
        """The row of the computation that contains a row."""
        start = self.program.columns["computation_start"]
        return int(np.searchsorted(start, row, side="right")) - 1

    def called(self, row: int) -> list[int]:
        """Rows of the computations that an instruction calls; unknown ids are skipped."""
        start = self.program.columns["called_start"]
        ids = self.program.columns["called"][int(start[row]) : int(start[row + 1])]
        rows = map(self.program.computation_of_id.get, ids.tolist())
        return [computation for computation in rows if computation is not None]

    @cached_property
    def fusion_of(self) -> Mapping[int, int]:
        """Row of a fused computation -> row of its fusion, the first of several."""
        fusions = (row for row, opcode in enumerate(self.program.opcodes) if opcode == "fusion")
        pairs = [(called, row) for row in fusions for called in self.called(row)[:1]]
        return dict(reversed(pairs))

    @cached_property
    def loop_of(self) -> Mapping[int, int]:
        """Row of a computation that a loop repeats -> row of the loop."""
        loops = (row for row, opcode in enumerate(self.program.opcodes) if opcode == "while")
        return {called: row for row in loops for called in self.called(row)}

    def shape(self, row: int) -> Any:
        """The ShapeProto of a row."""
        return read("xla.ShapeProto", self.program.shape(row))

    def is_scalar(self, row: int) -> bool:
        """Whether the result is an array of one element, of any rank."""
        shape = self.shape(row)
        is_array = not is_tuple(shape) and type_name(shape.element_type) not in ("token", "opaque", "invalid")
        return is_array and element_count(shape) == 1

    def simple(self, computation: int) -> str | None:
        """The operation of a computation of two scalars, such as `add`; None for any other computation."""
        rows, opcodes, root = self.rows_of(computation), self.program.opcodes, self.root(computation)
        if len(rows) != 3 or root is None:
            return None
        operands = self.operands(root)
        numbered = {self.message(row).parameter_number for row in rows if opcodes[row] == "parameter"}
        if (
            sorted(operands) != sorted(row for row in rows if row != root)
            or numbered != {0, 1}
            or not all(map(self.is_scalar, rows))
        ):
            return None
        if opcodes[root] == "compare":
            return _COMPARISONS.get(self.message(root).comparison_direction)
        return _SIMPLE.get(opcodes[root])


def find(program: Program, name: str) -> tuple[int | None, int | None]:
    """Row of the instruction and row of the computation with a name; a leading `%` and case are ignored."""
    bare = name.removeprefix("%")
    row = program.row_of.get(bare)
    if row is None:
        row = _folded(program.names).get(bare.casefold())
    names = program.computation_names
    return row, names.index(bare) if bare in names else _folded(names).get(bare.casefold())


def _folded(names: list[str]) -> Mapping[str, int]:
    return {name.casefold(): row for row, name in reversed(list(enumerate(names)))}


def adjacent(program: Program, row: int) -> tuple[list[str], list[str]]:
    """Names of users and of operands, repeated per use; get-tuple-element is looked through."""
    links = Links(program)
    return _through(row, links.users, program.names), _through(row, links.operands, program.names)


def _through(row: int, step: Callable[[int], list[int]], names: list[str]) -> list[str]:
    neighbours: list[str] = []
    for first in step(row):
        passed = {row}  # a damaged program may be circular
        waiting = [first]
        while waiting:
            neighbour = waiting.pop()
            if neighbour < 0 or neighbour in passed:
                continue
            if not names[neighbour].startswith(_LOOKED_THROUGH):
                neighbours.append(names[neighbour])
                continue
            passed.add(neighbour)
            waiting.extend(reversed(step(neighbour)))
    return neighbours


MOST_USERS = 16
"""Users are followed only from results with at most this many."""


class Mark(Enum):
    """The hidden neighbours of a shown instruction."""

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
        operands = [operand for operand in links.operands(row) if operand >= 0]
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
    opcodes = links.program.opcodes
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
        followed = () if opcodes[row] == "tuple" and row != center else links.operands(row)
        for operand in followed:
            if operand >= 0 and operand not in marks:
                reach(operand, depth if "bitcast" in (opcodes[row], opcodes[operand]) else depth + 1)
        for computation in links.called(row):
            root = links.root(computation)
            reach(-1 if root is None else root, depth + 1)
        if opcodes[row] == "constant":
            continue
        users = links.users(row)
        if len(users) > MOST_USERS:
            marks[row] = Mark.SOME_USERS
            continue
        for user in users:
            if user not in marks:
                reach(user, depth + 1)
    return marks, distance
